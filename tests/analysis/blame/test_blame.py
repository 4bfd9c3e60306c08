# SPDX-License-Identifier: BSD-3-Clause
"""Who raced: made traces with planted races and accesses in order, against a brute force."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iogauge.analysis.blame import clock, order, races, sweep
from iogauge.analysis.blame.accesses import ACCESS, MPIIO, POSIX, READ, TRUNCATION, WRITE, Traced
from iogauge.analysis.darshan.convert import write_log
from iogauge.analysis.darshan.dxt import SEGMENT
from iogauge.analysis.darshan.raw import (
    CLOSE,
    EVENT,
    LOCK_WRITE,
    MEET,
    MESSAGE,
    OPEN,
    RECEIVE,
    SEND,
    SYNC,
    UNLOCK,
    VIEW,
    RawProcess,
    RawView,
)  # fmt: skip
from iogauge.analysis.darshan.views import places
from iogauge.analysis.pages import blame_text
from iogauge.cli.main import main
from tests import sizes

FILES = ["/fs/a", "/fs/b"]
EVENT_FIELDS = [
    ("file", "<i8"), ("a", "<i8"), ("b", "<i8"), ("start", "<f8"), ("end", "<f8"),
    ("sequence", "<u4"), ("kind", "<u2"), ("module", "<u2"),
]  # fmt: skip


class Made:
    """A trace, act by act: each takes a millisecond of its process."""

    def __init__(self, processes: int) -> None:
        self.rows: list[tuple[float, ...]] = []
        self.events: list[list[tuple[float, ...]]] = [[] for _ in range(processes)]
        self.hosts = ["one"] * processes
        self.count = [0] * processes
        self.now = 0.0

    def access(
        self, process: int, write: int, offset: int, length: int, *, layer: int = POSIX,
        file: int = 0, at: float | None = None, seconds: float = 0.0005,
    ) -> int:  # fmt: skip
        start = self._next(at)
        sequence = self._sequence(process)
        self.rows.append(
            (file, process, layer, write, 0, sequence, sequence, offset, length, start,
             start + seconds)
        )  # fmt: skip
        return len(self.rows) - 1

    def event(
        self, process: int, kind: int, a: int = 0, b: int = 0, *, file: int = 0, layer: int = MPIIO
    ) -> None:
        start = self._next(None)
        file = -1 if kind in (MEET, MESSAGE, SEND, RECEIVE) else file
        row = (file, a, b, start, start + 0.0005, self._sequence(process), kind, layer)
        self.events[process].append(row)

    def barrier(self, *processes: int) -> None:
        """Of all, or of some."""
        some = processes or tuple(range(len(self.hosts)))
        name = 0 if len(some) == len(self.hosts) else sum(1 << i for i in some)
        for process in some:
            self.event(process, MEET, name, len(some))

    def traced(self) -> Traced:
        events = [np.array(some, EVENT_FIELDS) for some in self.events]
        rows = np.array(self.rows, ACCESS) if self.rows else np.empty(0, ACCESS)
        return Traced(Path("made"), FILES, ["call"], self.hosts, rows, events)

    def blame(self) -> races.Blame:
        traced = self.traced()
        return races.judge(traced, order.of_events(traced))

    def _next(self, at: float | None) -> float:
        self.now += 0.001
        return self.now if at is None else at

    def _sequence(self, process: int) -> int:
        self.count[process] += 1
        return self.count[process] - 1


def pairs(found: races.Blame) -> set[tuple[int, int]]:
    both = zip(found.races.a.tolist(), found.races.b.tolist(), strict=True)
    return {(min(pair), max(pair)) for pair in both}


def in_order(traced: Traced) -> list[set[int]]:
    """Of each access those that come after it: Lamport's definition, act by act."""
    assert traced.events is not None
    acts: list[list[tuple[int, int]]] = [[] for _ in traced.hosts]  # sequence, access or -1
    nodes: dict[tuple[int, int, int], int] = {}
    for i, row in enumerate(traced.accesses):
        acts[row["process"]].append((int(row["sequence"]), i))
    n = len(traced.accesses)
    after: dict[int, set[int]] = {}
    for rank, events in enumerate(traced.events):
        seen: dict[int, int] = {}
        for event in events:
            group = int(event["a"])
            key = (group, seen.get(group, 0), 0)
            seen[group] = seen.get(group, 0) + 1
            nodes.setdefault(key, n + len(nodes))
            acts[rank].append((int(event["sequence"]), nodes[key]))
    for mine in acts:
        line = [node for _, node in sorted(mine)]
        for one, two in pairwise(line):
            after.setdefault(one, set()).add(two)
    found = []
    for i in range(n):
        reached, todo = set(), [i]
        while todo:
            for node in after.get(todo.pop(), ()):
                if node not in reached:
                    reached.add(node)
                    todo.append(node)
        found.append(reached)
    return found


