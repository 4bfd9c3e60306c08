# SPDX-License-Identifier: BSD-3-Clause
"""Accesses that messages may order: made traces with sends, receives and barriers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from iogauge.analysis.blame import races
from iogauge.analysis.blame.accesses import MPIIO, WRITE
from iogauge.analysis.darshan.raw import HEARD, MESSAGE, SENT, SYNC
from tests.analysis.darshan.test_blame import Made, pairs

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
