# SPDX-License-Identifier: BSD-3-Clause
"""What stands still for a while in the middle of a run and comes back: a file system's server, and
a process. The run goes on or ends; in no case is a wrong byte, or half a run, called verified."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from iokernel_stacks import MOVING, How, Run, Stack

from iogauge.common.processes import with_variable
from tests.clock_back import clock_back
from tests.selftest.gate import Gate

SECONDS = float(os.environ.get("IOGAUGE_PAUSE", "2"))  # 30 by hand: docs/guarantees.md
LIMIT = 300  # until what a test waits for must have happened
WORDS = ["s3d", "--grid", "16x16x16", "--repeat", "3", "--fsync"]
PATIENCE = "2"  # 30 times that, where others write: STORAGE_ALONE in kernels/driver/guard.c


class Remote:
    """A folder behind a FUSE server, which can be stopped as a network file system can be away."""

    def __init__(self, base: Path) -> None:
        self.behind, self.folder = base / "behind", base / "mounted"
        self.behind.mkdir()
        self.folder.mkdir()
        command = ["bindfs", "-f", str(self.behind), str(self.folder)]
        self.server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        if not until(lambda: os.path.ismount(self.folder) or self.server.poll() is not None):
            pytest.fail("bindfs neither mounted nor ended")
        if self.server.poll() is not None:
            assert self.server.stderr
            pytest.skip(f"bindfs cannot mount here: {self.server.stderr.read().strip()}")

    def is_emptied(self) -> bool:
        """The server keeps a removed file until it is told that the last process closed it."""
        return until(lambda: not any(self.behind.iterdir()))

    def end(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=False)
        self.server.kill()
        self.server.wait()


def until(happened: Callable[[], bool], every: float = 0.01) -> bool:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if happened():
            return True
        time.sleep(every)
    return False


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    if os.geteuid() or not shutil.which("bindfs"):
        pytest.skip("needs root and bindfs: environments/debian/setup.sh --test installs it")
    made = Remote(tmp_path)
    yield made
    made.end()


def gate(injector: Path, folder: Path) -> Gate:
    """In the middle of a run: before the second write of its process 0."""
    return Gate(injector, folder, nth=2, rank=0)


def run(stack: Stack, folder: Path, held: Gate, how: How, *more: str) -> Run:
    words = [*WORDS, *how.options(), "--dir", str(folder), *more]
    document = folder.with_name("result.json")
    return stack.run(*words, document=document, environment=held.variables)


@pytest.mark.sampled(3, free="stack")
@pytest.mark.parametrize("how", MOVING, ids=str)
def test_a_file_system_that_is_away_for_a_while(
    stack: Stack, remote: Remote, injector: Path, how: How
) -> None:
    held = gate(injector, remote.folder)
    waiting: list[int] = []

    def away() -> None:
        remote.server.send_signal(signal.SIGSTOP)
        held.open()
        time.sleep(SECONDS)
        waiting.extend(held.processes())
        remote.server.send_signal(signal.SIGCONT)

    with held.then(away):
        done = run(stack, remote.folder, held, how)
    assert waiting, "it did not write twice, or did not wait"
    assert done.good()["verification"]["verdict"] == "verified"
    assert remote.is_emptied(), sorted(remote.behind.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("how", [How("posix", None), How("mpiio", "collective")], ids=str)
def test_one_that_is_away_for_longer_than_the_patience(
    stack: Stack, remote: Remote, injector: Path, how: How
) -> None:
    """The run says so while the file system is away, also where others on the node write to their
    disks meanwhile. It is back after that."""
    held, document = gate(injector, remote.folder), remote.folder.with_name("result.json")

    def wrote() -> bool:
        with document.with_name("others").open("wb") as other:
            other.write(os.urandom(2**12))
            os.fsync(other.fileno())
        return document.exists()

    def away() -> None:
        remote.server.send_signal(signal.SIGSTOP)
        held.open()
        until(wrote, every=0.1)
        remote.server.send_signal(signal.SIGCONT)

    with held.then(away):
        done = run(stack, remote.folder, held, how, "--patience", PATIENCE)
    assert done.status != 0, str(done)
    assert f"no progress for {PATIENCE} s (--patience)" in done.errors()[0], str(done)
    assert str(remote.folder) in done.errors()[0], str(done)
    assert done.result()["status"] == "hung"
    assert remote.is_emptied(), sorted(remote.behind.iterdir())


STOPPED = [
    How("mpiio", "collective"), How("pnetcdf", "collective"), How("hdf5", "collective"),
    How("twophase", None), How("posix-shared", None),
]  # fmt: skip


@pytest.mark.sampled(2, free="stack")
@pytest.mark.parametrize("how", [how for how in MOVING if how in STOPPED], ids=str)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_that_is_stopped_for_a_while(
    stack: Stack, tmp_path: Path, injector: Path, how: How, rank: int
) -> None:
    """Others wait for its part."""
    folder = tmp_path / "files"
    folder.mkdir()
    held = gate(injector, folder)
    variable = {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "PMI_RANK"}[stack.name]
    waiting: list[int] = []

    def stop() -> None:
        stopped = {*held.processes()} & {*with_variable(variable, str(rank))}
        for one in stopped:
            os.kill(one, signal.SIGSTOP)
        if rank:
            held.open()  # process 0 alone
        time.sleep(SECONDS)
        waiting.extend({*held.processes()} - stopped)
        for one in stopped:
            os.kill(one, signal.SIGCONT)

    with held.then(stop):
        done = run(stack, folder, held, how)
    assert waiting, "it did not write twice, or did not wait"
    assert done.good()["verification"]["verdict"] == "verified"
    assert not any(folder.iterdir())


def test_a_clock_that_is_set_back_by_an_hour(stack: Stack, tmp_path: Path, injector: Path) -> None:
    """In the middle of the run. Phases still follow each other."""
    folder, turned = tmp_path / "files", tmp_path / "turned"
    folder.mkdir()
    held = gate(injector, folder)
    held.variables["LD_PRELOAD"] += f":{clock_back(tmp_path)}"
    held.variables["IOGAUGE_CLOCK_BACK"] = str(turned)

    with held.then(turned.touch):
        found = run(stack, folder, held, How("posix", None)).good()
    assert turned.exists()
    sides = [sample[side] for sample in found["samples"] for side in ("write", "read")]
    moments = [one[edge] for s in sides for one in s["spans"] for edge in ("begin", "end")]
    assert moments[-1] - moments[0] < 1800 and moments == sorted(moments)
