# SPDX-License-Identifier: BSD-3-Clause
"""Which bytes a process has locked: made traces against a table of single bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.analysis.blame import order
from iogauge.analysis.blame.accesses import POSIX, READ, WRITE
from iogauge.analysis.blame.order import ALONE, FREE, SHARED
from iogauge.analysis.darshan.raw import LOCK_READ, LOCK_WRITE, UNLOCK
from tests.analysis.blame.test_blame import Made

SIZE = 12  # bytes of the file; a lock to its end has length 0, one by flock() length -1
ranges = st.tuples(st.integers(0, SIZE - 1), st.integers(1, SIZE)).map(
    lambda pair: (pair[0], min(pair[1], SIZE - pair[0]))
)
locks = st.one_of(ranges, ranges.map(lambda pair: (pair[0], 0)), st.just((0, -1)))
moves = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([LOCK_READ, LOCK_WRITE, UNLOCK]), locks),
        st.tuples(st.none(), ranges),
    ),
    max_size=14,
)


@given(moves, st.booleans())
def test_locks_are_of_bytes(some: list[tuple[int | None, tuple[int, int]]], other: bool) -> None:
    """Each lock replaces what its process held of these bytes. `other`: the accesses are to another
    file, which only a lock of all bytes for one process guards."""
    made = Made(1)
    held = {False: np.full(SIZE, FREE), True: np.full(SIZE, FREE)}  # by flock()?
    wanted, guards = [], []
    for kind, (low, length) in some:
        if kind is None:
            made.access(0, READ, low, length, file=int(other))
            by = [how[low : low + length] for how in held.values()]
            ways = [int(how.min()) + 2 * i for i, how in enumerate(by) if how.min() > FREE]
            wanted.append(ways[0] if ways and not other else FREE)
            whole = [i for i, how in held.items() if other and how.min() == ALONE]
            guards.append(int(whole[0]) if whole else -1)
            continue
        made.event(0, kind, low, length, layer=POSIX)
        how = {UNLOCK: FREE, LOCK_READ: SHARED, LOCK_WRITE: ALONE}[kind]
        held[length < 0][low : low + length if length > 0 else SIZE] = how
    traced = made.traced()
    found = order.of_events(traced)
    assert found.lock.tolist() == wanted
    if not any(length > 0 and low + length == SIZE for _, (low, length) in some):
        assert found.guard.tolist() == guards


@pytest.mark.parametrize(
    ("events", "races"),
    [
        ([(LOCK_WRITE, 0, 2000), (UNLOCK, 1500, 500)], 0),
        ([(LOCK_WRITE, 0, 1500), (LOCK_WRITE, 1500, 500)], 0),
        ([(LOCK_WRITE, 0, 700), (LOCK_WRITE, 700, 0)], 0),
        ([(LOCK_WRITE, 0, 2000), (UNLOCK, 600, 10)], 1),
        ([(LOCK_WRITE, 0, 2000), (LOCK_READ, 0, 2000)], 1),
        ([(LOCK_WRITE, 0, -1), (UNLOCK, 0, 100)], 0),
        ([(LOCK_WRITE, 0, -1), (UNLOCK, 0, 0)], 0),
        ([(LOCK_WRITE, 0, -1), (UNLOCK, 0, -1)], 1),
    ],
)
def test_two_processes_with_several_ranges(events: list[tuple[int, int, int]], races: int) -> None:
    made = Made(2)
    for process in (0, 1):
        for kind, low, length in events:
            made.event(process, kind, low, length, layer=POSIX)
        made.access(process, WRITE, 500 * process, 1000)
        for length in (0, -1):
            made.event(process, UNLOCK, 0, length, layer=POSIX)
    assert len(made.blame().races) == races


@pytest.mark.parametrize("between", [[], [(LOCK_WRITE, 50, 10)], [(UNLOCK, 50, 10)]])
def test_a_lock_lasts_while_another_range_is_locked(between: list[tuple[int, int, int]]) -> None:
    """So its read-modify-write covers nobody's bytes."""
    made = Made(1)
    made.event(0, LOCK_WRITE, 0, 60, layer=POSIX)
    made.access(0, READ, 0, 20)
    for kind, low, length in between:
        made.event(0, kind, low, length, layer=POSIX)
    made.access(0, WRITE, 0, 20)
    hold = order.of_events(made.traced()).hold.tolist()
    assert hold == [0, 0]


def test_a_lock_over_read_and_write_orders_them() -> None:
    made = Made(2)
    for process, lock in ((0, (100, 200)), (1, (150, 10))):
        made.event(process, LOCK_WRITE, *lock, layer=POSIX)
        if process == 0:
            made.access(0, READ, 100, 200)
        made.access(process, WRITE, *lock)
        made.event(process, UNLOCK, *lock, layer=POSIX)
    assert not len(made.blame().races)


@pytest.mark.parametrize(
    ("reader", "writer", "races_found"),
    [(LOCK_READ, LOCK_WRITE, 0), (LOCK_WRITE, LOCK_READ, 0), (LOCK_READ, LOCK_READ, 1)],
)
def test_locks_order_unless_both_are_shared(reader: int, writer: int, races_found: int) -> None:
    made = Made(2)
    for process, (lock, kind) in enumerate(((reader, READ), (writer, WRITE))):
        made.event(process, lock, 100, 10, layer=POSIX)
        made.access(process, kind, 100, 10)
        made.event(process, UNLOCK, 100, 10, layer=POSIX)
    assert len(made.blame().races) == races_found
