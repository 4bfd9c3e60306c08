# SPDX-License-Identifier: BSD-3-Clause
"""The injector: each fault fires exactly as told, in a small program, and nowhere else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.selftest.injector import (
    COUNT,
    FAULTS,
    Fired,
    Plan,
    build,
    preload,
    read_counts,
    read_fired,
)

# Three writes of 100 bytes each, of letters a, b and c; then the same is read back.
PROGRAM = """
import errno, os, sys
here, other = sys.argv[1:]
def tried(what, call, *words):
    try:
        return call(*words)
    except OSError as error:
        print(what, errno.errorcode[error.errno])
for folder in (here, other):
    fd = tried("open", os.open, folder + "/file", os.O_RDWR | os.O_CREAT)
    if fd is None:
        continue
    for i, letter in enumerate(b"abc"):
        n = tried("write", os.pwrite, fd, bytes([letter]) * 100, 100 * i)
        if n not in (100, None):
            print("wrote", n)
    for i in range(3):
        data = tried("read", os.pread, fd, 100, 100 * i)
        if data is not None:
            print("read", len(data), data[:1].decode("latin1"), len(set(data)))
    tried("fsync", os.fsync, fd)
    tried("truncate", os.ftruncate, fd, 300)
    tried("close", os.close, fd)
    tried("rename", os.rename, folder + "/file", folder + "/renamed")
    tried("unlink", os.unlink, folder + "/renamed") if len(sys.argv) > 3 else None
    print("--")
