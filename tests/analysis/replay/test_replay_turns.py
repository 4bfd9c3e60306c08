# SPDX-License-Identifier: BSD-3-Clause
"""Phases of programs that read at once what they wrote, by clocks that differ; file views."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from iogauge.analysis.darshan.dxt import SEGMENT
from iogauge.analysis.darshan.log import FileTrace
from iogauge.analysis.darshan.raw import (
    CLOSE,
    EVENT,
    MARK,
    OPEN,
    VIEW,
    WAIT,
    RawRecord,
    RawView,
)
from iogauge.analysis.replay import check, own, phases, plan, trace, turns
from iogauge.analysis.replay.own import STEP
from iogauge.analysis.replay.trace import ACCESS, READ, WRITE


def process(ways: list[int], clock: float) -> np.ndarray:
    """An access of 1 ms each 1.1 ms."""
    rows = np.zeros(len(ways), ACCESS)
    rows["write"] = ways
    rows["length"] = 8
    rows["start"] = clock + np.arange(len(ways)) * 1.1e-3
    rows["end"] = rows["start"] + 1e-3
    return rows


def found(accesses: list[np.ndarray]) -> phases.Phases:
    log = SimpleNamespace(files=[])
    return phases.find(trace.Trace(Path("log"), log, [], accesses, []))  # type: ignore[arg-type]


THEN_READ = [WRITE] * 4 + [READ] * 3


def test_seconds_are_of_the_slowest_in_each_phase() -> None:
    """What one waits for the other in opening, the other waits in writing: both count once."""
    steps, accesses = [], []
    for opened, second in ((3.0, 1.0), (1.0, 4.0)):  # when opening ends; how long writing 2 takes
        rows = process([WRITE] * 2, 0)
        rows["start"], rows["end"] = [opened, 10], [4, 10 + second]
        accesses.append(rows)
        steps.append(np.array([(OPEN, 0, 0, 0, opened, 0, 0, 0)], STEP))
    log = SimpleNamespace(files=[])
    files = [trace.TracedFile("a", own.TOGETHER, None, own=True)]
    both = trace.Trace(Path("log"), log, files, accesses, [], steps=steps)  # type: ignore[arg-type]
    found = phases.find(both)
    planned = plan.Plan(both, found, [])
    assert len(found) == 2 and check.program_seconds(planned, WRITE) == 4 + 4
    both.synthesised = True
    assert check.program_seconds(planned, WRITE) == 0, "unknown"


def test_opening_counts_for_what_a_process_opens_the_file_for() -> None:
    """Process 0 writes for 1 s, and reads for 1 s after a pause; process 1 reads for 2 s then. Both
    opened and closed the file, together for 11 s, process 0 twice."""
    counters = FileTrace("POSIX", "a", {"OPENS": 4.0, "F_META_TIME": 11.0}, {}, ())
    accesses = [process([WRITE, READ], 0), process([READ], 10)]
    accesses[0]["start"], accesses[0]["end"] = [0, 10], [1, 11]
    accesses[1]["end"] = 12
    log = SimpleNamespace(files=[counters])
    files = [trace.TracedFile("a", trace.POSIX, counters)]
    both = trace.Trace(Path("log"), log, files, accesses, [])  # type: ignore[arg-type]
    planned = plan.Plan(both, phases.find(both), [])
    planned.periods = plan._periods(planned)
    assert check.program_seconds(planned, WRITE) == pytest.approx(1 + 11 / 4)
    assert check.program_seconds(planned, READ) == pytest.approx(2 + 11 / 2)


def test_all_turn_without_a_pause() -> None:
    made = found([process(THEN_READ, 0), process(THEN_READ, 2e-5)])
    assert len(made) == 2 and (made.where == phases.TURN).all()
    assert made.pauses[0] == pytest.approx(0.1e-3 - 2e-5)
    for rows in (process(THEN_READ, 0), process(THEN_READ, 2e-5)):
        assert list(made.of(rows)) == [0] * 4 + [1] * 3
    assert "1 of 2 phases begin where every process turns" in made.notes(phases.GAP)[0]


@pytest.mark.parametrize(
    "other",
    [[WRITE] * 7, THEN_READ[::-1], [*THEN_READ, WRITE], []],
    ids=["no", "back", "more", "-"],
)
def test_not_all_turn(other: list[int]) -> None:
    assert len(found([process(THEN_READ, 0), process(other, 0)])) == 1


@pytest.mark.parametrize("barrier", [False, True])
def test_waits_for_a_collective_call_are_in_one_phase(barrier: bool) -> None:
    """Or one process of a replay would wait in it, and the others for the next phase. Others wait
    for the calls in another order."""
    calls = own.Calls("a", opened_by={2})
    for rank, waits in enumerate(([(0, 2.0), (1, 2.2)], [(1, 4.0), (0, 4.2)])):
        rows = process([WRITE] * 2, 1)
        rows["form"] = own.ALL_LATER
        calls.rows[rank] = rows
        steps = [(OPEN, 0, 0, 0, 0.1), *((WAIT, 0, k, at, at + 0.1) for k, at in waits)]
        steps.append((CLOSE, 0, 0, 6, 6.1))
        calls.steps[rank] = np.array([(*step, 0, 0, 0) for step in steps], STEP)
    assert own._meet(calls) == ""
    files = [trace.TracedFile("a", own.TOGETHER, None, own=True)]
    met = np.array([3.0] if barrier else [])
    log = SimpleNamespace(files=[])
    both = trace.Trace(
        Path("log"), log, files, list(calls.rows.values()), [],  # type: ignore[arg-type]
        steps=list(calls.steps.values()), meetings=met,
    )  # fmt: skip
    made = phases.find(both, 0.1)
    assert [made.of(steps).tolist() for steps in both.steps] == [[0, 2, 2, 3]] * 2


def test_a_turn_is_behind_the_waits() -> None:
    """What a process has written is there when it has waited for it."""
    both = [process(THEN_READ, 0), process(THEN_READ, 2e-5)]
    both[1]["done"][0] = both[1]["end"][-1]
    assert len(found(both)) == 1
    both[1]["done"][0] = both[1]["end"][3]
    assert len(found(both)) == 2


def test_clocks_that_differ() -> None:
    """By more than the pause: nothing would be seen of the turn."""
    accesses = [process(THEN_READ, 0), process(THEN_READ, 0.003)]
    assert len(found(accesses)) == 1
    assert turns.align(accesses) == pytest.approx(0.003)
    assert len(found(accesses)) == 2
    far = [process(THEN_READ, 0), process(THEN_READ, 5.0)]
    assert turns.align(far) == 0 and far[1]["start"][0] == 5.0


@pytest.mark.parametrize(
    ("pieces", "right"),
    [
        (((0, 8),), True),
        (((0, 8), (8, 8)), True),
        (((8, 8), (32, 8)), True),
        (((0, 8), (4, 8)), False),
        (((8, 8), (0, 8)), False),
    ],
)
def test_pieces_of_a_view_follow_each_other(
    pieces: tuple[tuple[int, int], ...], right: bool
) -> None:
    size = sum(length for _, length in pieces)
    assert own._in_order(RawView(0, 32, size, 8, pieces)) == right


@pytest.mark.parametrize(
    ("pieces", "at", "why"),
    [
        (((0, 8), (24, 8)), 2, ""),  # within the extent: it repeats
        (((0, 8), (40, 8)), 1, ""),  # the rest of it, once
        (((0, 8), (40, 8)), 2, "a file view of it repeats before its end"),
    ],
)
def test_a_view_may_be_wider_than_its_extent(
    pieces: tuple[tuple[int, int], ...], at: int, why: str
) -> None:
    """Open MPI says the extent of a variable alone of PnetCDF's view of header and variable."""
    events = [(OPEN, 0, 1), (VIEW, 0, 0), (CLOSE, 0, 0)]
    segment = np.zeros(1, SEGMENT)
    segment["length"] = 8
    record = RawRecord(7, "MPI-IO", "a", [], [], {}, {}, (b"", segment.tobytes()),
                       (b"", MARK.pack(at, 2, 0)))  # fmt: skip
    packed = b"".join(
        EVENT.pack(7, a, b, number, number, 2 * number, kind, own.MPIIO)
        for number, (kind, a, b) in enumerate(events)
    )
    one = SimpleNamespace(events=packed, calls=["MPI_File_write_at"], rank=0,
                          views=[RawView(0, 32, 16, 8, pieces)])  # fmt: skip
    all_, calls = own.Own(), own.Calls("a")
    own._take(all_, calls, one, record, 0.0)  # type: ignore[arg-type]
    assert calls.why == why
    assert all_.views[1].extent == max(32, sum(pieces[-1]))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("MPI_File_iwrite_shared", ""),  # the POSIX calls below it do
        ("MPI_File_iwrite", "the trace does not say where its MPI-IO calls begin"),
    ],
)
def test_why_the_programs_calls_are_not_repeated(call: str, why: str) -> None:
    segment = np.zeros(1, SEGMENT)
    segment["length"] = 8
    record = RawRecord(7, "MPI-IO", "a", [], [], {}, {}, (b"", segment.tobytes()),
                       (b"", MARK.pack(-1, 2, 0)))  # fmt: skip
    calls = own.Calls("a")
    own._rows(calls, SimpleNamespace(calls=[call]), record, WRITE, [(0, 0, 1)], 0.0)  # type: ignore[arg-type]
    assert calls.why == why


@pytest.mark.parametrize("alone", [False, True])
def test_calls_of_no_bytes_at_a_shared_pointer_have_a_place(alone: bool) -> None:
    """Also behind the last POSIX call, and of a process without any."""
    calls = own.Calls("a")
    for rank in range(2):
        rows = process([WRITE] * 2, 0)
        rows["form"], rows["offset"] = own.SHARED, -1
        rows["length"] = [0 if rank and alone else 8, 0]
        below = np.zeros(1, SEGMENT)
        below["offset"], below["length"], below["start"] = 8 * rank, 8, 1e-4
        calls.rows[rank], calls.steps[rank] = rows, np.empty(0, STEP)
        if not (rank and alone):
            calls.below[rank] = [np.empty(0, SEGMENT), below]
    assert own._place(calls) == ""
    assert [rows["offset"].tolist() for rows in calls.rows.values()] == [
        [0, 0],
        [8 * (not alone), 0],
    ]
