# SPDX-License-Identifier: BSD-3-Clause
"""The one type and level of interval that everything prints: 95 %, mostly by exact tests.

A job counts once, with the median of its repeats. Consecutive samples may be correlated, and are
then worth fewer independent ones. The lag-1 correlation is estimated, and the interval is made for
the effective number of samples (Bayley and Hammersley, Journal of the Royal Statistical Society B
8, 1946).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from iogauge.common.text import counted

from .exact import outside_one, outside_signed, outside_two

Floats = npt.NDArray[np.float64]
Verdict = Literal["faster", "slower", "no difference", "not decided yet"]
Kind = Literal["pairs", "jobs", "sessions", "cases", "rounds"]

LEVEL = 0.95
PAIRS = 6  # 2^-5 of all sets of six pairs lie on one side of the truth: 3 %
# Unpaired samples: with fewer, serial correlation cannot be estimated, and if it is high (0.7 or
# 0.9 at lag 1) more than 7 % of the intervals would be wrong.
JOBS = 12
EQUAL = 0.2  # an interval that holds 1 and nothing farther from it is an answer
MANY = 100  # samples: above that, only "more than" is said
_SPREAD_OF_R = 0.25  # of correlations between cases, where one case alone is known
_ROUNDING = 1e-9
_pairs_of = cache(np.triu_indices)
_THIN = 200  # quantiles that represent a longer sample when all pairs are formed


@dataclass(frozen=True)
class Interval:
    """`low` and `high` are None with not decided yet, and `needed` says how many it takes.
    `samples`: per side. `worth`: the smaller side's effective number."""

    value: float
    low: float | None
    high: float | None
    kind: Kind
    samples: tuple[int, ...]
    worth: float
    needed: int

    @property
    def verdict(self) -> Verdict:
        """The verdict on a ratio of speeds."""
        if self.low is None or self.high is None:
            return "not decided yet"
        if self.low > 1:
            return "faster"
        if self.high < 1:
            return "slower"
        return "no difference" if self.most <= EQUAL else "not decided yet"

    @property
    def most(self) -> float:
        """The largest difference that a ratio may have, as a fraction."""
        if self.low is None or self.high is None:
            return math.inf
        return max(self.high, 1 / self.low) - 1

    @property
    def counted(self) -> str:
        *first, last = self.samples
        return ", ".join([*map(str, first), counted(last, self.kind[:-1])])

    @property
    def wanted(self) -> int:
        """How many samples decide a ratio if noise and correlation stay the same."""
        most = max(self.needed, math.ceil(min(self.samples) * self.needed / max(self.worth, 1)))
        if self.low is None or self.high is None or self.verdict != "not decided yet":
            return most
        wide = math.log(max(self.value / self.low, self.high / self.value))
        away = abs(math.log(self.value))
        target = max(away, math.log(1 + EQUAL) - away)
        return max(most, math.ceil(min(self.samples) * (wide / target) ** 2) + 1)

    @property
    def lacks(self) -> str:
        """What is missing to decide a ratio; else empty."""
        if self.verdict != "not decided yet":
            return ""
        has = " and ".join(counted(count, self.kind[:-1]) for count in self.samples)
        if self.low is None and min(self.samples) >= self.needed:
            has += f", correlated: effectively {self.worth:.0f}"
        return f"{has}; {self.wanted if self.wanted <= MANY else f'more than {MANY}'} needed"


def of_median(values: Sequence[float], *, in_turn: bool = False) -> Interval:
    """The median of the distribution of `values`, oldest first. `in_turn`: each is a difference of
    two alternating measurements, so free of drift."""
    data = np.asarray(values, dtype=np.float64)
    if len(data) == 0 or not np.isfinite(data).all():
        raise ValueError(f"expected finite numbers, found {list(values)[:10]}")
    fewest = PAIRS if in_turn else JOBS
    worth = worth_of(data, in_turn=in_turn)
    left = outside_one(int(worth + _ROUNDING), LEVEL) if len(data) >= fewest else None
    low, high = (None, None) if left is None else _ends(np.sort(data), left, int(worth + _ROUNDING))
    return Interval(float(np.median(data)), low, high, "jobs", (len(data),), worth, fewest)


def of_pairs(pairs: Sequence[tuple[float, float]], level: float = LEVEL) -> Interval:
    """The ratio of new over base, from pairs (base, new) of jobs side by side, oldest first."""
    return of_ratios([_speed(new) / _speed(base) for base, new in pairs], "pairs", level)