def brute(traced: Traced) -> set[tuple[int, int]]:
    rows, later = traced.accesses, in_order(traced)
    found = set()
    for a in range(len(rows)):
        for b in range(a + 1, len(rows)):
            one, two = rows[a], rows[b]
            meets = one["file"] == two["file"] and one["process"] != two["process"]
            low = max(one["offset"], two["offset"])
            high = min(one["offset"] + one["length"], two["offset"] + two["length"])
            if not meets or low >= high or not (one["write"] or two["write"]):
                continue
            if b not in later[a] and a not in later[b]:
                found.add((a, b))
    return found


ACTS = st.lists(
    st.one_of(
        st.tuples(
            st.just("access"), st.integers(0, 3), st.integers(0, 1), st.integers(0, 12),
            st.integers(0, 6), st.integers(0, 1),
        ),
        st.tuples(st.just("barrier"), st.sampled_from([(), (0, 1), (1, 2, 3), (0, 3)])),
    ),
    max_size=30,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(ACTS)
def test_the_sweep_finds_what_a_brute_force_finds(acts: list[tuple[object, ...]]) -> None:
    made = Made(4)
    for what, *rest in acts:
        if what == "barrier":
            made.barrier(*rest[0])  # type: ignore[misc]
        else:
            process, write, offset, length, file = rest
            made.access(process, write, offset, length, file=file)  # type: ignore[arg-type]
    traced = made.traced()
    found = sweep.pairs(traced, order.of_events(traced))
    assert found.whole
    assert set(zip(found.a.tolist(), found.b.tolist(), strict=True)) == brute(traced)


def test_a_read_modify_write_that_covered_another_process_is_named() -> None:
    made = Made(2)
    read = made.access(0, READ, 100, 200)
    other = made.access(1, WRITE, 150, 10)
    back = made.access(0, WRITE, 100, 200)
    found = made.blame()
    (kind,) = found.races.kind
    assert kind == races.COVERED
    assert (found.races.a[0], found.races.b[0], found.races.read[0]) == (back, other, read)
    assert (found.races.low[0], found.races.high[0]) == (150, 160)
    assert ") covered what process 1" in blame_text.sentence(found, found.races, 0)


def test_a_short_read_at_the_end_of_the_file_had_none_of_the_other_bytes() -> None:
    """Though the other's write and the read met in time."""
    made = Made(2)
    made.access(0, READ, 100, 0, at=1.0, seconds=0.002)
    made.access(1, WRITE, 150, 10, at=1.001, seconds=0.002)
    made.access(0, WRITE, 100, 200, at=1.004)
    assert made.blame().races.kind.tolist() == [races.COVERED]


def test_a_read_modify_write_that_met_in_time_may_have_covered() -> None:
    made = Made(2)
    made.access(0, READ, 100, 200, at=1.0, seconds=0.002)
    made.access(1, WRITE, 150, 10, at=1.001, seconds=0.002)
    made.access(0, WRITE, 100, 200, at=1.004)
    found = made.blame()
    assert found.races.kind.tolist() == [races.MAY_COVER]
    assert ") may have covered what process 1" in blame_text.sentence(found, found.races, 0)


@pytest.mark.parametrize(
    ("hosts", "unsure", "kind"),
    [
        ("aa", 0.01, races.ESCAPED),
        ("ab", 0.0, races.ESCAPED),
        ("ab", 0.01, races.MAY_COVER),
        ("ab", None, races.MAY_COVER),
    ],
)
@pytest.mark.parametrize("other", [0.992, 1.008])
def test_clocks_of_two_nodes_leave_open_whether_accesses_met(
    hosts: str, unsure: float | None, kind: int, other: float
) -> None:
    """The other's write ended 4 ms before the read began, or began 4 ms after the write ended."""
    made = Made(2)
    made.hosts = list(hosts)
    made.access(0, READ, 100, 200, at=1.0, seconds=0.001)
    made.access(0, WRITE, 100, 200, at=1.002, seconds=0.002)
    made.access(1, WRITE, 150, 10, at=other, seconds=0.004)
    traced = made.traced()
    traced.unsure = unsure
    assert races.judge(traced, order.of_events(traced)).races.kind.tolist() == [kind]


def test_a_read_modify_write_before_or_after_escaped_by_chance() -> None:
    made = Made(2)
    made.access(0, READ, 100, 200)
    made.access(0, WRITE, 100, 200)
    made.access(1, WRITE, 150, 10)
    assert made.blame().races.kind.tolist() == [races.ESCAPED]


def test_a_lock_of_other_bytes_orders_nothing() -> None:
    made = Made(2)
    for process in (0, 1):
        made.event(process, LOCK_WRITE, 500, 10, layer=POSIX)
        made.access(process, WRITE, 100, 10)
        made.event(process, UNLOCK, 500, 10, layer=POSIX)
    assert made.blame().races.kind.tolist() == [races.OVERWROTE]


@pytest.mark.parametrize("missing", [None, SYNC, MEET, OPEN])
def test_mpi_io_needs_sync_barrier_sync(missing: int | None) -> None:
    """Any one left out, and the two calls race; POSIX needs the barrier alone."""
    made = Made(2)
    for process in (0, 1):
        made.event(process, OPEN)
    made.access(0, WRITE, 0, 10, layer=MPIIO)
    if missing != SYNC:
        made.event(0, SYNC)
    if missing != MEET:
        made.barrier()
    if missing != OPEN:
        made.event(1, SYNC)
    made.access(1, READ, 5, 10, layer=MPIIO)
    assert len(made.blame().races) == (0 if missing is None else 1)


def test_closing_and_opening_anew_order_too() -> None:
    made = Made(2)
    for process in (0, 1):
        made.event(process, OPEN)
        made.access(process, WRITE, 10 * process, 10, layer=MPIIO)
        made.event(process, CLOSE)
    made.barrier()
    for process in (0, 1):
        made.event(process, OPEN)
        made.access(process, READ, 10 - 10 * process, 10, layer=MPIIO)
    assert not len(made.blame().races)


def test_whose_fault_it_is() -> None:
    """Races below calls that are in order are the library's."""
    made = Made(2)
    for process in (0, 1):
        made.access(process, WRITE, 10 * process, 10, layer=MPIIO)
    made.access(0, READ, 0, 20)
    made.access(1, WRITE, 10, 10)
    made.access(0, WRITE, 0, 20)
    assert races.of_library(made.blame()) is True
    made.access(1, WRITE, 0, 1, layer=MPIIO)
    assert races.of_library(made.blame()) is False


def test_the_clocks_of_two_nodes_are_put_on_one() -> None:
    """The second node's clock is 5 s ahead; barriers of 1 ms bound it."""
    made = Made(2)
    made.hosts = ["one", "two"]
    made.access(1, WRITE, 0, 1, at=7.0)
    traced = made.traced()
    for rank, ahead in ((0, 0.0), (1, 5.0)):
        rows = [(-1, 0, 2, t + ahead, t + ahead + 0.001, i, MEET, 1) for i, t in enumerate((1, 2))]
        assert traced.events is not None
        traced.events[rank] = np.array(rows, EVENT_FIELDS)
    clock.share(traced)
    assert traced.accesses["start"][0] == pytest.approx(2.0, abs=0.001)
    assert traced.unsure == pytest.approx(0.001)
    assert "within 0.001000 s" in traced.notes[0]


def test_a_view_says_which_bytes_a_call_moves() -> None:
    """Two of each ten bytes, from byte 100 on, in elements of 2."""
    process = RawProcess(0, 1, 1, 1, 0, 1.0, 1, "one", "r", "c")
    process.views = [RawView(100, 10, 4, 2, ((0, 2), (6, 2)))]
    process.events = EVENT.pack(7, 0, 0, 0.1, 0.2, 0, VIEW, 1)
    rows = np.zeros(2, ACCESS)
    rows["length"], rows["sequence"] = 6, (1, 2)
    at = np.array([1, -1])
    found, said = places(rows, at, process, 7)
    assert found["offset"].tolist() == [106, 110, 116]
    assert found["length"].tolist() == [2, 2, 2]
    assert "1 MPI-IO calls of process 0 are left out" in said[0]


Access = tuple[int, int, int, int, float]  # process, write, offset, length, start


def write_made(log: Path, accesses: Sequence[Access]) -> None:
    """A log of these accesses, of 0.1 ms each, to one file."""
    made = []
    for rank in range(max(access[0] for access in accesses) + 1):
        packed = [b"", b""]
        for of, write, offset, length, start in accesses:
            if of == rank:
                packed[write] += np.array(
                    [(offset, length, start, start + 1e-4)], SEGMENT
                ).tobytes()
        one = sizes.process(rank, 2, 0)
        one.records = [replace(record, segments=(packed[0], packed[1])) for record in one.records]
        made.append(one)
    write_log(made, log)


def test_a_log_has_only_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Overlapping writes in one phase are a race, as far as times tell; in two they are not."""
    log = tmp_path / "made.darshan"
    write_made(log, [(0, WRITE, 0, 100, 0.0), (1, WRITE, 50, 100, 0.001), (1, WRITE, 0, 9, 5.0)])
    assert main(["blame", str(log), "--json"]) == 1
    (race,) = json.loads(capsys.readouterr().out)
    assert (race["low"], race["high"], race["kind"]) == (50, 100, "overwrote")
    assert main(["blame", str(log), "--file", "shared.bin", "--byte", "60"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "byte 60 of /scratch/made-up/shared.bin" in said
    assert "from time alone" in said
    for byte, count in (("60", 1), ("120", 0)):
        assert main(["blame", str(log), "--file", "shared.bin", "--byte", byte, "--json"]) == 1
        assert len(json.loads(capsys.readouterr().out)) == count
    assert main(["blame", str(log), "--file", "none", "--byte", "3", "--csv"]) == 3


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "first"), (1, "second"), (-1, "a call"), (TRUNCATION, "truncation")],
)
def test_a_call_is_named_where_it_is_known(number: int, said: str) -> None:
    rows: Any = {"call": [5, number]}
    traced = Traced(Path(), [], ["first", "second"], [], rows, None)
    blame: Any = SimpleNamespace(traced=traced)
    assert blame_text.call(blame, 1) == said
