# SPDX-License-Identifier: BSD-3-Clause
"""A program of changed sources: what depends on them is compiled, the rest is another build's."""

from __future__ import annotations

import os
import re
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

    def run(*words: str) -> list[str]:
        done = subprocess.run(
            [*inside, *words], cwd=build, stdout=subprocess.PIPE, text=True, check=True
        )
        return done.stdout.splitlines()

    tree, program = folder / "kernels", folder / "iokernel"
    shutil.copytree(KERNELS, tree, copy_function=os.symlink)
    shutil.copy(build / RECORDER, folder)
    changed = set()
    for name, text, other in changes:
        now = (tree / name).read_text()
        assert now.count(text) == 1, f"{name} has another text than {text!r}"
        (tree / name).unlink()
        (tree / name).write_text(now.replace(text, other))
        changed.add(str(KERNELS / name))
    *commands, link = run("ninja", "-t", "commands", "iokernel")
    depends = dependencies(build, run("ninja", "-t", "deps"))
    own = {"iokernel": str(program)}
    for command in commands:
        (made,) = re.findall(r" -o (\S+) -c ", command) or [""]
        if made and not changed.isdisjoint(depends[made]):
            own[made] = str(folder / made.replace("/", "_"))
            own[f"{made}.d"] = f"{own[made]}.d"
            words = shlex.split(command.replace(str(KERNELS), str(tree)))
            # Without optimization: a quarter less time for a program of one changed source.
            run(*(own.get(word, word) for word in words if not word.startswith("-O")))
    assert len(own) > 1, f"nothing is compiled of {changed}"
    # gold takes a third of the time of GNU ld.
    linker = ["-fuse-ld=gold"] if not inside and shutil.which("ld.gold") else []
    run(*(own.get(word, word) for word in shlex.split(link.split(" && ")[1])), *linker)
    return program


def dependencies(build: Path, lines: Iterable[str]) -> dict[str, set[str]]:
    """Object: its sources and headers, as Ninja lists them; ccache makes their paths relative."""
    found: dict[str, set[str]] = {}
    name = ""
    for line in lines:
        if line[:1].isspace():
            found[name].add(os.path.normpath(build / line.strip()))
        elif line:
            name = line.split(":")[0]
            found[name] = set()
    return found
