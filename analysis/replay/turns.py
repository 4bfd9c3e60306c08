# SPDX-License-Identifier: BSD-3-Clause
"""Where every process changes from writing to reading, or back: there they synchronized."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST = 1000  # turns of a process; beyond that it reads and writes in one go
MOST_SHIFT = 0.1  # seconds between the clocks of two processes


@dataclass(frozen=True)
class Turns:
    """For each process and turn: when its last access before it ended, and its first one began."""

    ended: NDArray[np.float64]
    began: NDArray[np.float64]

    def at_once(self) -> NDArray[np.bool_]:
        """For each turn: had all ended before any began?"""
        found: NDArray[np.bool_] = self.ended.max(axis=0) <= self.began.min(axis=0)
        return found


def find(accesses: Sequence[NDArray[np.void]]) -> Turns | None:
    """Nothing for fewer than two processes, or if they do not turn equally often."""
    ended: list[NDArray[np.float64]] = []
    began: list[NDArray[np.float64]] = []
    first: set[int] = set()
    for rows in accesses:
        if not len(rows):
            continue
        at = np.flatnonzero(np.diff(rows["write"])) + 1
        first.add(int(rows["write"][0]))
        if not 0 < len(at) <= MOST or len(first) > 1 or (ended and len(at) != len(ended[0])):
            return None
        ended.append(np.maximum.accumulate(np.maximum(rows["end"], rows["done"]))[at - 1])
        began.append(rows["start"][at])
    return Turns(np.array(ended), np.array(began)) if len(ended) > 1 else None


def align(accesses: Sequence[NDArray[np.void]]) -> float:
    """For logs in which each process's clock begins at its start: if their turns seem to overlap,
    clocks are shifted so that the first turn ends for all at once. Returns the largest shift in
    seconds; 0 if nothing was shifted, or the turns then still overlap."""
    turns = find(accesses)
    if turns is None or turns.at_once().all():
        return 0.0
    shift = turns.began[:, 0].max() - turns.began[:, 0]
    moved = Turns(turns.ended + shift[:, None], turns.began + shift[:, None])
    if shift.max() > MOST_SHIFT or moved.at_once().sum() <= turns.at_once().sum():
        return 0.0
    for rows, by in zip((rows for rows in accesses if len(rows)), shift, strict=True):
        rows["start"] += by
        rows["end"] += by
    return float(shift.max())
