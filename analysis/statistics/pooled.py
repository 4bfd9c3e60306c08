# SPDX-License-Identifier: BSD-3-Clause
"""What B is to A over all cases together.

In pairs whose order was drawn, any difference could as well have had the other sign, whatever the
noise: the signed ranks of one difference for each case give the typical ratio, its interval and its
chance. Where sides have separate sessions a session is one sample: the median of how far its
cases are from their middle.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import exact
from .interval import JOBS, LEVEL, PAIRS, Interval, Kind, correlation, effective, of_ratios, of_two

Speeds = Mapping[Any, float]  # by round or session
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Pooled:
    """`p`: the chance of a ratio at most as low as this if nothing differs. `cases`: how many."""

    interval: Interval
    p: float
    cases: int


def of_pairs(cases: Sequence[Speeds], level: float = LEVEL) -> Pooled:
    """From the logarithms of B over A by round, of each case. A case is a sample; of fewer than
    PAIRS cases, a pair is."""
    middles = [statistics.median(case.values()) for case in cases]
    pairs = [value for case in cases for value in case.values()]
    kind: Kind = "cases" if len(cases) >= PAIRS else "pairs"
    logs = middles if kind == "cases" else pairs
    ratios = [math.exp(value) for value in logs]
    interval = of_ratios(ratios, kind, level, alike=False)
    return Pooled(interval, exact.signed(logs) if len(logs) >= PAIRS else 1.0, len(cases))


def of_sessions(cases: Sequence[tuple[Speeds, Speeds]]) -> Pooled | None:
    """From speeds of A and of B by session, oldest first, of each case."""
    sides: tuple[dict[Any, list[float]], ...] = ({}, {})
    for both in cases:
        middle = statistics.mean(statistics.median(map(math.log, of.values())) for of in both)
        for side, of in zip(sides, both, strict=True):
            for session, speed in of.items():
                side.setdefault(session, []).append(math.log(speed) - middle)
    base, new = ([statistics.median(values) for values in side.values()] for side in sides)
    if not base or not new:
        return None
    r = max(0.0, (correlation(np.array(base)) + correlation(np.array(new))) / 2)
    interval = of_two([math.exp(v) for v in base], [math.exp(v) for v in new], r=r)
    if min(len(base), len(new)) < JOBS:
        return Pooled(interval, 1.0, len(cases))
    return Pooled(interval, rank_test(base, new, r), len(cases))


def rank_test(base: Sequence[float], new: Sequence[float], r: float = 0.0) -> float:
    """The chance, over all ways to deal the values to both sides, that as few values of `new` as
    here, or fewer, are above values of `base`, for their effective numbers. Ties count as above:
    never for an alarm."""
    ordered = np.sort(base)
    above = int(np.searchsorted(ordered, np.asarray(new), side="right").sum())
    n, m = (int(effective(len(side), r) + _ROUNDING) for side in (base, new))
    share = above / (len(base) * len(new))
    return exact.above(math.ceil(share * n * m - _ROUNDING), n, m)
