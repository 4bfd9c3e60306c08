# SPDX-License-Identifier: BSD-3-Clause
"""Which accesses are ordered: by barriers and, above MPI-IO, by sync, open and close around them.

POSIX: a call's effect is visible to all once it returns, so a barrier between two calls orders
them. MPI-IO (MPI 4.1, 14.6.1): only if the first process synced or closed the file before it, and
the second synced or opened it after. If a trace has no barriers, pauses common to all processes
stand in, and the report says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..darshan.raw import (
    ATOMIC,
    CLOSE,
    HEARD,
    LOCK_READ,
    LOCK_WRITE,
    MEET,
    MESSAGE,
    OPEN,
    SENT,
    SYNC,
    UNLOCK,
)  # fmt: skip
from ..replay.phases import Phases
from .accesses import MPIIO, POSIX, Traced

Numbers = NDArray[np.int64]
MOST_CLOCKS = 50_000_000  # limit of the vector clocks' table
FREE, SHARED, ALONE = 0, 1, 2


@dataclass
class Order:
    """For each access, in stretches between its process's meetings: from which one it may take
    effect (`first`), and in which its effect is visible to all (`last`); the same counted in
    meetings of all processes (`epoch_first`, `epoch_last`); `lock`: FREE, SHARED or ALONE; `hold`:
    which holding of a lock; `atomic`. `sent`, `heard`: when its process first sent a message after
    its effect is visible, and last received one before it may take effect; None without messages.
    `unsure`: of those times. `known`: for each stretch of each process, how many stretches
    of each other process are over, and where its processes begin; None if only meetings of all
    count."""

    first: Numbers
    last: Numbers
    epoch_first: Numbers
    epoch_last: Numbers
    lock: NDArray[np.uint8]
    hold: Numbers
    atomic: NDArray[np.bool_]
    known: tuple[NDArray[np.int32], Numbers] | None = None
    sent: NDArray[np.float64] | None = None
    heard: NDArray[np.float64] | None = None
    unsure: float = 0.0

    def perhaps(self, a: Numbers, b: Numbers) -> NDArray[np.bool_]:
        """For each pair of accesses: may messages order it? The process of the one sent something
        after it, and then that of the other heard something before it."""
        if self.sent is None or self.heard is None:
            return np.zeros(len(a), bool)
        forth = self.sent[a] <= self.heard[b] + self.unsure
        return forth | (self.sent[b] <= self.heard[a] + self.unsure)

    def between(self, process: Numbers, a: Numbers, b: Numbers) -> NDArray[np.bool_]:
        """For each pair of accesses (indices): is it ordered, or locked?"""
        found = (self.epoch_last[a] < self.epoch_first[b]) | (
            self.epoch_last[b] < self.epoch_first[a]
        )
        alone = (self.lock[a] == ALONE) | (self.lock[b] == ALONE)
        found |= (self.lock[a] > FREE) & (self.lock[b] > FREE) & alone
        found |= self.atomic[a] & self.atomic[b]
        if self.known is not None:
            found |= self._knew(process, a, b) | self._knew(process, b, a)
        return found

    def _knew(self, process: Numbers, one: Numbers, other: Numbers) -> NDArray[np.bool_]:
        """Was `one` over for all processes before `other` began?"""
        assert self.known is not None
        table, begins = self.known
        row = begins[process[other]] + self.first[other]
        there = row < begins[process[other] + 1]
        over = table[np.where(there, row, 0), process[one]]
        answer: NDArray[np.bool_] = there & (over > self.last[one])
        return answer


def of_phases(traced: Traced, phases: Phases) -> Order:
    """Each phase ends before the next begins."""
    n = len(traced.accesses)
    phase = phases.of(traced.accesses)
    return Order(
        phase, phase, phase, phase, np.zeros(n, np.uint8), np.full(n, -1), np.zeros(n, bool)
    )


def of_events(traced: Traced) -> Order:
    """From the meetings, locks, opens, closes and syncs that the recorder logged."""
    assert traced.events is not None
    rows, n = traced.accesses, len(traced.accesses)
    first, last = np.zeros(n, np.int64), np.zeros(n, np.int64)
    order = Order(
        first, last, first.copy(), first.copy(), np.zeros(n, np.uint8), np.full(n, -1),
        np.zeros(n, bool),
    )  # fmt: skip
    for rank, events in enumerate(traced.events):
        mine = np.flatnonzero(rows["process"] == rank)
        met = events[events["kind"] == MEET]
        stretch = np.searchsorted(met["sequence"], rows["sequence"][mine])
        first[mine] = last[mine] = stretch
        for file in np.unique(rows["file"][mine]):
            of = mine[rows["file"][mine] == file]
            about = events[events["file"] == file]
            _flushes(order, of[rows["layer"][of] == MPIIO], about, met, rows)
            _locks(order, of[rows["layer"][of] == POSIX], about, rows)
        # The number of meetings of all processes before each stretch, and one more at the end.
        all_met = np.concatenate(([0], np.cumsum(met["a"] == 0)))
        all_met = np.append(all_met, all_met[-1] + 1)
        order.epoch_first[mine] = all_met[first[mine]]
        order.epoch_last[mine] = all_met[np.minimum(last[mine], len(all_met) - 1)]
    order.known = _who_knew(traced)
    if any((events["kind"] == MESSAGE).any() for events in traced.events):
        _messages(order, traced)
    return order


def _messages(order: Order, traced: Traced) -> None:
    """The nearest messages around each access. A meeting is both: it may be part of a chain."""
    assert traced.events is not None
    rows = traced.accesses
    order.unsure = np.inf if traced.unsure is None else traced.unsure
    order.sent, order.heard = np.full(len(rows), np.inf), np.full(len(rows), -np.inf)
    for rank, events in enumerate(traced.events):
        ways = np.where(events["kind"] == MESSAGE, events["a"], SENT | HEARD)
        ways[(events["kind"] != MESSAGE) & (events["kind"] != MEET)] = 0
        sent, heard = events[ways & SENT > 0], events[ways & HEARD > 0]
        mine = np.flatnonzero(rows["process"] == rank)
        for file in np.unique(rows["file"][mine]):
            of = mine[rows["file"][mine] == file]
            about = events[(events["file"] == file) & (events["module"] == MPIIO)]
            flush = about[np.isin(about["kind"], (OPEN, CLOSE, SYNC))]["sequence"].astype(np.int64)
            above = rows["layer"][of] == MPIIO
            sequence = rows["sequence"][of].astype(np.int64)
            after = np.searchsorted(flush, sequence)
            never = np.iinfo(np.int64).max
            visible = np.where(above, np.append(flush, never)[after], sequence)
            begins = np.where(above, np.append(-1, flush)[after], sequence)
            at = np.searchsorted(sent["sequence"], visible, side="right")
            order.sent[of] = np.append(sent["start"], np.inf)[at]
            at = np.searchsorted(heard["sequence"], begins)
            order.heard[of] = np.append(-np.inf, heard["end"])[at]


def _flushes(
    order: Order, mine: Numbers, about: NDArray[np.void], met: NDArray[np.void],
    rows: NDArray[np.void],
) -> None:  # fmt: skip
    """Extend accesses above MPI-IO to the surrounding syncs."""
    about = about[about["module"] == MPIIO]
    flush = about[np.isin(about["kind"], (OPEN, CLOSE, SYNC))]["sequence"].astype(np.int64)
    sequence = rows["sequence"][mine]
    after = np.searchsorted(flush, sequence)
    stretch = np.searchsorted(met["sequence"], flush)
    ends = np.append(stretch, len(met) + 1)  # never flushed: not before the end
    begins = np.concatenate(([0], stretch))
    order.last[mine] = ends[after]
    order.first[mine] = begins[after]
    atomic = about[about["kind"] == ATOMIC]
    on = np.concatenate(([0], atomic["a"]))
    order.atomic[mine] = on[np.searchsorted(atomic["sequence"], sequence)] != 0


def _locks(order: Order, mine: Numbers, about: NDArray[np.void], rows: NDArray[np.void]) -> None:
    """A process takes one lock of a file at a time, as ROMIO and OMPIO do."""
    locks = about[np.isin(about["kind"], (LOCK_READ, LOCK_WRITE, UNLOCK))]
    if not len(locks):
        return
    at = np.searchsorted(locks["sequence"], rows["sequence"][mine]) - 1
    mine, at = mine[at >= 0], at[at >= 0]
    kind, low, length = (locks[name][at] for name in ("kind", "a", "b"))
    end = rows["offset"][mine] + rows["length"][mine]
    held = (rows["offset"][mine] >= low) & ((length == 0) | (end <= low + length))
    held &= kind != UNLOCK
    order.lock[mine] = np.where(held, np.where(kind == LOCK_WRITE, ALONE, SHARED), FREE)
    order.hold[mine] = np.where(held, locks["sequence"][at], -1)


def _who_knew(traced: Traced) -> tuple[NDArray[np.int32], Numbers] | None:
    """Vector clocks, if subsets of the processes met too."""
    assert traced.events is not None
    met = [some[some["kind"] == MEET] for some in traced.events]
    if not any((some["a"] != 0).any() for some in met):
        return None
    n = len(met)
    if sum(len(some) + 1 for some in met) * n > MOST_CLOCKS:
        traced.said.append("meetings of parts of the processes are too many to be followed")
        return None
    groups = [some["a"].tolist() for some in met]
    members: dict[int, list[int]] = {}
    for rank, mine in enumerate(groups):
        for group in set(mine):
            members.setdefault(group, []).append(rank)
    known = [np.zeros((len(some) + 1, n), np.int32) for some in met]
    done, ready = [0] * n, set(range(n))
    while ready:
        rank = ready.pop()
        if done[rank] >= len(groups[rank]):
            continue
        group = groups[rank][done[rank]]
        some = members[group]
        if any(done[i] >= len(groups[i]) or groups[i][done[i]] != group for i in some):
            continue
        now = np.maximum.reduce([known[i][done[i]] for i in some])
        for i in some:
            now[i] = done[i] + 1
        for i in some:
            done[i] += 1
            known[i][done[i]] = now
        ready.update(some)
    begins = np.cumsum([0, *(len(some) for some in known)])
    return np.concatenate(known), begins
