# SPDX-License-Identifier: BSD-3-Clause
"""Ratios of medians with bootstrap intervals, and their verdict.

The percentile bootstrap (Efron and Tibshirani 1993), smoothed: resamples come from the line through
the sorted values, not from the values alone, for the median of few repeats takes too few different
values. The median of such a resample is drawn directly: the middle one of n sorted uniforms has a
beta distribution, and says where on the line to look. So a draw costs the same for any n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Verdict = Literal["faster", "slower", "no difference seen", "too few samples"]

CONFIDENCE = 0.95
DRAWS = 4000
# With fewer, the 95 % interval covers less than 93 % (tests/test_analysis_interval.py).
MIN_SAMPLES = 6
# By how much the line through the values is stretched, for the interval of one median and of the
# ratio of two. With these values the 95 % interval covers the truth in 95 % of simulations.
ONE_MEDIAN, TWO_MEDIANS = 1.0, -0.6
SEED = 20111121  # the same data give the same interval


@dataclass(frozen=True)
class Ratio:
    """New over base, as speeds: 1.2 is 20 % faster.

    `low` to `high` is the interval; None where there are too few samples for one. `paired`: the
    median of each pair's ratio, else the ratio of the medians.
    """

    value: float
    low: float | None
    high: float | None
    base_count: int
    new_count: int
    paired: bool

    @property
    def verdict(self) -> Verdict:
        if self.low is None or self.high is None:
            return "too few samples"
        if self.low > 1:
            return "faster"
        return "slower" if self.high < 1 else "no difference seen"


def ratio(base: Sequence[float], new: Sequence[float]) -> Ratio:
    """The ratio of the medians of two independent samples, each of positive numbers."""
    a, b = _array(base), _array(new)
    low = high = None
    if min(len(a), len(b)) >= MIN_SAMPLES:
        generator = np.random.default_rng(SEED)
        ratios = medians(b, DRAWS, generator, TWO_MEDIANS) / medians(
            a, DRAWS, generator, TWO_MEDIANS
        )
        low, high = _ends(ratios)
    return Ratio(float(np.median(b) / np.median(a)), low, high, len(a), len(b), False)


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """The median of new over base, of pairs (base, new) that were measured side by side."""
    ratios = _array([new / base for base, new in pairs])
    low = high = None
    if len(ratios) >= MIN_SAMPLES:
        generator = np.random.default_rng(SEED)
        low, high = _ends(medians(ratios, DRAWS, generator, ONE_MEDIAN))
    return Ratio(float(np.median(ratios)), low, high, len(ratios), len(ratios), True)


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The interval of a median; None where there are too few values."""
    data = _array(values)
    if len(data) < MIN_SAMPLES:
        return None
    generator = np.random.default_rng(SEED)
    return _ends(medians(data, DRAWS, generator, ONE_MEDIAN))


def medians(values: Floats, draws: int, generator: np.random.Generator, stretch: float) -> Floats:
    """Bootstrap medians of the sorted `values`: what stands at the middle of a resample.

    Position (n + stretch) U - (1 + stretch) / 2 among 0..n-1, interpolated, U the middle uniform.
    """
    n = len(values)
    middle = (n + 1) / 2
    at = (n + stretch) * generator.beta(middle, middle, draws) - (1 + stretch) / 2
    at = np.clip(at, 0, n - 1)
    left = np.minimum(at.astype(np.int64), n - 2)
    part = at - left
    result: Floats = values[left] * (1 - part) + values[left + 1] * part
    return result


def _array(values: Sequence[float]) -> Floats:
    """The values sorted. Raises ValueError for one that is not finite and above zero."""
    data = np.sort(np.asarray(values, dtype=np.float64))
    if len(data) == 0 or not (np.isfinite(data).all() and data[0] > 0):
        raise ValueError(f"expected finite numbers above zero, found {list(values)[:10]}")
    return data


def _ends(draws: Any) -> tuple[float, float]:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(low), float(high)
