# SPDX-License-Identifier: BSD-3-Clause
"""Phases of a trace: they begin at barriers, and where all processes pause. Between writing and
reading a shorter pause suffices, and none if every process changes direction."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iogauge.common.text import duration

from . import turns
from .extents import union
from .trace import READ, WRITE, Trace

GAP = 0.01  # seconds
BETWEEN_DIRECTIONS = 0.1  # of the gap
MOST_HELD = 10**6  # stretches, before they become fewer
PAUSE, TURN, BARRIER = range(3)  # where a phase begins


@dataclass(frozen=True)
class Phases:
    """`begins`: of each phase but the first. `pauses`: seconds before those in which no process was
    in a call. `within`: the longest pause inside a phase. `where`: each begins (PAUSE, TURN,
    BARRIER)."""

    begins: NDArray[np.float64]
    pauses: NDArray[np.float64]
    within: float
    where: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.begins) + 1

    def of(self, accesses: NDArray[np.void]) -> NDArray[np.int64]:
        early = accesses["early"] if "early" in (accesses.dtype.names or ()) else 0.0
        since = accesses["start"] - early
        return np.searchsorted(self.begins, since, side="right").astype(np.int64)

    def lasting(self, rows: NDArray[np.void]) -> NDArray[np.int64]:
        """The number of phases besides its own that each access spans, until it is waited for."""
        more = np.searchsorted(self.begins, rows["done"]) - self.of(rows)
        return more.clip(min=0).astype(np.int64)

    def with_(self, ended: NDArray[np.float64], began: NDArray[np.float64], where: int) -> "Phases":
        """Add a phase wherever all calls of one turn had ended before the next turn began."""
        known = np.searchsorted(self.begins, ended, "right") < np.searchsorted(
            self.begins, began, "right"
        )
        new = (ended <= began) & ~known
        began, first = np.unique(began[new], return_index=True)
        pauses = np.concatenate((self.pauses, began - ended[new][first]))
        begins = np.concatenate((self.begins, began))
        all_where = np.concatenate((self.where, np.full(len(began), where, np.uint8)))
        order = np.argsort(begins, kind="stable")
        return Phases(begins[order], pauses[order], self.within, all_where[order])

    def notes(self, gap: float) -> list[str]:
        if not len(self.begins):
            return [f"inferred: one phase, as the processes never all paused for {gap:g} s"]
        notes = []
        if count := int((self.where == BARRIER).sum()):
            notes.append(f"{count} of {len(self)} phases begin at barriers")
        if count := int((self.where == TURN).sum()):
            turn = "every process turns between writing and reading"
            notes.append(f"inferred: {count} of {len(self)} phases begin where {turn}")
        paused = self.pauses[self.where == PAUSE]
        if len(paused):
            notes.append(
                f"inferred: {len(paused)} of {len(self)} phases begin after pauses of all "
                f"processes of {gap:g} s or more ({gap * BETWEEN_DIRECTIONS:g} s between writing "
                f"and reading); the shortest has {duration(paused.min())}, and is "
                f"{paused.min() / self.within:.3g} times the longest inside a phase, of "
                f"{duration(self.within)} at most"
            )
        return notes


def find(trace: Trace, gap: float = GAP) -> Phases:
    """A common pause is one of each process: shorter ones are closed process by process."""
    short = gap * BETWEEN_DIRECTIONS
    none = np.empty(0)
    start, end = none, none
    held: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    count = 0
    for rank in range(trace.processes):
        held.append(union(*trace.held(rank), gap=short))
        count += len(held[-1][0])
        if count > MOST_HELD or rank == trace.processes - 1:
            held.append((start, end))
            starts, ends = (np.concatenate(column) for column in zip(*held, strict=True))
            start, end = union(starts, ends, gap=short)
            held.clear()
            count = 0
    pause = start[1:] - end[:-1]
    directions = np.zeros(len(start), np.uint8)
    for rows in trace.accesses:
        mine = np.searchsorted(start, rows["start"] - rows["early"], side="right") - 1
        for direction in (READ, WRITE):
            directions[mine[rows["write"] == direction]] |= 1 << direction
    long = (pause >= gap) | ((directions[1:] & directions[:-1]) == 0)
    within = float(pause[~long].max(initial=short))
    none_yet = Phases(none, none, within, np.empty(0, np.uint8))
    found = none_yet.with_(start[1:][long] - pause[long], start[1:][long], PAUSE)
    turned = turns.find(trace.accesses)
    if turned is not None:
        found = found.with_(turned.ended.max(axis=0), turned.began.min(axis=0), TURN)
    return found.with_(*_around(trace), BARRIER)


def _around(trace: Trace) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The last call before each barrier ended, and the first after it began."""
    at = np.unique(trace.meetings)
    before, after = np.full(len(at), -np.inf), np.full(len(at), np.inf)
    for rank in range(trace.processes if len(at) else 0):
        start, end = union(*trace.held(rank), gap=0.0)
        k = np.searchsorted(start, at, side="right")
        before = np.maximum(before, np.append(-np.inf, end)[k])
        after = np.minimum(after, np.append(start, np.inf)[k])
    kept = (before > -np.inf) & (after < np.inf) & (before <= at)
    return before[kept], after[kept]
