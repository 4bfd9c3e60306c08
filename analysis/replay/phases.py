# SPDX-License-Identifier: BSD-3-Clause
"""Phases of a trace: where no process is in a call for a while, all are taken to have met. Between
writing and reading a shorter while is enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .trace import Trace

GAP = 0.01  # seconds
BETWEEN_DIRECTIONS = 0.1  # of the gap


@dataclass(frozen=True)
class Phases:
    """`begins`: of each phase but the first. `pauses`: seconds before those, in which no process
    was in a call. `within`: the longest pause inside a phase."""

    begins: NDArray[np.float64]
    pauses: NDArray[np.float64]
    within: float

    def __len__(self) -> int:
        return len(self.begins) + 1

    def of(self, accesses: NDArray[np.void]) -> NDArray[np.int64]:
        return np.searchsorted(self.begins, accesses["start"], side="right").astype(np.int64)

    def say(self, gap: float) -> list[str]:
        if not len(self.begins):
            return [f"inferred: one phase, as no pause of all processes has {gap:g} s"]
        sure = float(self.pauses.min()) / self.within if self.within > 0 else float("inf")
        return [
            f"inferred: {len(self)} phases, from pauses of all processes of {gap:g} s or more "
            f"({gap * BETWEEN_DIRECTIONS:g} s between writing and reading); the shortest has "
            f"{self.pauses.min():.4g} s, {sure:.3g} times the longest inside a phase "
            f"({self.within:.4g} s)"
        ]


def find(trace: Trace, gap: float = GAP) -> Phases:
    starts, ends = [], []
    for rows in trace.accesses:
        if not len(rows):
            continue
        last = np.maximum.accumulate(rows["end"])
        first = np.concatenate(([True], rows["start"][1:] > last[:-1]))
        starts.append(rows["start"][first])
        ends.append(last[np.concatenate((first[1:], [True]))])
    start, end = np.concatenate(starts), np.concatenate(ends)
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    pause = start[1:] - end[:-1]
    group = np.concatenate(([0], np.flatnonzero(pause > 0) + 1))
    ways = np.zeros(len(group), np.uint8)
    for rows in trace.accesses:
        mine = np.searchsorted(start[group], rows["start"], side="right") - 1
        np.bitwise_or.at(ways, mine, np.left_shift(1, rows["write"]).astype(np.uint8))
    turns = np.zeros(len(pause), bool)
    turns[group[1:] - 1] = (ways[1:] & ways[:-1]) == 0
    long = (pause >= gap) | (turns & (pause >= gap * BETWEEN_DIRECTIONS))
    within = float(pause[~long].max(initial=0.0))
    return Phases(start[1:][long], pause[long], max(within, 0.0))
