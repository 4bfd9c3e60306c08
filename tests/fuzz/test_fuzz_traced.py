# SPDX-License-Identifier: BSD-3-Clause
"""Damaged logs, traces, runs, schedules and files, as the commands of a program's own traces take
them: an answer, or one line that names the file and what to do."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from iogauge.analysis.darshan import header, raw
from iogauge.analysis.errors import EXIT_DATA, EXIT_NO_ORDER, EXIT_NOT_VERIFIED, EXIT_OK
from iogauge.cli.main import main
from iogauge.common.run_folder import DOCUMENT, TRACE
from tests.fuzz.cases import damaged, fuzz

RUNS = sorted((Path(__file__).resolve().parents[1] / "data" / "darshan").iterdir())
WITH_ACCESSES = [run for run in RUNS if run.name.endswith("dxt")]
STATUSES = (EXIT_OK, EXIT_NOT_VERIFIED, EXIT_DATA, EXIT_NO_ORDER)
HEAD = 12  # numbers of 8 bytes at the beginning of what was compressed


def answered(*words: str | Path, about: Path, beside: Path | None = None) -> None:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([*map(str, words)])
    said = err.getvalue()
    assert status in STATUSES, said
    assert "Traceback" not in said
    if status == EXIT_DATA:
        assert said.startswith("iogauge: ") and said.count("\n") == 1, said
        assert str(about) in said or (beside and str(beside) in said), said
        assert "; " in said or "expected" in said or DOCUMENT in said, said


def _unpacked(packed: bytes) -> bytes:
    found = b""
    while packed:
        stream = zlib.decompressobj()
        found += stream.decompress(packed)
        packed = stream.unused_data
    return found


@st.composite
def damaged_inside(draw: Callable[..., Any], log: bytes) -> bytes:
    """A log in which what was compressed is damaged, in one of its parts."""
    head = list(header.HEAD.unpack_from(log))
    places, versions = head[4 : 6 + 2 * header.MODULES], head[6 + 2 * header.MODULES :]
    ends = [
        (header.HEAD.size, places[0] - header.HEAD.size),
        *zip(*[iter(places)] * 2, strict=True),
    ]
    parts = [log[at : at + length] if length else b"" for at, length in ends]
    which = draw(st.sampled_from([i for i, part in enumerate(parts) if part]))
    parts[which] = zlib.compress(draw(damaged(_unpacked(parts[which]), HEAD)))
    at = header.HEAD.size + len(parts[0])
    for i, part in enumerate(parts[1:]):
        places[2 * i : 2 * i + 2] = [at, len(part)] if part else [0, 0]
        at += len(part)
    return header.HEAD.pack(*head[:4], *places, *versions) + b"".join(parts)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traced")


@pytest.mark.slow
@fuzz("commands on damaged logs", 0.02, 60, run=st.sampled_from(RUNS), data=st.data())
def test_damaged_logs(place: Path, run: Path, data: st.DataObject) -> None:
    log = place / "mine.darshan"
    log.write_bytes(data.draw(damaged_inside((run / TRACE).read_bytes())))
    for words in (["trace", "--json"], ["blame"], ["replay", "plan", "-o", place / "schedule"]):
        answered(*words, log, about=log)


@pytest.mark.slow
@fuzz("why on damaged runs", 0.01, 40, run=st.sampled_from(RUNS), data=st.data())
def test_damaged_runs(place: Path, run: Path, data: st.DataObject) -> None:
    folder = place / "run"
    folder.mkdir(exist_ok=True)
    log, document = (run / TRACE).read_bytes(), (run / DOCUMENT).read_bytes()
    if data.draw(st.booleans()):
        log = data.draw(damaged_inside(log))
    else:
        document = data.draw(damaged(document))
    (folder / TRACE).write_bytes(log)
    (folder / DOCUMENT).write_bytes(document)
    for words in (["why"], ["trace", "--json"], ["blame"]):
        answered(*words, folder, about=folder)


RECORDS = 2  # one of each module
KINDS = range(raw.LOOKED + 1)


@st.composite
def trace_of(draw: Callable[..., Any], rank: int) -> bytes:
    """Of two processes' one: events of all kinds, and accesses that may be invalid."""
    numbers = st.sampled_from((0, 1, -1, 2, 8, 100, 2**31, 2**62, 2**63 - 1, -(2**63)))
    times = st.sampled_from((0.0, 0.1, 0.2, 0.3, -1.0, 1e300, float("nan"), float("inf")))
    right = st.sampled_from((0.0, 0.1, 0.2, 0.3))
    time = draw(st.sampled_from((right, right, right, times)))
    number = draw(st.sampled_from((st.integers(0, 3), st.integers(0, 3), numbers)))
    counters, seconds = 70, 20
    head = raw._HEADER.pack(
        raw.MAGIC, raw.VERSION, raw.COMPLETE | raw.MPI, rank, 2, 100 + rank, 0, 1_800_000_000, 5, 9,
        9, 1.5, RECORDS, counters, counters, seconds, 1, len(raw.MODULES), b"host", b"me", b"it",
    )  # fmt: skip
    heat = struct.pack("=Qdqq", 5, 0.01, 0, 0) * len(raw.MODULES)
    records = b""
    for module in range(RECORDS):
        accesses = [draw(st.integers(0, 2)) for _ in "rw"]
        records += raw._RECORD.pack(7, *accesses, module, 4, 0, 0) + b"/a/b"
        records += bytes(8 * (counters + seconds))
        for _ in range(sum(accesses)):
            span = sorted((draw(time), draw(time)))
            records += raw.SEGMENT.pack(draw(number), draw(number), *span)
        for _ in range(sum(accesses)):
            records += raw.MARK.pack(
                draw(number), draw(st.integers(0, 20)), draw(st.integers(0, 2))
            )
    events = [
        raw.EVENT.pack(
            draw(st.sampled_from((7, 7, 7, 0, 9))), draw(number), draw(number), draw(time),
            draw(time), draw(st.integers(0, 20)), draw(st.sampled_from(KINDS)),
            draw(st.integers(0, 2)),
        )
        for _ in range(draw(st.integers(0, 8)))
    ]  # fmt: skip
    views = [struct.pack("=4qQ2q", *(draw(number) for _ in "dese"), 1, draw(number), draw(number))]
    last = struct.pack("=Q", len(views)) + b"".join(views) + raw.END
    calls = struct.pack("=Q48s48s", 2, b"MPI_File_write_at_all", b"MPI_File_iwrite_shared")
    return head + heat + records + calls + struct.pack("=Q", len(events)) + b"".join(events) + last


