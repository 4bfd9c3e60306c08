# SPDX-License-Identifier: BSD-3-Clause
"""A full file system: a small tmpfs for each method and mode. Without the friendly check each
library finds out in its own way; still one line comes, soon, and nothing is left."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from iokernel_stacks import MOVING, How, Run, Stack

SIZE = 8 << 20
WORDS = ["s3d", "--grid", "64x64x64"]  # 32 MiB in a dump
# What the libraries print by themselves when a write fails.
NOISE = re.compile(
    r"mca_fbtl_posix_pwritev: error in .*|MPI error \(MPI_File_\w+\) : .*|ADIOI_\w+\(\d+\)\.*: .*|"
)
# OMPIO crashes in the nonblocking collective write, after a failed aio_write: in the main
# thread, and then each process may say so, or in glibc's aio thread, where nothing can be said.
CRASHES = {("openmpi", "mpiio-nonblocking")}


class Full:
    """The runs of a stack, side by side because most of their time is waiting."""

    def __init__(self, stack: Stack, base: Path) -> None:
        self.stack = stack
        self.places = {how: base / str(how) for how in MOVING}
        try:
            for place in self.places.values():
                place.mkdir(parents=True)
                self._mount(place)
            at_once = 3 if stack.name == "openmpi" else 2  # MPICH's processes poll
            with ThreadPoolExecutor(at_once) as pool:
                self.friendly = dict(pool.map(lambda how: (how, self._run(how)), MOVING[:1]))
                self.runs = dict(
                    pool.map(lambda how: (how, self._run(how, "--no-space-check")), MOVING)
                )
            self.left = {
                how: [p.name for p in place.iterdir()] for how, place in self.places.items()
            }
        finally:
            for place in self.places.values():
                subprocess.run(["umount", "--lazy", str(place)], capture_output=True)

    def _mount(self, place: Path) -> None:
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "iogauge", str(place)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")

    def _run(self, how: How, *more: str) -> Run:
        place = self.places[how]
        words = [*WORDS, *how.options(), "--dir", str(place), *more]
        return self.stack.run(*words, document=place.with_suffix(".json"))


@pytest.fixture(scope="module")
def full(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Full:
    if os.geteuid():
        pytest.skip("a file system can be mounted by root only")
    if not shutil.which("mount"):
        pytest.skip("mount is not installed")
    return Full(stack, tmp_path_factory.mktemp(f"full-{stack.name}"))


def before_error(run: Run) -> list[str]:
    lines = run.stderr.splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith("iokernel: error: ")), None)
    assert at is not None, f"no error line: {run}"
    return lines[:at]


@pytest.mark.sampled(6, free="stack")
@pytest.mark.parametrize("how", MOVING, ids=str)
def test_full(full: Full, how: How) -> None:
    run, case = full.runs[how], (full.stack.name, str(how))
    assert run.status != 0, str(run)
    if case in CRASHES and run.status == 128 + signal.SIGSEGV:
        pytest.xfail(
            "the crash was in glibc's aio thread, which blocks all signals: no handler ran"
        )
    assert full.left[how] == [], f"a partial file is left: {run}"
    for line in before_error(run):
        assert NOISE.fullmatch(line), f"before the message comes {line!r}"
    if case in CRASHES and "the library crashed" in run.stderr:
        assert all("in phase write of method mpiio" in line for line in run.errors())
        return
    line = run.error(1)
    assert run.result()["status"] == "error", str(run)
    assert str(full.places[how]) in line
    assert "space" in line, "the line does not say what to look at"


def test_friendly_check(full: Full) -> None:
    """Asked before it writes, the file system says that the run will not fit."""
    run = next(iter(full.friendly.values()))
    line = run.error(1)
    assert "writes 32.0 MiB, but only 8.0 MiB are free" in line
    assert "--no-space-check" in line and "reduce the data size" in line
    assert run.result()["status"] == "error"
