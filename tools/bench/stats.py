# SPDX-License-Identifier: BSD-3-Clause
"""Ratios of paired measurements. A pair was run back to back, so what both met (another job, a
clock that changed) cancels in its ratio."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

COVERAGE = 0.90

SLOWER, FASTER, EQUAL, UNSURE = "slower", "faster", "equal", "too few pairs"


@dataclass(frozen=True)
class Ratio:
    """Ours over upstream's: the median of the pairs' ratios, and an interval for that median."""

    median: float
    low: float
    high: float
    pairs: int

    @property
    def verdict(self) -> str:
        """Where the interval lies; `equal` is "no difference seen in the noise"."""
        if enough(self.pairs) is None:
            return UNSURE
        if self.high < 1:
            return SLOWER
        return FASTER if self.low > 1 else EQUAL


def enough(pairs: int) -> int | None:
    """How many of the sorted ratios to leave out at each end, so that the rest still covers the
    true median with probability `COVERAGE`, whatever the distribution; None: too few for any."""
    outside, skip = 0.0, None
    for k in range(pairs // 2 + 1):
        outside += 2 * math.comb(pairs, k) / 2**pairs
        if outside > 1 - COVERAGE:
            break
        skip = k
    return skip


def ratio(ours: list[float], upstream: list[float]) -> Ratio:
    """Raises ValueError when the lists do not pair up or hold what is no bandwidth."""
    if len(ours) != len(upstream) or not ours:
        raise ValueError(f"{len(ours)} and {len(upstream)} measurements do not pair up")
    if not all(math.isfinite(value) and value > 0 for value in ours + upstream):
        raise ValueError(f"bandwidths must be positive: {ours}, {upstream}")
    ratios = sorted(a / b for a, b in zip(ours, upstream, strict=True))
    skip = enough(len(ratios)) or 0
    return Ratio(median(ratios), ratios[skip], ratios[-1 - skip], len(ratios))


def first_of_pair(pair: int) -> str:
    """Who runs first alternates, because the second run finds what the first left in the caches
    and in the allocator of the file system."""
    return "ours" if pair % 2 == 0 else "upstream"
