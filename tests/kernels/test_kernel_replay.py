# SPDX-License-Identifier: BSD-3-Clause
"""Replays of schedules: as they are written, verified, and refused where they are wrong."""

from __future__ import annotations

import re
import resource
import shlex
import shutil
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from iokernel_stacks import Stack, missing, prepared, stacks
from recorder_runs import compiled, kernel, launched, preload

from iogauge.analysis.replay import check, plan, schedule, trace, what_if
from iogauge.analysis.replay.own import COLLECTIVE
from iogauge.analysis.replay.schedule import (
    ACT,
    CLOSE,
    END,
    EXTENT,
    OPEN,
    PHASE,
    READ,
    READ_ALL,
    SYNC,
    WRITE,
    WRITE_ALL,
)  # fmt: skip
from iogauge.cli.main import main
from iogauge.common.processes import identity
from reframe_tests.machine import leftovers
from tests.ctest import mpi_end
from tests.selftest.injector import Plan as Faults
from tests.selftest.injector import preload as preload_faults

Act = tuple[int, int, int, int, int, int]
BOTH = OPEN, 0, 0, 0, 0, 0
CLOSED = CLOSE, 0, 0, 0, 0, 0
MET = PHASE, 0, 0, 0, 0, 0


@pytest.fixture(scope="module")
def any_stack() -> Stack:
    return next(prepared(name) for name, stack in stacks().items() if not missing(stack))


def write(
    path: Path, processes: Sequence[Sequence[Act]], extent: int = 4096, level: str = "posix",
    before: Sequence[tuple[int, int, int]] = (), undefined: Sequence[tuple[int, int, int]] = (),
    **more: Any,
) -> Path:  # fmt: skip
    """A schedule of one file."""
    with schedule.writing(path) as writer:
        for acts in processes:
            writer.process(np.array(list(acts), ACT))
        one = {"name": "a.bin", "level": level, "extent": extent, "read": True, "written": True}
        header = {
            "source": "by hand", "recorder": "nobody", "files": [one], "collective": False,
            "prepared": writer.extents(np.array(list(before), EXTENT)),
            "undefined": writer.extents(np.array(list(undefined), EXTENT)),
        }  # fmt: skip
        writer.finish({**header, **more})
    return path


def each_half(reading: int, writing: int) -> list[list[Act]]:
    """Two processes write every other 64 bytes, meet, and read what the other one wrote."""
    return [
        [
            BOTH, (writing, 0, 64 * rank, 64, 128, 16), (SYNC, 0, 0, 0, 0, 0), MET,
            (reading, 0, 64 * (1 - rank), 64, 128, 16), CLOSED,
        ]
        for rank in range(2)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("level", "reading", "writing"),
    [("posix", READ, WRITE), ("mpiio-together", READ_ALL, WRITE_ALL), ("mpiio-alone", READ, WRITE)],
)
def test_each_level(stack: Stack, tmp_path: Path, level: str, reading: int, writing: int) -> None:
    file = write(tmp_path / "s", each_half(reading, writing), 2048, level)
    data = tmp_path / "data"
    data.mkdir()
    run = stack.run(
        "replay", "--schedule", str(file), "--dir", str(data), "--keep",
        document=tmp_path / "r.json",
    )  # fmt: skip
    document = run.good()
    assert document["verification"]["verdict"] == "verified"
    # Each byte twice: as the log reads it, and as it is afterwards.
    assert document["verification"]["bytes"] == 2 * 2048
    assert document["payload"]["bytes"] == 2048
    assert [path.name for path in data.iterdir()] == ["a.bin"]
    assert (data / "a.bin").stat().st_size == 2048
    assert document["samples"][0]["write"]["phases"]["flush"]["max"] > 0


def test_folded(any_stack: Stack, tmp_path: Path) -> None:
    """Four processes' work by two, with the same file; and not without being asked for it."""
    four = [[BOTH, (WRITE, 0, 100 * i, 100, 0, 1), CLOSED] for i in range(4)]
    file = write(tmp_path / "s", four, 400)
    contents = []
    for processes, more in ((4, []), (2, ["--fold"])):
        data = tmp_path / str(processes)
        data.mkdir()
        words = ["replay", "--schedule", str(file), "--dir", str(data), "--keep", *more]
        document = any_stack.run(*words, processes=processes, document=tmp_path / "r.json").good()
        assert document["verification"]["bytes"] == 400
        contents.append((data / "a.bin").read_bytes())
    assert contents[0] == contents[1]
    line = any_stack.run("replay", "--schedule", str(file), "--dir", str(tmp_path)).error(2)
    assert "the log has 4 processes, this run has 2" in line and "--fold" in line
    file = write(tmp_path / "s", [[], [], []], level="mpiio-together", collective=True)
    line = any_stack.run("replay", "--schedule", str(file), "--dir", str(tmp_path)).error(2)
    assert "no reads or writes" in line