@fuzz("commands on strange traces", 0.04, 100, first=trace_of(0), second=trace_of(1))
def test_strange_traces(place: Path, first: bytes, second: bytes) -> None:
    folder = place / "traces"
    folder.mkdir(exist_ok=True)
    for rank, trace in enumerate((first, second)):
        (folder / f"process-{rank:06d}-{rank}.trace").write_bytes(trace)
    for words in (["trace", "--json"], ["blame"], ["replay", "plan", "-o", place / "schedule"]):
        answered(*words, folder, about=folder)


@pytest.fixture(scope="module")
def planned(place: Path) -> Iterator[tuple[Path, bytes]]:
    out = place / "app.schedule"
    with redirect_stdout(io.StringIO()):
        assert main(["replay", "plan", str(WITH_ACCESSES[0] / TRACE), "-o", str(out)]) == 0
    yield out, out.read_bytes()


@pytest.mark.slow
@fuzz("check of damaged schedules", 0.02, 60, data=st.data())
def test_damaged_schedules(planned: tuple[Path, bytes], data: st.DataObject) -> None:
    """Its last part is the text that `check` reads."""
    path, whole = planned
    end = 8 + len(b"IOGS-END")
    (length,) = struct.unpack("<Q", whole[-end : -end + 8])
    text = data.draw(damaged(whole[-end - length : -end]))
    path.write_bytes(whole[: -end - length] + text + struct.pack("<Q", len(text)) + whole[-8:])
    log = WITH_ACCESSES[0] / TRACE
    answered("replay", "check", path, log, log, about=path, beside=log)
