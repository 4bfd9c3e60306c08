# SPDX-License-Identifier: BSD-3-Clause
"""Folders of traces that are no use: a message names the file and what to do, and no command takes
them for others."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from iogauge.analysis.blame.accesses import ACCESS, Traced, _of_process
from iogauge.analysis.darshan import raw
from iogauge.cli.main import main
from tests.analysis.darshan.test_darshan_log import process

NONE_OF_RECORDS = (0, 69, 51, 17, 0, 2)


def trace(
    rank: int, of: int, *, version: int = raw.VERSION, modules: int = 2, events: bytes = b""
) -> bytes:
    """One without a record (kernels/recorder/raw_trace.h)."""
    flags = raw.COMPLETE | raw.MPI
    head = struct.pack(
        "=8sIIiiqqqqqqdIIIIII64s128s1024s", raw.MAGIC, version, flags, rank, of, 100 + rank, 0,
        1000, 0, 10, 0, 2.0, *NONE_OF_RECORDS[:5], modules, b"node", b"test", b"./program",
    )  # fmt: skip
    heat = struct.pack("=Qd", 5, 0.01) * 2
    count = len(events) // raw.EVENT.size
    return head + heat + struct.pack("=QQ", 0, count) + events + struct.pack("=Q", 0) + raw.END


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
    "version": (lambda f: put(f, 0, trace(0, 1, version=9)), "1.trace: expected a trace of vers"),
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
    "fifo": (fifo, "1.trace: not a file; copy it again, or trace the program anew"),
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


@pytest.mark.parametrize("command", [["blame"], ["replay", "plan", "-o", "s"]])
def test_two_runs_in_one_folder(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "12":
        put(tmp_path, 0, trace(0, 1), name)
    assert main([*command, str(tmp_path)]) == 3
    said = capsys.readouterr().err
    assert f"{tmp_path}: traces of several runs" in said or "single access" in said


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
