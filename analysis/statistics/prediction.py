# SPDX-License-Identifier: BSD-3-Clause
"""A prediction interval of one more value, of logarithms: mean and standard deviation s of n
values, k = t(n - 1) * sqrt(1 + 1/n) (Hahn and Meeker, Statistical Intervals, 1991, section 4.7).
Correlated values are worth less than n (interval.py). The coverage is exact for lognormal noise;
docs/analysis.md has the simulated coverage for other kinds."""

import functools
import math
import statistics
from collections.abc import Sequence

import numpy as np

from .interval import effective

MIN_NIGHTS = 12
MIN_WORTH = 8.0  # effective number of nights
LEAST_SPREAD = 0.01  # between equal machines: runs that never differ prove nothing


def is_enough(nights: Sequence[float], r: float) -> bool:
    """Whether so many nights can predict the next. `r`: their lag-1 correlation."""
    return len(nights) >= MIN_NIGHTS and effective(len(nights), r) >= MIN_WORTH


def bounds(nights: Sequence[float], rate: float, r: float) -> dict[str, float]:
    """The median of the nights, and bounds that a job of a new night exceeds with chance `rate`."""
    logs = np.log(nights)
    n, worth = len(nights), effective(len(nights), r)
    # Correlated values underestimate the spread by this factor.
    seen = (n - n / worth) / (n - 1)
    spread = max(float(logs.std(ddof=1)) / math.sqrt(seen), LEAST_SPREAD)
    beyond = t_quantile(rate, int(worth) - 1) * math.sqrt(1 + 1 / worth) * spread
    middle = statistics.median(nights)
    low, high = (math.exp(float(logs.mean()) + sign * beyond) for sign in (-1, 1))
    return {"value": middle, "low": min(low, middle), "high": max(high, middle)}


@functools.cache
def t_quantile(tail: float, freedom: int) -> float:
    """The value that Student's t with `freedom` degrees of freedom exceeds with chance `tail`."""
    low, high = 0.0, 1.0
    while t_tail(high, freedom) > tail:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, freedom) > tail else (low, middle)
    return high


def t_tail(t: float, freedom: int) -> float:
    """The chance that Student's t exceeds `t` >= 0 (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(freedom))
    square = math.cos(angle) ** 2
    odd = freedom % 2
    k = np.arange(2 + odd, freedom - 1, 2)
    total = 1 + float(np.cumprod(square * (k - 1) / k).sum()) if freedom > 1 else 0.0
    if odd:
        total *= math.cos(angle)
    inside = math.sin(angle) * total
    if odd:
        inside = (angle + inside) * 2 / math.pi
    return (1 - inside) / 2
