# SPDX-License-Identifier: BSD-3-Clause
"""What stands still for a while in the middle of a run and comes back: a file system's server, and
a process. The run goes on or ends; in no case is a wrong byte, or half a run, called verified."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from iokernel_stacks import MOVING, How, Run, Stack

from tests.clock_back import clock_back

SECONDS = float(os.environ.get("IOGAUGE_PAUSE", "2"))  # 30 by hand: docs/guarantees.md
LIMIT = 120  # until what a test waits for must have happened
WORDS = ["s3d", "--grid", "16x16x16", "--repeat", "3", "--fsync"]
PATIENCE = "1"


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

    def holds_data(self) -> bool:
        return any(p.stat().st_size for p in self.behind.iterdir() if p.is_file())

    def end(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=False)
        self.server.kill()
        self.server.wait()


def until(happened: Callable[[], bool]) -> bool:
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        try:
            if happened():
                return True
        except FileNotFoundError:
            pass  # between its listing and the look
        time.sleep(0.001)
    return False


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    if os.geteuid() or not shutil.which("bindfs"):
        pytest.skip("needs root and bindfs: environments/debian/setup.sh --test installs it")
    made = Remote(tmp_path)
    yield made
    made.end()


@contextmanager
def beside(what: Callable[[], None]) -> Iterator[None]:
    """Does `what` in another thread, and waits for it."""
    thread = threading.Thread(target=what)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def run(stack: Stack, folder: Path, how: How, *more: str) -> Run:
    words = [*WORDS, *how.options(), "--dir", str(folder), *more]
    return stack.run(*words, document=folder.with_name("result.json"))


@pytest.mark.sampled(3, free="stack")
@pytest.mark.parametrize("how", MOVING, ids=str)
def test_a_file_system_that_is_away_for_a_while(stack: Stack, remote: Remote, how: How) -> None:
    paused = []

    def away() -> None:
        if not until(remote.holds_data):
            return
        remote.server.send_signal(signal.SIGSTOP)
        paused.append(time.monotonic())
        time.sleep(SECONDS)
        remote.server.send_signal(signal.SIGCONT)

    with beside(away):
        done = run(stack, remote.folder, how)
    assert paused, "no file had data"
    found = done.good()
    assert found["verification"]["verdict"] == "verified"
    assert done.seconds >= SECONDS
    assert not any(remote.behind.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("how", [How("posix", None), How("mpiio", "collective")], ids=str)
def test_one_that_is_away_for_longer_than_the_patience(
    stack: Stack, remote: Remote, how: How
) -> None:
    """The run says so while the file system is away, also where others on the node write to their
    disks meanwhile. It is back after that."""
    document = remote.folder.with_name("result.json")

    def wrote() -> bool:
        with document.with_name("others").open("wb") as other:
            other.write(os.urandom(2**20))
            os.fsync(other.fileno())
        return document.exists()

    def away() -> None:
        if until(remote.holds_data):
            remote.server.send_signal(signal.SIGSTOP)
            until(wrote)
            remote.server.send_signal(signal.SIGCONT)

    with beside(away):
        done = run(stack, remote.folder, how, "--patience", PATIENCE)
    assert done.status != 0, str(done)
    assert f"no progress for {PATIENCE} s (--patience)" in done.errors()[0], str(done)
    assert str(remote.folder) in done.errors()[0], str(done)
    assert done.result()["status"] == "hung"
    assert not any(remote.behind.iterdir())


STOPPED = [
    How("mpiio", "collective"), How("pnetcdf", "collective"), How("hdf5", "collective"),
    How("twophase", None), How("posix-shared", None),
]  # fmt: skip


@pytest.mark.sampled(2, free="stack")
@pytest.mark.parametrize("how", [how for how in MOVING if how in STOPPED], ids=str)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_that_is_stopped_for_a_while(
    stack: Stack, tmp_path: Path, how: How, rank: int
) -> None:
    """When the first data is in a file, so others wait for its part."""
    folder = tmp_path / "files"
    folder.mkdir()
    stopped: list[int] = []
    variable = {"openmpi": "OMPI_COMM_WORLD_RANK", "mpich": "PMI_RANK"}[stack.name]

    def of_rank() -> Iterator[int]:
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                mine = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if str(folder).encode() in words and f"{variable}={rank}".encode() in mine:
                yield int(entry.name)

    def stop() -> None:
        if not until(lambda: any(p.stat().st_size for p in folder.iterdir())):
            return
        stopped.extend(of_rank())
        for one in stopped:
            os.kill(one, signal.SIGSTOP)
        time.sleep(SECONDS)
        for one in stopped:
            os.kill(one, signal.SIGCONT)

    with beside(stop):
        done = run(stack, folder, how, "--repeat", "20")
    assert stopped, "the process was not found"
    assert done.good()["verification"]["verdict"] == "verified"
    assert done.seconds >= SECONDS
    assert not any(folder.iterdir())


def test_a_clock_that_is_set_back_by_an_hour(stack: Stack, tmp_path: Path) -> None:
    """When the first data is in a file. Phases still follow each other."""
    folder, turned = tmp_path / "files", tmp_path / "turned"
    folder.mkdir()
    variables = {"LD_PRELOAD": str(clock_back(tmp_path)), "IOGAUGE_CLOCK_BACK": str(turned)}

    def turn() -> None:
        if until(lambda: any(p.stat().st_size for p in folder.iterdir())):
            turned.touch()

    words = [*WORDS, "--method", "posix", "--dir", str(folder)]
    with beside(turn):
        done = stack.run(*words, document=tmp_path / "result.json", environment=variables)
    found = done.good()
    assert turned.exists()
    sides = [sample[side] for sample in found["samples"] for side in ("write", "read")]
    moments = [one[edge] for s in sides for one in s["spans"] for edge in ("begin", "end")]
    assert moments[-1] - moments[0] < LIMIT and moments == sorted(moments)
