# SPDX-License-Identifier: BSD-3-Clause
"""Finds a change of level in a series of measurements. Pure functions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

LEAST_DROP = 0.1  # relative to the level before; a smaller drop is no cliff


@dataclass(frozen=True)
class Drop:
    """The sizes (bytes) beside the drop, and the levels (geometric means) before and after it."""

    last: int
    first: int
    before: float
    after: float


def _spread(values: Sequence[float]) -> float:
    """Sum of squares of the distances to the mean."""
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)


def find_drop(sizes: Sequence[int], speeds: Sequence[float]) -> Drop | None:
    """The cut into two levels of at least two sizes that leaves the least spread of the logarithms,
    if the second level is lower by more than `LEAST_DROP` and by more than the levels' own spread;
    else None. `ValueError` unless `sizes` rise and `speeds`, as many, are positive."""
    if len(sizes) != len(speeds):
        raise ValueError(f"{len(sizes)} sizes and {len(speeds)} speeds")
    if any(b <= a for a, b in pairwise(sizes)):
        raise ValueError(f"sizes do not rise: {list(sizes)}")
    if any(speed <= 0 for speed in speeds):
        raise ValueError(f"a speed is not above 0: {list(speeds)}")
    if len(sizes) < 4:
        return None
    logs = [math.log(speed) for speed in speeds]
    cut = min(range(2, len(logs) - 1), key=lambda at: _spread(logs[:at]) + _spread(logs[at:]))
    before, after = fmean(logs[:cut]), fmean(logs[cut:])
    left_over = _spread(logs[:cut]) + _spread(logs[cut:])
    deviation = math.sqrt(left_over / max(1, len(logs) - 2))
    if before - after <= max(-math.log(1 - LEAST_DROP), 2 * deviation):
        return None
    return Drop(sizes[cut - 1], sizes[cut], math.exp(before), math.exp(after))