def of_ratios(
    ratios: Sequence[float], kind: Kind, level: float = LEVEL, *, alike: bool = True
) -> Interval:
    """The ratios' centre: the median of the geometric means of all two of them (Hodges and Lehmann,
    Annals of Mathematical Statistics 34, 1963), with the interval of the signed ranks. `alike`:
    they follow each other in time, so neighbors may be correlated."""
    values = _thin(np.asarray([_speed(ratio) for ratio in ratios]))
    first, second = _pairs_of(len(values))
    means = np.sort(np.sqrt(values[first] * values[second]))
    worth = worth_of(np.log(ratios), in_turn=True) if alike else float(len(ratios))
    n = int(worth + _ROUNDING)
    left = outside_signed(n, level) if len(ratios) >= PAIRS else None
    low, high = (None, None) if left is None else _ends(means, left, n * (n + 1) // 2)
    count = (len(ratios),)
    return Interval(_middle(means), low, high, kind, count, worth, pairs_for(level))


def pairs_for(level: float) -> int:
    """Pairs of which all may be on one side of the truth seldom enough."""
    return max(PAIRS, math.ceil(1 - math.log2(1 - level)))


def of_two(
    base: Sequence[float], new: Sequence[float], fewest: int = JOBS, r: float | None = None
) -> Interval:
    """The ratio of new over base, over all pairs of two samples (Hodges and Lehmann), oldest first.
    `fewest` per side: one with less than JOBS is taken to be as correlated as the other; if both
    have less, as the higher of both. `r`: their lag-1 correlation, where more says it."""
    a, b = (np.asarray([_speed(v) for v in values]) for values in (base, new))
    if not len(a) or not len(b):
        raise ValueError("expected values on both sides")
    ratios = np.sort((_thin(b)[:, None] / _thin(a)[None, :]).ravel())
    own = [correlation(np.log(of)) if r is None else r for of in (a, b)]
    known = max([one for one, of in zip(own, (a, b), strict=True) if len(of) >= JOBS] or own)
    alike = [one if len(of) >= JOBS else known for one, of in zip(own, (a, b), strict=True)]
    worths = [effective(len(of), one) for of, one in zip((a, b), alike, strict=True)]
    n, m = (int(of + _ROUNDING) for of in worths)
    left = outside_two(n, m, LEVEL) if min(len(a), len(b)) >= fewest else None
    low, high = (None, None) if left is None else _ends(ratios, left, n * m)
    counts = len(a), len(b)
    return Interval(_middle(ratios), low, high, "sessions", counts, min(worths), fewest)


def worth_of(values: Floats, *, in_turn: bool = False) -> float:
    """The effective number of samples. For pairs the correlation counts only if significant."""
    n = len(values)
    r = correlation(values)
    if in_turn and r * (n - 3) / n <= 1.645 / math.sqrt(n):
        return n
    return effective(n, r)


def effective(n: int, r: float) -> float:
    r = min(max(r, 0.0), 0.99)
    return max(n * (1 - r) / (1 + r), 1.0)


def correlation(values: Floats) -> float:
    """The correlation at lag 1, corrected for its bias in short series (Kendall, Biometrika 41,
    1954: too low by (1 + 3 r) / n); 0 for fewer than six samples, or where they do not differ."""
    n = len(values)
    if n < PAIRS or not np.isfinite(values).all():  # logarithms of zeros
        return 0.0
    rest = values - values.mean()
    square = float(rest @ rest)
    if square <= (_ROUNDING * float(np.abs(values).max())) ** 2 * n:
        return 0.0
    return (n * float(rest[1:] @ rest[:-1]) / square + 1) / (n - 3)


def shared_correlations(series: Sequence[Floats]) -> list[float]:
    """The lag-1 correlation of each of many series of the same nights, drawn to what all have in
    common (empirical Bayes: Efron and Morris, Journal of the American Statistical Association 70,
    1975): by chance alone a short series says nearly anything. One series alone is drawn to 0."""
    if not series:
        return []
    found = np.array([correlation(values) for values in series])
    error = np.array([1 / max(len(values) - 3, 1) for values in series])
    middle = float(found.mean()) if len(found) > 1 else 0.0
    between = float(found.var()) - float(error.mean()) if len(found) > 1 else 0.0
    if len(found) <= 10:  # too few to know how much they differ
        between = max(between, _SPREAD_OF_R**2)
    own = max(between, 0.0) / (max(between, 0.0) + error)
    return [float(r) for r in own * found + (1 - own) * middle]


def _ends(ordered: Floats, left: int, worth: int) -> tuple[float, float]:
    """The values at the relative position that `left` has among `worth` values."""
    n = len(ordered)
    place = math.floor((left + 1) / (worth + 1) * (n + 1) - 1 + _ROUNDING)
    return float(ordered[place]), float(ordered[n - 1 - place])


def _middle(ordered: Floats) -> float:
    """The median of sorted values; NumPy's would sort them again."""
    return float(ordered[len(ordered) // 2] + ordered[(len(ordered) - 1) // 2]) / 2


def _thin(values: Floats) -> Floats:
    return values if len(values) <= _THIN else np.quantile(values, (np.arange(_THIN) + 0.5) / _THIN)


def _speed(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"expected finite numbers above zero, found {value}")
    return value
