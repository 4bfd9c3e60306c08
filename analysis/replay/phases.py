# SPDX-License-Identifier: BSD-3-Clause
"""Phases of a trace: a pause of all processes counts as a synchronization. Between writing and
reading a shorter pause suffices, and none if every process changes direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import turns
from .trace import READ, WRITE, Trace

GAP = 0.01  # seconds
BETWEEN_DIRECTIONS = 0.1  # of the gap
MOST_HELD = 10**6  # stretches, before they become fewer


@dataclass(frozen=True)
class Phases:
    """`begins`: of each phase but the first. `pauses`: seconds before those in which no process was
    in a call. `within`: the longest pause inside a phase. `turned`: phases that begin where every
    process changes between writing and reading, however short the pause."""

    begins: NDArray[np.float64]
    pauses: NDArray[np.float64]
    within: float
    turned: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.begins) + 1

    def of(self, accesses: NDArray[np.void]) -> NDArray[np.int64]:
        early = accesses["early"] if "early" in (accesses.dtype.names or ()) else 0.0
        since = accesses["start"] - early
        return np.searchsorted(self.begins, since, side="right").astype(np.int64)

    def say(self, gap: float) -> list[str]:
        if not len(self.begins):
            return [f"inferred: one phase, as no pause of all processes has {gap:g} s"]
        said = []
        if self.turned.any():
            said.append(
                f"inferred: {int(self.turned.sum())} of {len(self)} phases begin where every "
                "process turns between writing and reading"
            )
        if not self.turned.all():
            shortest = float(self.pauses[~self.turned].min())
            said.append(
                f"inferred: {len(self)} phases, from pauses of all processes of {gap:g} s or more "
                f"({gap * BETWEEN_DIRECTIONS:g} s between writing and reading); the shortest has "
                f"{shortest:.4g} s, and is {shortest / self.within:.3g} times the longest inside a "
                f"phase, of {self.within:.4g} s at most"
            )
        return said


def find(trace: Trace, gap: float = GAP) -> Phases:
    """A common pause is a pause of each process: shorter ones are closed process by process, so
    that many accesses become few stretches of work."""
    short = gap * BETWEEN_DIRECTIONS
    none = np.empty(0)
    start, end = none, none
    held: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    count = 0
    for rank in range(trace.processes):
        held.append(stretches(*trace.held(rank), short))
        count += len(held[-1][0])
        if count > MOST_HELD or rank == trace.processes - 1:
            held.append((start, end))
            starts, ends = (np.concatenate(column) for column in zip(*held, strict=True))
            start, end = stretches(starts, ends, short)
            held.clear()
            count = 0
    pause = start[1:] - end[:-1]
    ways = np.zeros(len(start), np.uint8)
    for rows in trace.accesses:
        mine = np.searchsorted(start, rows["start"] - rows["early"], side="right") - 1
        for way in (READ, WRITE):
            ways[mine[rows["write"] == way]] |= 1 << way
    long = (pause >= gap) | ((ways[1:] & ways[:-1]) == 0)
    return _with_turns(trace, start[1:][long], pause[long], float(pause[~long].max(initial=short)))


def _with_turns(
    trace: Trace, begins: NDArray[np.float64], pauses: NDArray[np.float64], within: float
) -> Phases:
    found = turns.find(trace.accesses)
    if found is None:
        return Phases(begins, pauses, within, np.zeros(len(begins), bool))
    low, high = found.ended.max(axis=0), found.began.min(axis=0)
    known = np.searchsorted(begins, low, side="right") < np.searchsorted(begins, high, "right")
    new = (low <= high) & ~known
    all_begins = np.concatenate((begins, high[new]))
    order = np.argsort(all_begins, kind="stable")
    turned = np.arange(len(order)) >= len(begins)
    return Phases(
        all_begins[order], np.concatenate((pauses, (high - low)[new]))[order], within, turned[order]
    )


def stretches(
    start: NDArray[np.float64], end: NDArray[np.float64], pause: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where work goes on without a pause of that length."""
    if not len(start):
        return start, end
    order = np.argsort(start, kind="stable")
    start, last = start[order], np.maximum.accumulate(end[order])
    new = np.concatenate(([True], start[1:] - last[:-1] >= pause))
    return start[new], last[np.concatenate((new[1:], [True]))]
