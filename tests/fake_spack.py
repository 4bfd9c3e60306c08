# SPDX-License-Identifier: BSD-3-Clause
"""A `spack` that answers what a test tells it to: enough of its command line for the harness."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

PROGRAM = f"""#!{sys.executable}
import json, pathlib, sys
answers = json.loads((pathlib.Path(__file__).parent / "answers.json").read_text())
words = sys.argv[1:]
asked = " ".join(word for word in words if not word.startswith("/"))
for start, (status, text) in answers.items():
    if asked.startswith(start):
        print(text, file=sys.stderr if status else sys.stdout, end="")
        sys.exit(status)
sys.exit(f"fake spack: no answer to {{asked}}")
"""


class FakeSpack:
    """`folder`: holds `bin/spack` and `environments/`; `packages`: name -> (version, prefix)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environments = folder / "environments"
        self.answers: dict[str, tuple[int, str]] = {"--version": (0, "0.22.0\n")}
        program = folder / "bin" / "spack"
        program.parent.mkdir(parents=True)
        program.write_text(PROGRAM)
        program.chmod(0o755)
        self._write()

    def answer(self, start: str, text: str, status: int = 0) -> None:
        """What a command line that begins with `start` gets; absolute paths in it do not count."""
        self.answers = {**self.answers, start: (status, text)}
        self._write()

    def _write(self) -> None:
        (self.folder / "bin" / "answers.json").write_text(json.dumps(self.answers))

    def environment(
        self, variant: str, packages: dict[str, tuple[str, Path]], roots: dict[str, str]
    ) -> Path:
        """An installed environment; `roots`: spec -> package. Its folder."""
        folder = self.environments / variant
        folder.mkdir(parents=True)
        (folder / "spack.yaml").write_text("spack: {specs: []}\n")
        hashes = {name: name.ljust(32, "0")[:32] for name in packages}
        lock = {"roots": [{"spec": s, "hash": hashes.get(p, "absent")} for s, p in roots.items()]}
        (folder / "spack.lock").write_text(json.dumps(lock))
        lines = [f"{n}\t{v}\t{hashes[n]}\t{p}" for n, (v, p) in packages.items()]
        self.answer("-e find --format", "\n".join(lines) + "\n")
        self.answer("env activate", f"alias x=y;\nexport PATH={folder}/view/bin:/usr/bin:/bin;\n")
        return folder

    def variables(self, **more: str) -> dict[str, Any]:
        """This process's environment with the fake first on PATH."""
        return {
            **{key: value for key, value in os.environ.items() if not key.startswith("SPACK_")},
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "IOGAUGE_ENVIRONMENTS": str(self.environments),
            **more,
        }