def test_collective_calls_are_not_folded(any_stack: Stack, tmp_path: Path) -> None:
    acts = each_half(READ_ALL, WRITE_ALL)
    file = write(tmp_path / "s", acts, 2048, "mpiio-together", collective=True)
    words = ["replay", "--schedule", str(file), "--dir", str(tmp_path), "--fold"]
    assert "collective calls, which need its 2" in any_stack.run(*words, processes=1).error(2)


def test_what_is_read_first_is_made_beforehand(any_stack: Stack, tmp_path: Path) -> None:
    """What was there before is right, and what the log has written over it; nothing else is."""
    reads = [[BOTH, (READ, 0, 0, 300, 0, 1), (WRITE, 0, 100, 100, 0, 1), MET, CLOSED], []]
    reads[0].insert(-1, (READ, 0, 0, 300, 0, 1))
    reads[1] = [MET]
    file = write(tmp_path / "s", reads, 300, before=[(0, 0, 300)])
    words = ["replay", "--schedule", str(file), "--dir", str(tmp_path)]
    document = any_stack.run(*words, document=tmp_path / "r.json").good()
    assert document["verification"]["bytes"] == 300 + 300 + 100
    file = write(tmp_path / "s", reads, 300, before=[(0, 0, 50), (0, 60, 300)])
    run = any_stack.run(*words, document=tmp_path / "r.json")
    assert run.status == 1 and run.result()["verification"]["verdict"] == "mismatch"
    # A hole reads as zeros, of which a hash in 256 is one: nobody knows how many of ten.
    assert 1 <= run.result()["verification"]["mismatches"] <= 2 * 10
    assert run.result()["verification"]["first"]["offset"] in range(50, 60)


