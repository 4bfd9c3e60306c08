# SPDX-License-Identifier: BSD-3-Clause
"""A program of changed sources: they are compiled, all else is the objects of another build."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from iogauge.common.paths import KERNELS
from reframe_tests.framework.recorders import RECORDER

Change = tuple[str, str, str]  # source below kernels/, text that it has once, text in its place


def changed_kernel(
    build: Path, changes: Iterable[Change], folder: Path, inside: Iterable[str] = ()
) -> Path:
    """`iokernel` in the new `folder`, with the recorder. `build`: of Ninja; `inside`: the command
    that enters the stack's root."""

    def run(*words: str) -> str:
        done = subprocess.run(
            [*inside, *words], cwd=build, stdout=subprocess.PIPE, text=True, check=True
        )
        return done.stdout

    folder.mkdir()
    shutil.copy(build / RECORDER, folder)
    sources: dict[str, str] = {}
    for name, text, other in changes:
        now = sources.get(name) or (KERNELS / name).read_text()
        assert now.count(text) == 1, f"{name} has another text than {text!r}"
        sources[name] = now.replace(text, other)
    *compiled, linked = run("ninja", "-t", "commands", "iokernel").splitlines()
    program = folder / "iokernel"
    own = {"iokernel": str(program)}
    for name, source in sources.items():
        original, changed = KERNELS / name, folder / name.replace("/", "_")
        changed.write_text(source)
        (command,) = (line for line in compiled if line.endswith(f" -c {original}"))
        words = shlex.split(command)
        named = words[words.index("-o") + 1]
        own[named] = f"{changed}.o"
        words[words.index("-MF") + 1] = f"{changed}.d"
        run(
            *(own.get(word, word) for word in words[:-1]),
            "-iquote",
            str(original.parent),
            str(changed),
        )
    run(*(own.get(word, word) for word in shlex.split(linked.split(" && ")[1])))
    return program
