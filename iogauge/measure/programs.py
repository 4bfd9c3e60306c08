# SPDX-License-Identifier: BSD-3-Clause
"""A stack as the site configuration has it, and the kernels built for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iogauge.common.paths import BUILDS, KERNELS
from iogauge.measure.kernels import generator

VALUES_SOURCES = ("tests/bench_values.c", "driver/values.c", "base/layout.c", "base/data.c")


class CannotBuild(Exception):
    """Our own program cannot be had; the text says why."""


@dataclass(frozen=True)
class Stack:
    """One MPI with its launcher, as the site's configuration has it."""

    name: str
    compiler: str
    mpi_library: str
    launcher: tuple[str, ...]
    environment: dict[str, str]
    cmake: tuple[str, ...]
    most: int
    why: str

    @classmethod
    def of(cls, environ: dict[str, Any]) -> Stack:
        """`environ`: an entry of the site configuration's `environments`."""
        extras = environ["extras"]
        launcher = extras["launcher"]
        words = " ".join([launcher["command"], *launcher["options"]]).split()
        limit = extras.get("max_processes", {"count": 2**31, "why": ""})
        return cls(
            name=environ["name"],
            compiler=environ["cc"],
            mpi_library=extras["mpi_library"],
            launcher=tuple(words),
            environment=dict(environ.get("env_vars", [])),
            cmake=tuple(argument for some in extras["cmake"].values() for argument in some),
            most=limit["count"],
            why=limit["why"],
        )

    def launch(self, processes: int, command: list[str]) -> list[str]:
        return [*self.launcher, "-n", str(processes), *command]

    def lacking(self) -> str | None:
        """The command that is missing for this stack, or None."""
        for command in (self.compiler, self.launcher[0]):
            if not shutil.which(command):
                return command
        return None


def build(stack: Stack) -> Path:
    """The folder with `iokernel`, `s3d_io.x` and `bench_values` of this stack, up to date."""
    folder = BUILDS / f"bench-{stack.name}"
    configure = ["cmake", "-S", str(KERNELS), "-B", str(folder), "-G", generator(), *stack.cmake]
    configure += ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"]
    _run(configure)
    _run(["cmake", "--build", str(folder), "--parallel", str(os.cpu_count() or 1)])
    if not linked_to(folder / "iokernel", stack):
        raise CannotBuild(f"{folder / 'iokernel'} is not linked to {stack.mpi_library}")
    # The flags of the Release build of iokernel.
    _run(
        [stack.compiler, "-O3", "-std=gnu11", f"-I{KERNELS}"]
        + [str(KERNELS / source) for source in VALUES_SOURCES]
        + ["-o", str(folder / "bench_values")]
    )
    return folder


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise CannotBuild(f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-15:]
        raise CannotBuild("\n".join([f"failed: {' '.join(command)}", *said]))


def linked_to(program: Path, stack: Stack) -> bool:
    """Does `program` load this stack's MPI? (ldd; of a script or static program nobody knows.)"""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True)
    return any(line.split()[:1] == [stack.mpi_library] for line in done.stdout.splitlines())