"""
GOOD = ["read 100 a 1", "read 100 b 1", "read 100 c 1", "--"]
RIGHT = b"a" * 100 + b"b" * 100 + b"c" * 100


@dataclass
class Bench:
    """A folder that the injector looks at, and one beside it."""

    library: Path
    base: Path

    def __post_init__(self) -> None:
        for folder in (self.here, self.other):
            folder.mkdir()

    @property
    def here(self) -> Path:
        return self.base / "here"

    @property
    def other(self) -> Path:
        return self.base / "here-not"

    def run(self, plan: Plan, **more: str) -> subprocess.CompletedProcess[str]:
        variables = {**os.environ, **preload(self.library, plan, self.here, self.base / "log")}
        command = [sys.executable, "-c", PROGRAM, str(self.here), str(self.other)]
        return subprocess.run(
            command, env={**variables, **more}, capture_output=True, text=True, check=False
        )

    def fired(self) -> list[Fired]:
        return read_fired(self.base / "log")

    def data(self) -> bytes:
        return (self.here / "renamed").read_bytes()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("injector"))


@pytest.fixture
def bench(library: Path, tmp_path: Path) -> Bench:
    return Bench(library, tmp_path)


def halves(done: subprocess.CompletedProcess[str]) -> tuple[list[str], list[str]]:
    """What was printed of the folder that is meant, and of the other one."""
    lines = done.stdout.splitlines()
    at = lines.index("--") + 1 if "--" in lines else len(lines)
    return lines[:at], lines[at:]


@pytest.mark.parametrize(
    ("fault", "expected", "fired"),
    [
        ("drop", b"a" * 100 + b"\0" * 100 + b"c" * 100, (100, 100)),
        ("double", b"b" * 200 + b"c" * 100, (0, 100)),
        ("stale", b"a" * 200 + b"c" * 100, (100, 100)),
        ("swap", b"a" * 100 + b"c" * 100 + b"b" * 100, (100, 100)),
    ],
)
def test_a_write_that_goes_wrong(
    bench: Bench, fault: str, expected: bytes, fired: tuple[int, int]
) -> None:
    done = bench.run(Plan("write", fault, nth=2))
    assert done.returncode == 0, done.stderr
    assert bench.data() == expected
    assert (bench.other / "renamed").read_bytes() == RIGHT
    (shot,) = bench.fired()
    assert (shot.rank, shot.kind, shot.number) == (0, f"write:{fault}", 2)
    assert (shot.offset, shot.bytes) == fired and shot.path == bench.here / "file"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_bit(bench: Bench, seed: int) -> None:
    """Of the byte that the log names, and with the same seed the same one."""
    plan = Plan("write", "flip", nth=3, seed=seed)
    found = []
    for _ in range(2):
        assert bench.run(plan).returncode == 0
        data = bench.data()
        (at,) = (i for i in range(300) if data[i] != RIGHT[i])
        assert (data[at] ^ RIGHT[at]).bit_count() == 1
        assert 200 <= at < 300 and bench.fired()[-1].offset == at
        found.append(data)
    assert found[0] == found[1]


def test_a_shifted_write(bench: Bench) -> None:
    assert bench.run(Plan("write", "shift", nth=2)).returncode == 0
    by = bench.fired()[0].bytes - 100
    assert 1 <= by <= 64
    # What it wrote over was written again by the third.
    assert bench.data() == b"a" * 100 + b"\0" * by + b"b" * (100 - by) + b"c" * 100


@pytest.mark.parametrize(
    ("fault", "second"),
    [("drop", "read 100 \0 1"), ("stale", "read 100 a 1"), ("short", "read 50 b 1")],
)
def test_a_read_that_goes_wrong(bench: Bench, fault: str, second: str) -> None:
    here, other = halves(bench.run(Plan("read", fault, nth=2)))
    assert here[0] == GOOD[0] and here[2:] == GOOD[2:] and other == GOOD
    # Where a read moved nothing, what the buffer held before is nobody's promise.
    assert here[1] == second or (fault == "drop" and here[1] != GOOD[1])
    assert [shot.number for shot in bench.fired()] == [2]
    assert bench.data() == RIGHT


@pytest.mark.parametrize("fault", ["flip", "shift"])
def test_a_read_of_other_bytes(bench: Bench, fault: str) -> None:
    here, other = halves(bench.run(Plan("read", fault, nth=2)))
    assert here[1].endswith(" 2") and here[0] == GOOD[0] and other == GOOD
    assert bench.data() == RIGHT


def test_a_short_write(bench: Bench) -> None:
    here, _ = halves(bench.run(Plan("write", "short", nth=1)))
    assert here[0] == "wrote 50"
    assert bench.data()[:101] == b"a" * 50 + b"\0" * 50 + b"b"


@pytest.mark.parametrize("call", [call for call in FAULTS if call != "unlink"])
@pytest.mark.parametrize("code", ["EIO", "ENOSPC", "EDQUOT"])
def test_a_call_that_fails(bench: Bench, call: str, code: str) -> None:
    here, other = halves(bench.run(Plan(call, code)))
    assert [line for line in here if " E" in line] == [f"{call} {code}"]
    assert other == GOOD or call == "open"
    assert [shot.kind for shot in bench.fired()] == [f"{call}:{code}"]


def test_each_of_some_calls(bench: Bench) -> None:
    here, _ = halves(bench.run(Plan("write", "EIO", nth=2, times=None)))
    assert here[:2] == ["write EIO", "write EIO"]
    assert [shot.number for shot in bench.fired()] == [2, 3]


@pytest.mark.parametrize(("rank", "times"), [("0", 0), ("1", 1)])
def test_only_one_process(bench: Bench, rank: str, times: int) -> None:
    """As a launcher numbers it."""
    bench.run(Plan("write", "EIO", rank=1), PMI_RANK=rank)
    assert [shot.rank for shot in bench.fired()] == [1] * times


@pytest.mark.parametrize(("fault", "number"), [("kill", signal.SIGKILL), ("crash", signal.SIGSEGV)])
def test_a_process_that_ends(bench: Bench, fault: str, number: int) -> None:
    done = bench.run(Plan("fsync", fault))
    assert done.returncode == -number
    assert (bench.here / "file").read_bytes() == RIGHT
    assert [shot.kind for shot in bench.fired()] == [f"fsync:{fault}"]


def test_a_process_that_stops(bench: Bench) -> None:
    variables = {**os.environ, **preload(bench.library, Plan("fsync", "stop"), bench.here)}
    command = [sys.executable, "-c", PROGRAM, str(bench.here), str(bench.other)]
    with subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL) as job:
        _, status = os.waitpid(job.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGSTOP
        job.send_signal(signal.SIGCONT)
    assert (bench.here / "renamed").read_bytes() == RIGHT


def test_calls_are_counted(bench: Bench) -> None:
    assert bench.run(COUNT).returncode == 0
    counts = read_counts(bench.base / "log")
    expected = {"open": 1, "write": 3, "read": 3, "fsync": 1, "truncate": 1, "close": 1}
    assert {call: made[0] for call, made in counts.items()} == {**expected, "rename": 1}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("flip below=/", "expected CALL:FAULT"),
        ("seek:EIO below=/", "no such call"),
        ("write:melt below=/", "no such fault"),
        ("read:swap below=/", "this call cannot have this fault"),
        ("write:flip", "below=FOLDER is missing"),
        ("write:flip below=here", "expected an absolute path"),
        ("write:flip below=/ nth=some", "expected a number"),
        ("write:flip below=/ nth=0", "count from 1"),
        ("write:flip below=/ colour=red", "no such key"),
        ("any:count below=/", "log=FILE is missing"),
    ],
)
def test_a_wrong_plan(library: Path, text: str, why: str) -> None:
    """One line, and nothing is run."""
    variables = {**os.environ, "LD_PRELOAD": str(library), "IOGAUGE_INJECT": text}
    done = subprocess.run(
        ["/bin/echo", "run"], env=variables, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("injector: IOGAUGE_INJECT: ") and why in line
