# SPDX-License-Identifier: BSD-3-Clause
"""Folders of traces that are no use: a message names the file and what to do, and no command takes
them for others."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from iogauge.analysis.blame.accesses import ACCESS, Traced, _of_process
from iogauge.analysis.darshan import raw
from iogauge.analysis.darshan.convert import short_names
from iogauge.cli.main import main
from tests.analysis.darshan.test_darshan_log import process

NONE_OF_RECORDS = (0, 69, 51, 17, 0, 2)


def trace(
    rank: int, of: int, *, version: int = raw.VERSION, modules: int = 2, events: bytes = b"",
    shapes: tuple[bytes, ...] = (), records: tuple[bytes, ...] = (),
) -> bytes:  # fmt: skip
    """One without a record, unless given (kernels/recorder/raw_trace.h)."""
    flags = raw.COMPLETE | raw.MPI
    head = struct.pack(
        "=8sIIiiqqqqqqdIIIIII64s128s1024s", raw.MAGIC, version, flags, rank, of, 100 + rank, 0,
        1000, 0, 10, 0, 2.0, len(records), *NONE_OF_RECORDS[1:5], modules, b"node", b"test",
        b"./program",
    )  # fmt: skip
    heat = struct.pack("=Qd", 5, 0.01) * 2
    count = len(events) // raw.EVENT.size
    table = struct.pack("=Q", len(shapes)) * (version > raw.OLDEST)
    table += b"".join(struct.pack("=Q", len(one)) + one for one in shapes)
    found = b"".join(records)
    return (
        head + heat + found + struct.pack("=QQ", 0, count) + events + struct.pack("=Q", 0) + table
        + raw.END
    )  # fmt: skip


FILE = 7
# An empty record of the file, in MPI-IO.
RECORD = raw._RECORD.pack(FILE, 0, 0, 1, 2, 0, 0) + b"/a" + bytes(8 * (51 + 17))
HUGE = 2**62


def data_set(*dims: int, file: int = FILE, size: int = 4, more: int = 0) -> bytes:
    """Of integers; `more`: dimensions that it says it has, too."""
    words = raw.SET.pack(file, 0, size, len(dims) + more, 0, 0)
    return words + struct.pack(f"={len(dims)}q", *dims) + b"/rows"


def part(*rows: tuple[int, ...], slabs: int = 1) -> bytes:
    """A selection: start, stride, count, block."""
    numbers = [number for row in rows for number in row]
    return raw.PART.pack(6, len(rows[0]), slabs) + struct.pack(f"={len(numbers)}q", *numbers)


WHOLE = ((0, 0), (1, 1), (2, 3), (1, 1))


def moving(
    one: bytes = data_set(2, 3), some: bytes = part(*WHOLE), *, a: int = 3, b: int = 1,
    records: tuple[bytes, ...] = (RECORD,),
) -> bytes:  # fmt: skip
    """A trace with a collective write of a data set of 2 x 3."""
    event = raw.EVENT.pack(0, a, b, 0.5, 0.75, 1, raw.DATA_SET, 1)
    return trace(0, 1, events=event, shapes=(one, some), records=records)


def put(folder: Path, rank: int, data: bytes, name: str = "1") -> Path:
    path = folder / f"process-{rank:06d}-{name}.trace"
    path.write_bytes(data)
    return path


def fifo(folder: Path) -> None:
    os.mkfifo(folder / "process-000000-1.trace")


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (lambda f: put(f, 0, trace(0, 1)[:300]), "1.trace: cut off at byte 300; copy it again"),
    "end": (lambda f: put(f, 0, trace(0, 1)[:-8]), "1.trace: cut off at byte"),
    "empty": (lambda f: put(f, 0, b""), "1.trace: cut off at byte 0; copy it again"),
    "version": (
        lambda f: put(f, 0, trace(0, 1, version=9)),
        "1.trace: a trace of version 9; this reads 2 to 3; use the iogauge that its recorder came",
    ),
    "old": (
        lambda f: put(f, 0, trace(0, 1, version=1)),
        "1.trace: expected a trace of version 2 to 3; copy it again",
    ),
    "text": (lambda f: put(f, 0, b"hello\n" * 400), "1.trace: expected a trace of version"),
    "modules": (
        lambda f: put(f, 0, trace(0, 1, modules=3)),
        "1.trace: expected 2 modules, found 3",
    ),
    "rank": (lambda f: put(f, 0, trace(7, 2)), "1.trace: damaged: process 7 of 2; copy it again"),
    "view": (
        lambda f: put(f, 0, trace(0, 1, events=raw.EVENT.pack(1, 0, 0, 0, 0, 1, raw.VIEW, 1))),
        "1.trace: damaged: file view 0 of 0; copy it again",
    ),
    **{
        f"data set: {name}": (
            partial(put, rank=0, data=data),
            f"1.trace: selection {number} of data set {which}: {why}",
        )
        for name, data, which, number, why in (
            ("none", moving(a=8), 2, 1, "it is none of 2 shapes; copy it again"),
            ("below", moving(a=-4), -1, 1, "it is none of 2 shapes"),
            ("selection", moving(b=2), 0, 2, "it is none of 2 shapes"),
            ("far", moving(b=HUGE), 0, HUGE, "it is none of 2 shapes"),
            ("file", moving(records=()), 0, 1, "of no file"),
            ("size", moving(data_set(2, 3, size=0)), 0, 1, "of no file, or of an impossible"),
            ("dimensions", moving(data_set(2, 3, more=40)), 0, 1, "of no file, or of an impossib"),
            ("cut", moving(data_set(2, 3, more=1)), 0, 1, "unpack_from requires"),
            ("negative", moving(data_set(2, -3)), 0, 1, "(2, -3) elements of 4 bytes"),
            ("large", moving(data_set(HUGE, 3)), 0, 1, f"({HUGE}, 3) elements"),
            ("other", moving(data_set(2, 3, 4)), 0, 1, "1 parts in 2 dimensions"),
            ("many", moving(some=part(*WHOLE, slabs=HUGE)), 0, 1, f"{HUGE} parts in 2"),
            ("short", moving(some=part(*WHOLE, slabs=2)), 0, 1, "unpack_from requires"),
            ("outside", moving(some=part((1, 0), *WHOLE[1:])), 0, 1, "((1, 0), (1, 1), (2, 3)"),
            ("before", moving(some=part((0, -1), *WHOLE[1:])), 0, 1, "((0, -1), (1, 1), (2, 3)"),
            ("overlap", moving(some=part((0, 0), (1, 1), (1, 2), (1, 2))), 0, 1, "((0, 0), (1,"),
            ("huge", moving(some=part((0, 0), (1, HUGE), (1, 9), (1, 1))), 0, 1, "((0, 0), (1"),
            ("empty", moving(some=part((0, 0), (1, 1), (2, 0), (1, 1))), 0, 1, "((0, 0), (1, 1"),
        )
    },
    "shapes": (lambda f: put(f, 0, moving()[:-30]), "1.trace: cut off at byte"),
    "fifo": (fifo, "1.trace: not a file; copy it again, or trace the program again"),
}


@pytest.mark.parametrize("command", [["blame"], ["trace", "--json"], ["replay", "plan", "-o", "s"]])
@pytest.mark.parametrize("kind", BROKEN)
def test_broken_traces(
    kind: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, says = BROKEN[kind]
    make(tmp_path)
    assert main([*command, str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert says in said and said.startswith(f"iogauge: {tmp_path}/process-000000-"), said


def test_a_call_with_its_data_set(tmp_path: Path) -> None:
    put(tmp_path, 0, moving())
    (one,) = raw.read_folder(tmp_path)
    rows = raw.RawDataSet(FILE, "/rows", 0, 4, (2, 3), (), ())
    assert one.moves == [raw.RawMove(rows, 6, (WHOLE,), raw.WRITE, True, 0.25)]


def test_traces_of_the_last_version(tmp_path: Path) -> None:
    """They end after the views."""
    data = trace(0, 1, version=raw.OLDEST)
    assert len(data) == len(trace(0, 1)) - 8
    put(tmp_path, 0, data)
    (one,) = raw.read_folder(tmp_path)
    assert one.moves == []


COMMANDS = [["blame"], ["trace", "--no-summary"], ["replay", "plan", "-o", "s"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_two_runs_in_one_folder(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "12":
        put(tmp_path, 0, trace(0, 1), name)
    assert main([*command, str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert f"{tmp_path}: traces of several runs" in said


def writes(calls: int, segments: int) -> bytes:
    """A record of a file in POSIX. `segments`: so many of its calls are known."""
    counters = [0] * 69
    counters[short_names("POSIX").index("WRITES")] = calls
    sizes = struct.pack("=2q", 10, calls) * (calls > 0)
    head = raw._RECORD.pack(FILE, 0, segments, 0, 2, len(sizes) // 16, 0) + b"/a"
    tail = raw.SEGMENT.pack(0, 10, 0.1, 0.2) * segments + raw.MARK.pack(0, 0, 0) * segments
    return head + struct.pack("=69q", *counters) + bytes(8 * 17) + sizes + tail


@pytest.mark.parametrize("command", [*COMMANDS, ["trace", "--json"]])
def test_a_process_without_a_trace(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """All say that, and nobody that the recorder had no room."""
    monkeypatch.chdir(tmp_path)
    for rank in (0, 3):
        put(tmp_path, rank, trace(rank, 4, records=(writes(1, 1 - rank // 3),)))
    assert main([*command, str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "left out: processes without a trace: 1, 2" in said and "room" not in said
    assert "MODMEM" not in said


@pytest.mark.parametrize("command", [["blame"], ["replay", "plan", "-o", "s"]])
@pytest.mark.parametrize(
    ("records", "says"),
    [
        ((), "no read or write through POSIX or MPI-IO; stdio and mapped memory are not"),
        ((writes(0, 0),), "no read or write through POSIX or MPI-IO; stdio and mapped"),
        ((writes(3, 0),), "trace a run with -S dxt=true, or IOGAUGE_TRACE_SEGMENTS=0 in"),
    ],
)
def test_without_single_accesses(
    command: list[str], records: tuple[bytes, ...], says: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """What would help is advised, and nothing else."""
    put(tmp_path, 0, trace(0, 1, records=records))
    assert main([*command, str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert f"{tmp_path}: " in said and says in said and "DARSHAN_MOD_ENABLE" not in said


@pytest.mark.parametrize(
    "access",
    [(0, -5, 1.0, 2.0), (0, 5, float("nan"), 2.0), (0, 5, 2.0, 1.0), (2**63 - 9, 5, 1.0, 2.0)],
)
def test_an_invalid_access_is_not_judged(access: tuple[int, int, float, float]) -> None:
    """`blame` would find an order for it."""
    one = process(0, 1, segments=1)
    one.records[0].segments = (raw.SEGMENT.pack(*access), b"")
    one.records[0].marks = (raw.MARK.pack(0, 0, 0), b"")
    traced = Traced(Path("traces"), [], [], ["here"], np.empty(0, ACCESS), [])
    number = {record.path: i for i, record in enumerate(one.records)}
    with pytest.raises(raw.BrokenTraceError, match="traces: process 0: an access at an invalid"):
        _of_process(one, number, 0.0, traced)


def test_what_is_nothing_of_that_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path, tmp_path / "nothing"):
        assert main(["trace", str(path)]) == 3
        says = f"{path}: expected a run, a Darshan log or traces, found none"
        assert says in capsys.readouterr().err
