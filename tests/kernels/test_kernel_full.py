# SPDX-License-Identifier: BSD-3-Clause
"""A full file system, and a quota that is used up: a small tmpfs, and a small subvolume of btrfs,
for each method and mode. Without the friendly check each library finds out in its own way; still
one line comes, soon, and nothing is left."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from iokernel_stacks import MOVING, How, Run, Stack

SIZE, IMAGE, PETA = 8 << 20, 1 << 30, 1 << 50
FULL, QUOTA = os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT)
WORDS = ["s3d", "--grid", "64x64x64"]  # 32 MiB in a dump
# What the libraries print by themselves when a write fails.
NOISE = re.compile(
    r"mca_fbtl_posix_pwritev: error in .*|MPI error \(MPI_File_\w+\) : .*|ADIOI_\w+\(\d+\)\.*: .*|"
)
# OMPIO crashes in the nonblocking collective write, after a failed aio_write: in the main
# thread, and then each process may say so, or in glibc's aio thread, where nothing can be said.
CRASHES = {("openmpi", "mpiio-nonblocking")}


class Full:
    """The runs of a stack, side by side because most of their time is waiting. `cause`: FULL or
    QUOTA."""

    def __init__(self, stack: Stack, cause: str, base: Path, hows: list[How]) -> None:
        self.stack, self.cause = stack, cause
        self.places = {how: base / str(how) for how in [*MOVING[:1], *hows]}
        try:
            (self._limit if cause == QUOTA else self._mount)(base)
            with ThreadPoolExecutor(3) as pool:
                self.friendly = dict(pool.map(lambda how: (how, self._run(how)), MOVING[:1]))
                self.runs = dict(
                    pool.map(lambda how: (how, self._run(how, "--no-space-check")), hows)
                )
            self.left = {
                how: [p.name for p in place.iterdir()] for how, place in self.places.items()
            }
        finally:
            for place in (*self.places.values(), base):
                subprocess.run(["umount", "--lazy", str(place)], capture_output=True)

    def _mount(self, base: Path) -> None:
        for place in self.places.values():
            place.mkdir(parents=True)
            must("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "iogauge", str(place))

    def _limit(self, base: Path) -> None:
        image = base.with_suffix(".image")
        with image.open("wb") as file:
            file.truncate(IMAGE)
        must("mkfs.btrfs", "-q", "-f", str(image))
        must("mount", "-o", "loop", str(image), str(base))
        image.unlink()
        must("btrfs", "quota", "enable", str(base))
        for place in self.places.values():
            must("btrfs", "subvolume", "create", str(place))
            must("btrfs", "qgroup", "limit", str(SIZE), str(place))

    def _run(self, how: How, *more: str) -> Run:
        place = self.places[how]
        words = [*WORDS, *how.options(), "--dir", str(place), *more]
        return self.stack.run(*words, document=place.with_suffix(".json"))


def must(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no such file system can be mounted here: {command}: {done.stderr.strip()}")


@pytest.fixture(scope="module", params=[FULL, QUOTA], ids=["full", "quota"])
def full(
    stack: Stack, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Full:
    if os.geteuid():
        pytest.skip("a file system can be mounted by root only")
    for program in ("mount", *(["mkfs.btrfs", "btrfs"] if request.param == QUOTA else [])):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    which = {"stack": stack.name, "full": request.param}
    calls = [getattr(item, "callspec", None) for item in request.session.items]
    asked = [call.params for call in calls if call and which.items() <= call.params.items()]
    hows = [params["how"] for params in asked if "how" in params]  # that this session looks at
    return Full(stack, request.param, tmp_path_factory.mktemp(f"full-{stack.name}"), hows)


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
    assert re.match(r"iokernel: error: process \d+ on \S+: \w+: ", line), (
        "who, where, in which call"
    )
    said = full.cause in line or ("space" in line if full.cause == FULL else "quota" in line)
    assert said, "the line does not say what to look at"


def test_friendly_check(full: Full) -> None:
    """Asked before it writes, the file system says that the run will not fit."""
    run = next(iter(full.friendly.values()))
    line = run.error(1)
    if full.cause == QUOTA:  # no system call tells of it before
        assert str(full.places[MOVING[0]]) in line and QUOTA in line
        return
    assert "writes 32.0 MiB, but only 8.0 MiB are free" in line
    assert "--no-space-check" in line and "reduce the data size" in line
    assert run.result()["status"] == "error"


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("", 3), ("--keep", 3), ("--ceilings", 4), ("--ceilings --keep", 7),
        ("--ceilings --steps 5", 20), ("--ceilings --keep --steps 5", 35),
    ],
)  # fmt: skip
def test_the_check_counts_ceilings(stack: Stack, words: str, rows: int, tmp_path: Path) -> None:
    """Of three rows one process has two, so each of the two writes as many for a ceiling. Kept
    files stand beside them."""
    run = stack.run(
        "extents", "--columns", f"3x{PETA}x{PETA}", "--method", "mpiio", "--dir", str(tmp_path),
        *words.split(), processes=2,
    )  # fmt: skip
    assert run.status != 0
    assert f"the run writes {rows * 2 * PETA / 2**20:.1f} MiB, but only" in run.error(1)
