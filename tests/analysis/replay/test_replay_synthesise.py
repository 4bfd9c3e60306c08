# SPDX-License-Identifier: BSD-3-Clause
"""Schedules made up from counters: bytes and calls are the log's, and it says what it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.analysis.darshan.log import FileTrace, Log, read_log
from iogauge.analysis.errors import AnalysisError
from iogauge.analysis.replay import check, plan, schedule, synthesise, trace
from iogauge.analysis.replay.trace import READ, WRITE, CannotReplayError

DATA = Path(__file__).parents[2] / "data" / "darshan"
COUNTERS = DATA / "mpich-holes" / "trace.darshan"


@given(
    st.integers(1, 10**6), st.integers(1, 300),
    st.dictionaries(st.integers(0, 5000), st.integers(1, 200), max_size=4),
)  # fmt: skip
def test_sizes_are_as_many_bytes(size: int, calls: int, common: dict[int, int]) -> None:
    lengths = synthesise._lengths(size, calls, common)
    assert int(lengths.sum()) == size and len(lengths) == min(size, calls)
    assert (lengths > 0).all()


def test_the_counters_are_kept(tmp_path: Path) -> None:
    log = read_log(COUNTERS)
    made = plan.make(trace.load(COUNTERS, trace.Choice(synthesise=True)), tmp_path / "s")
    kept = [
        one for one in log.files if one.module == "POSIX" and one.path == made.trace.files[0].path
    ]
    for way, calls, moved in ((READ, "READS", "BYTES_READ"), (WRITE, "WRITES", "BYTES_WRITTEN")):
        found = check.sums(made.trace, way)
        assert found.calls == sum(one.count(calls) for one in kept) > 0
        assert found.bytes == sum(one.count(moved) for one in kept)
    assert not made.undefined and made.notes[0].startswith("SYNTHESISED")
    assert schedule.read_header(tmp_path / "s")["source"].startswith("synthesised from counters: ")


def test_what_is_known_is_not_made_up() -> None:
    with pytest.raises(CannotReplayError, match="omit --synthesise"):
        trace.load(DATA / "mpich-collective-dxt" / "trace.darshan", trace.Choice(synthesise=True))
    with pytest.raises(CannotReplayError, match="--synthesise makes accesses up"):
        trace.load(COUNTERS)


def counted(processes: int, calls: int, seconds: float = 0.0, files: int = 1) -> Log:
    """Files of all processes, written by calls of 4 KiB."""
    values = {"WRITES": calls, "BYTES_WRITTEN": 4096 * calls, "F_WRITE_TIME": seconds}
    names = {i: f"/scratch/{i}" for i in range(files)}
    found = tuple(
        FileTrace("POSIX", name, {**values}, {4096: calls}, ()) for name in names.values()
    )
    log = Path("a.darshan")
    return Log(log, "x", processes, 0, 9, "app", (), (), {"POSIX": 4}, found, ids=names)


@given(st.integers(1, 40), st.integers(1, 30), st.floats(0, 1e4))
def test_processes_take_the_seconds_of_the_log_without_pauses(
    processes: int, each: int, seconds: float
) -> None:
    """Or its pauses, which are made up, would be phases, and would be repeated."""
    log = counted(processes, processes * each, seconds)
    took = 0.0
    for block in synthesise.blocks(log.path, log, log.ids.values()):
        start, end = block.segments["start"], block.segments["end"]
        assert (abs(start[1:] - end[:-1]) <= 1e-9 * end[:-1]).all()
        took += (end - start).sum()
    least = synthesise.CALL * processes * each
    assert took == pytest.approx(max(seconds, least), rel=1e-6)


@pytest.mark.parametrize(("calls", "files"), [(10**10, 1), (65536, 16)])
def test_too_much_to_be_made_up_is_refused_at_once(calls: int, files: int) -> None:
    """A log of a kilobyte can count more calls than any memory holds."""
    log = counted(65536, calls, files=files)
    with pytest.raises(AnalysisError, match=r"a\.darshan: \d+ calls.* with --only"):
        synthesise.blocks(log.path, log, log.ids.values())
    assert synthesise.blocks(log.path, log, []) == []
