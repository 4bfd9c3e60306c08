# SPDX-License-Identifier: BSD-3-Clause
"""Accesses that messages may order: made traces with sends, receives and barriers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.analysis.blame import accesses, order, races
from iogauge.analysis.blame.accesses import MPIIO, POSIX, READ, WRITE
from iogauge.analysis.darshan import raw
from iogauge.analysis.darshan.raw import (
    ATOMIC,
    CHANGED,
    HEARD,
    LOCK_WRITE,
    LOOKED,
    MEET,
    MESSAGE,
    RECEIVE,
    SEND,
    SENT,
    SYNC,
    UNLOCK,
)
from tests.analysis.blame.test_blame import Made, pairs

MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 2), st.integers(0, 3)),
        st.tuples(st.just("message"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.just("barrier"), st.just(0), st.just(0)),
    ),
    max_size=14,
)


@given(MOVES)
def test_messages_never_make_an_ordered_pair_a_race(
    moves: list[tuple[str, int, int]],
) -> None:
    """Of programs with messages: what is in order is no race, and what no message can order is
    one."""
    made = Made(3)
    clocks = [[0] * 3 for _ in range(3)]  # vector clocks, by process
    done: list[tuple[int, int, list[int]]] = []  # process, place, its clock
    messages = False
    for kind, one, other in moves:
        if kind == "write":
            made.access(one, WRITE, 10 * other, 10)
            clocks[one][one] += 1
            done.append((one, other, list(clocks[one])))
        elif kind == "barrier":
            made.barrier()
            top = [max(column) for column in zip(*clocks, strict=True)]
            clocks = [list(top) for _ in clocks]
        elif one != other:
            messages = True
            made.event(one, MESSAGE, SENT)
            made.event(other, MESSAGE, HEARD)
            clocks[other] = np.maximum(clocks[one], clocks[other]).tolist()
    if not made.rows:
        return
    found = made.blame()
    certain = {
        (min(int(a), int(b)), max(int(a), int(b)))
        for a, b in zip(found.certain.a, found.certain.b, strict=True)
    }
    for i, (p, place, before) in enumerate(done):
        for j in range(i + 1, len(done)):
            q, there, later = done[j]
            if p == q or place != there:
                continue
            in_order = later[p] >= before[p]
            assert not (in_order and (i, j) in certain)
            assert messages or in_order or (i, j) in certain


SENDS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 2), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("send"), st.integers(0, 2), st.integers(0, 2), st.integers(1, 2)),
        st.tuples(st.just("receive"), st.integers(0, 2), st.integers(0, 2), st.integers(1, 2)),
        st.tuples(st.just("barrier"), st.just(0), st.just(0), st.just(0)),
    ),
    max_size=24,
)


@given(SENDS)
def test_matched_messages_are_an_order_and_no_others_are(
    moves: list[tuple[str, int, int, int]],
) -> None:
    """Of each pair of processes and tag, messages arrive in order, late or at once."""
    made = Made(3)
    clocks = np.zeros((3, 3), int)
    passing: dict[tuple[int, int, int], list[np.ndarray]] = {}
    done: list[tuple[int, int, np.ndarray]] = []
    left = [(one, other, tag) for kind, one, other, tag in moves if kind == "send" and one != other]
    rest = [("receive", other, one, tag) for one, other, tag in left]  # what is left arrives last
    for kind, one, other, tag in [*moves, *rest]:
        if kind == "write":
            made.access(one, WRITE, 10 * other, 10)
            clocks[one, one] += 1
            done.append((one, other, clocks[one].copy()))
        elif kind == "barrier":
            made.barrier()
            clocks[:] = clocks.max(axis=0)
        elif kind == "send" and one != other:
            made.event(one, SEND, other, tag)
            passing.setdefault((one, other, tag), []).append(clocks[one].copy())
        elif kind == "receive" and passing.get((other, one, tag)):
            made.event(one, RECEIVE, other, tag)
            clocks[one] = np.maximum(clocks[one], passing[other, one, tag].pop(0))
    if not done:
        return
    racing = {
        (i, j)
        for i, (p, place, before) in enumerate(done)
        for j, (q, there, later) in enumerate(done)
        if i < j and p != q and place == there and later[p] < before[p]
    }
    found = made.blame()
    assert pairs(found) == racing
    assert len(found.certain) == len(racing)


def test_a_broadcast_orders_what_its_root_did() -> None:
    """And a reduction what all others did, whatever their number."""
    made = Made(3)
    first = made.access(0, WRITE, 0, 10)
    made.event(0, SEND, order.ANY, 7)
    for process in (1, 2):
        made.event(process, RECEIVE, 0, 7)
    second = made.access(1, WRITE, 0, 10)
    third = made.access(2, WRITE, 0, 10)
    made.event(1, SEND, 0, 8)
    made.event(2, SEND, 0, 8)
    made.event(0, RECEIVE, order.ANY, 8)
    made.access(0, WRITE, 0, 10)
    assert pairs(made.blame()) == {(second, third)} and first == 0


@pytest.mark.parametrize(("length", "racing"), [(10, False), (5, True)])
def test_one_posix_call_of_an_atomic_call_is_atomic(length: int, racing: bool) -> None:
    """The library makes each call of ten bytes as one, or as two."""
    made = Made(2)
    for process in range(2):
        made.event(process, ATOMIC, 1)
        made.access(process, WRITE, 0, 10, layer=MPIIO)
        for at in range(0, 10, length):
            made.access(process, WRITE, at, length)
    assert bool(len(made.blame().certain)) == racing


def test_a_receive_without_its_send_is_no_certain_race() -> None:
    made = Made(2)
    one = made.access(0, WRITE, 0, 10)
    made.event(0, MESSAGE, SENT)
    made.event(1, RECEIVE, 0, 7)
    other = made.access(1, WRITE, 0, 10)
    found = made.blame()
    assert pairs(found) == {(one, other)} and not len(found.certain)


def test_messages_order_mpi_io_only_between_syncs() -> None:
    """Sync, message, sync may be an order; a message alone is none."""
    for synced in (True, False):
        made = Made(2)
        one = made.access(0, WRITE, 0, 10, layer=MPIIO)
        if synced:
            made.event(0, SYNC)
        made.event(0, MESSAGE, SENT)
        made.event(1, MESSAGE, HEARD)
        if synced:
            made.event(1, SYNC)
        other = made.access(1, WRITE, 0, 10, layer=MPIIO)
        found = made.blame()
        assert pairs(found) == {(one, other)}
        assert (len(found.certain) == 0) == synced
        assert races.of_library(found) is (None if synced else False)


def test_nothing_comes_out_of_a_barrier_of_all_before_all_are_in_it() -> None:
    """The second process was in a call that may order while the first was on its way on: no order,
    however long that call took."""
    made = Made(2)
    one = made.access(0, WRITE, 0, 10)
    made.event(0, MEET, 0, 2)
    made.event(1, MESSAGE, HEARD)
    other = made.access(1, WRITE, 0, 10)
    made.event(1, MEET, 0, 2)
    found = made.blame()
    assert pairs(found) == {(one, other)} and len(found.certain) == 1


@pytest.mark.parametrize("other", [7, 8])
def test_a_path_that_another_process_waits_for_may_order(other: int) -> None:
    made = Made(2)
    one = made.access(0, WRITE, 0, 10)
    made.event(0, CHANGED, 0, 7)
    made.event(1, LOOKED, 0, other)
    second = made.access(1, WRITE, 0, 10)
    found = made.blame()
    assert pairs(found) == {(one, second)}
    assert bool(len(found.certain)) == (other == 8)


@pytest.mark.parametrize(("other", "unseen"), [(8, 0), (7, 1)])
def test_only_who_opens_the_same_file_may_hear(other: int, unseen: int) -> None:
    """Processes 0 and 1 open one file together, 2 and 3 another one, or the same. Between 0 and 2
    the first orders nothing, although each passed some message."""
    made = Made(4)
    made.access(0, WRITE, 0, 10)
    for process, file in enumerate((7, 7, other, other)):
        made.event(process, MESSAGE, SENT | HEARD, file)
    made.access(2, WRITE, 0, 10)
    found = made.blame()
    assert (len(found.races), len(found.races) - len(found.certain)) == (1, unseen)


@pytest.mark.parametrize(("reads", "certain"), [(False, 1), (True, 0)])
def test_a_locked_write_is_a_message_only_to_who_reads_it_with_a_lock(
    reads: bool, certain: int
) -> None:
    """ROMIO's data sieving writes with locks in each process: that orders nothing else."""
    made = Made(2)
    made.event(0, SEND, 1, 7)
    made.access(0, WRITE, 0, 10)
    for process in (0, 1):
        made.event(process, LOCK_WRITE, 500, 10, layer=POSIX)
        made.access(process, READ, 500, 10)
        if process == 0 or not reads:
            made.access(process, WRITE, 500, 10)
        made.event(process, UNLOCK, 500, 10, layer=POSIX)
    made.event(1, RECEIVE, 0, 7)
    made.access(1, WRITE, 0, 10)
    found = made.blame()
    assert pairs(found) == {(0, len(made.rows) - 1)}
    assert len(found.certain) == certain