def test_what_is_made_beforehand_needs_room(any_stack: Stack, tmp_path: Path) -> None:
    """Refused before anything is written."""
    size = 2**50
    reads = [[BOTH, (READ, 0, 0, 2**20, 2**20, size // 2**20), CLOSED], []]
    file = write(tmp_path / "s", reads, size, before=[(0, 0, size)])
    data = tmp_path / "data"
    data.mkdir()
    words = ["replay", "--schedule", str(file), "--dir", str(data)]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**26, limits[1]))  # where it is not refused
    try:
        line = any_stack.run(*words).error(1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    free = shutil.disk_usage(data).free / 2**20
    match = re.search(r"writes 1073741824.0 MiB, but only ([\d.]+) MiB are free", line)
    assert match and float(match[1]) == pytest.approx(free, rel=0.5)
    assert list(data.iterdir()) == []


def test_undefined_bytes_are_not_verified(any_stack: Stack, tmp_path: Path) -> None:
    hole = [[BOTH, (WRITE, 0, 0, 100, 0, 1), (WRITE, 0, 200, 100, 0, 1), MET, CLOSED], []]
    hole[0].insert(-1, (READ, 0, 0, 300, 0, 1))
    hole[1] = [MET]
    words = ["replay", "--dir", str(tmp_path), "--schedule"]
    file = write(tmp_path / "s", hole, 300, undefined=[(0, 90, 210)])
    document = any_stack.run(*words, str(file), document=tmp_path / "r.json").good()
    assert document["verification"]["bytes"] == 2 * 180
    file = write(tmp_path / "s", hole, 300)
    assert any_stack.run(*words, str(file), document=tmp_path / "r.json").status == 1


def one_act(act: Act) -> Callable[[Path], Path]:
    """Beside a right one: a schedule without any access is refused for that."""
    right = (WRITE, 0, 0, 100, 0, 1)
    return lambda path: write(path, [[BOTH, right, act, CLOSED], []], 100)


def cut(path: Path) -> Path:
    whole = write(path, each_half(READ, WRITE), 2048).read_bytes()
    path.write_bytes(whole[:-9])
    return path


def one_act_less(path: Path) -> Path:
    """The end says more than there is."""
    whole = write(path, each_half(READ, WRITE), 2048).read_bytes()
    path.write_bytes(whole[:8] + whole[8 + ACT.itemsize :])
    return path


def long_header(path: Path) -> Path:
    path.write_bytes(b"IOGSCHED" + b"{}" + struct.pack("<Q", 2**63) + END)
    return path


def named(name: str) -> Callable[[Path], Path]:
    one = {"name": name, "level": "posix", "extent": 9, "read": True, "written": True}
    return lambda path: write(path, [[BOTH, (WRITE, 0, 0, 9, 0, 1), CLOSED]], files=[one])


def test_the_seconds_are_of_the_slowest_in_each_phase(
    any_stack: Stack, injector: Path, tmp_path: Path
) -> None:
    """One writes first, the other then: a user waits for both, though each is quick in all."""
    turns = [
        [BOTH, (WRITE, 0, 0, 100, 100, 2), MET, CLOSED],
        [BOTH, MET, (WRITE, 0, 200, 100, 100, 2), CLOSED],
    ]
    file = write(tmp_path / "s", turns)
    data = tmp_path / "data"
    data.mkdir()
    run = any_stack.run(
        "replay", "--schedule", str(file), "--dir", str(data), document=tmp_path / "r.json",
        environment=preload_faults(injector, Faults("write", "slow", times=None, milliseconds=50),
                                   data),
    )  # fmt: skip
    sides = [sample["write"] for sample in run.good()["samples"]]
    assert 0.1 <= sides[0]["phases"]["write"]["max"] < sides[0]["in_calls"]
    assert sides[0]["in_calls"] >= 0.2


WRONG = {
    "cut": (cut, "truncated"),
    "less": (one_act_less, "its size does not match its header"),
    "long": (long_header, "truncated"),
    "elsewhere": (named("../a.bin"), "invalid file name"),
    "hidden": (named(".a"), "invalid file name"),
    "outside": (one_act((WRITE, 0, 64, 64, 0, 1)), "access outside its file"),
    "before": (one_act((WRITE, 0, 64, 8, -64, 3)), "access outside its file"),
    "far": (one_act((WRITE, 0, 0, 8, 2**62, 3)), "access outside its file"),
    "no file": (one_act((WRITE, 7, 0, 8, 0, 1)), "an unknown file"),
    "kind": (one_act((99, 0, 0, 8, 0, 1)), "unknown kind"),
    "together": (one_act((WRITE_ALL, 0, 0, 8, 0, 1)), "a file without MPI-IO"),
    "phases": (one_act(MET), "differ in their number of phases"),
    "closed": (lambda p: write(p, [[(WRITE, 0, 0, 9, 0, 1)], []]), "which is not open"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_schedule_is_refused(any_stack: Stack, tmp_path: Path, what: str) -> None:
    make, says = WRONG[what]
    file = make(tmp_path / "s")
    data = tmp_path / "data"
    data.mkdir()
    if what == "phases":  # one of two has none
        file = write(file, [[BOTH, MET, (WRITE, 0, 0, 9, 0, 1), CLOSED], []])
    run = any_stack.run("replay", "--schedule", str(file), "--dir", str(data))
    assert run.status in (1, 2) and len(run.errors()) == 1 and says in run.errors()[0], str(run)
    assert list(data.iterdir()) == []


def test_options_of_a_replay(any_stack: Stack, tmp_path: Path) -> None:
    file = str(write(tmp_path / "s", each_half(READ, WRITE), 2048))
    for words, says in (
        ([], "no --schedule given"),
        (["--schedule", file, "--method", "posix"], "omit --method and --mode"),
        (["--schedule", file, "--write-only"], "omit --write-only and --read-only"),
        (["--schedule", file, "--steps", "2"], "--steps: a replay has no steps"),
        (["--schedule", file, "--think", "-1"], "--think -1: expected a number of at least 0"),
        (["--trace", "a.darshan"], "iogauge replay a.darshan --dir FOLDER does both"),
        (["--schedule", __file__], "not a schedule"),
    ):
        assert says in any_stack.run("replay", *words, "--dir", str(tmp_path)).error(2)


@pytest.mark.parametrize(
    "words",
    [
        ("ior", "--method", "posix-shared", "-b", "64k", "-t", "4k", "-s", "2"),
        ("ior", "--method", "mpiio", "--mode", "collective", "-b", "64k", "-t", "16k"),
        ("s3d", "--method", "hdf5", "--mode", "independent", "--grid", "8x6x4"),
    ],
    ids=lambda words: words[2],
)
def test_a_replay_is_what_it_replays(stack: Stack, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Traced itself: every call, size and place of each process, in order."""
    folders = [tmp_path / name for name in ("log", "replay")]
    for folder in folders:
        folder.mkdir()
    run, _ = kernel(stack, folders[0], *words, dxt=True)
    run.good()
    file = tmp_path / "s"
    made = plan.make(trace.load(folders[0] / "traces"), file)
    more = ("--buffer", "reused") if words[0] == "ior" else ()
    run, _ = kernel(stack, folders[1], "replay", "--schedule", str(file), *more, dxt=True)
    assert run.good()["verification"]["verdict"] == "verified"
    logs = [folder / "traces" for folder in folders]
    found = check.compare(
        *check.load(file, logs[0], logs[1]), float(schedule.read_header(file)["gap"])
    )
    assert found.wrong == [] and found.exact == 2
    assert found.log == found.replay
    accesses = sum(len(rows) for rows in made.trace.accesses)
    assert sum(phase.calls for phase in found.phases) == accesses > 0


@pytest.mark.parametrize("kind", ["heat", "ahead", "split", "later", "particles"])
def test_the_programs_own_calls(kind: str, stack: Stack, tmp_path: Path) -> None:
    """Views, individual pointers, split calls and explicit offsets of collective calls are replayed
    as collective calls of the processes that made them."""
    program, data, traces = (tmp_path / name for name in ("dumps", "program", "traces"))
    data.mkdir()
    compiled(stack, Path(__file__).with_name("mpi_dumps.c"), program)
    variables = preload(stack, traces, data, dxt=True)
    done = launched(stack, 2, [program, data, kind, "40", "2"], variables)
    assert done.returncode == 0, done.stderr
    loaded = trace.load(traces)
    assert [(one.level, one.own) for one in loaded.files] == [(trace.TOGETHER, True)] * 2
    assert all((rows["form"] & COLLECTIVE).all() and len(rows) for rows in loaded.accesses)
    waited = sum(float(rows["waited"].sum()) for rows in loaded.accesses)
    assert (waited > 0) == (kind in ("split", "later")), "of calls that end in others"
    file = tmp_path / "s"
    program_seconds = check.program_seconds(plan.make(loaded, file), trace.WRITE)
    assert 0 < program_seconds <= 1.01 * float(done.stdout), (
        "of opening to closing, the program says itself"
    )
    if kind != "particles":
        made = what_if.make(loaded, tmp_path / "extents")
        assert made.steps == 2 and [array.bytes for _, array in made.arrays] == [40 * 40 * 8]
        assert [len(boxes) for boxes in made.arrays[0][1].boxes.values()] == [1, 1]
    again = tmp_path / "again"
    again.mkdir()
    run, _ = kernel(stack, again, "replay", "--schedule", str(file), dxt=True)
    assert run.good()["verification"]["verdict"] == "verified"
    log, own = check.load(file, traces, again / "traces")
    found = check.compare(log, own, float(schedule.read_header(file)["gap"]))
    assert found.wrong == [] and found.exact == 2 and found.notes == []
    for rank in range(2):
        for name in ("file", "offset", "length"):
            assert (log.pieces(rank)[0][name] == own.pieces(rank)[0][name]).all()


def test_one_command(
    any_stack: Stack, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """From the trace to the answer, and a page of both, beside files of the same names."""
    for name, value in any_stack.environment().items():
        monkeypatch.setenv(name, value)
    run, _ = kernel(any_stack, tmp_path, "s3d", "--method", "posix-shared", "--grid", "8x6x4",
                    dxt=True)  # fmt: skip
    run.good()
    out, data = tmp_path / "out", tmp_path / "data"
    file = tmp_path / "app.schedule"
    assert main(["replay", "plan", str(tmp_path / "traces"), "-o", str(file)]) == 0
    users = [data / one["name"] for one in schedule.read_header(file)["files"]]
    for path in users:
        path.write_bytes(b"the user's")
    killed = subprocess.Popen(["true"])
    left = data / "iogauge.abcDEF12"
    left.mkdir()
    (left / leftovers.MARKER).write_text(f"{identity(killed.pid)} -\n")
    (left / users[0].name).write_bytes(b"a killed run's")
    killed.wait()

    def replayed() -> tuple[int, str]:
        status = main([
            "replay", str(tmp_path / "traces"), "--dir", str(data / ".." / "data"), "-o", str(out),
            "--iokernel", str(any_stack.iokernel), "--launch", shlex.join(any_stack.launch),
            "--rounds", "1", "--method", "posix",
        ])  # fmt: skip
        return status, "".join(capsys.readouterr())

    status, said = mpi_end.twice_at_most(
        replayed,
        lambda done: mpi_end.kernel_blames_mpi(done[1]),
        lambda: shutil.rmtree(out, ignore_errors=True),
    )
    assert status == 0, said
    assert "as logged: verified" in said
    assert "sizes, offsets and order: exact for 2 of 2 processes" in said
    assert "\nposix: not decided yet: add --rounds " in said
    assert {path.name for path in out.iterdir()} == {
        "answer.json", "app.read.extents", "app.schedule", "app.write.extents", "replay.html",
        "result.json", "trace",
    }  # fmt: skip
    assert users and sorted(data.iterdir()) == sorted(users)
    assert all(path.read_bytes() == b"the user's" for path in users)