def test_what_a_process_and_its_child_did_is_in_order_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each numbers its own calls from 0."""

    def traced(flags: int, reads: float, writes: float, event: float) -> raw.RawProcess:
        made = raw.RawProcess(0, 1, 7, 0, 10**18, 2.0, flags, "node", "test 1", "./program")
        way = [raw.SEGMENT.pack(0, 10, at, at + 0.01) for at in (reads, writes)]
        marks = (raw.MARK.pack(0, 0, 0), raw.MARK.pack(0, 1, 0))
        record = raw.RawRecord(77, "POSIX", "/fs/a", [], [], {}, {}, (way[0], way[1]), marks)
        made.records, made.calls = [record], ["call"]
        made.events = raw.EVENT.pack(0, SENT, 9, event, event + 0.01, 2, MESSAGE, 0)
        return made

    found = [traced(0, 0.1, 0.2, 0.25), traced(raw.FORKED, 0.3, 0.4, 0.05)]
    monkeypatch.setattr(raw, "read_folder", lambda _: found)
    made = accesses.of_recorder(tmp_path)
    assert made.events is not None
    acts = [
        (one["sequence"], one["start"]) for table in (made.accesses, *made.events) for one in table
    ]
    assert [at for _, at in sorted(acts)] == pytest.approx([0.05, 0.1, 0.2, 0.25, 0.3, 0.4])
    assert len({number for number, _ in acts}) == 6


def test_truncations_race_with_accesses_and_not_with_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def traced(rank: int, high: int) -> raw.RawProcess:
        made = raw.RawProcess(rank, 3, 7 + rank, 0, 10**18, 2.0, 0, "node", "test 1", "./program")
        ways, marks = (b"", raw.SEGMENT.pack(0, high, 0.1, 0.2)), (b"", raw.MARK.pack(0, 0, 0))
        made.calls = ["pwrite"]
        made.records = [raw.RawRecord(2**63 + 7, "POSIX", "/fs/a", [], [], {}, {}, ways, marks)]
        made.events = raw.EVENT.pack(2**63 + 7, 10, 0, 0.3, 0.4, 1, raw.CUT, 0) if rank else b""
        return made

    found = [traced(rank, high) for rank, high in enumerate((15, 5, 10))]
    monkeypatch.setattr(raw, "read_folder", lambda _: found)
    made = accesses.of_recorder(tmp_path)
    kept = races.judge(made, order.of_events(made))
    cut = [i for i in range(len(made.accesses)) if made.call(i) == "truncation"]
    with_cut = [pair for pair in zip(kept.races.a, kept.races.b, strict=True) if set(pair) & {*cut}]
    assert len(cut) == len(with_cut) == 2
    both = {(made.call(a), int(made.accesses["process"][b])) for a, b in with_cut}
    assert both == {("truncation", 0)}, "bytes 10 to 14 alone were both written and removed"
