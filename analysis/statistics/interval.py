# SPDX-License-Identifier: BSD-3-Clause
"""The interval of everything that is printed: one type, one level.

What is between `low` and `high` covers the truth in at least 95 of 100 uses, whatever the noise is
like: the ends are values of the data, chosen by exact tests (exact.py). It is conservative by
design; `make simulate` writes how much into docs/analysis.md. Nothing in it is random.

A sample is a job: jobs of a night differ by more than the repeats of one job, so a job counts
once, with the median of its repeats. Jobs that follow each other may be alike, which makes them
worth less than as many independent ones. That is measured (lag 1), and the interval is made for the
number of samples that they are worth (Bayley and Hammersley, Journal of the Royal Statistical
Society B 8, 1946). Pairs of jobs in turn meet the same drift, and it cancels in their ratio.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from .exact import outside_one, outside_two

Floats = npt.NDArray[np.float64]
Verdict = Literal["faster", "slower", "no difference seen", "too few samples"]
Job = TypeVar("Job", bound=Hashable)
Kind = Literal["pairs", "jobs"]

LEVEL = 0.95
PAIRS = 6  # 2^-5 of all sets of six pairs lie on one side of the truth: 3 %
# Jobs that are no pairs: with fewer it cannot be told if they are alike because they follow each
# other, and of jobs that are (0.7 or 0.9 at lag 1) more than 7 % of the intervals would be wrong.
JOBS = 12
_ROUNDING = 1e-9
_THIN = 200  # of longer samples, so many quantiles stand for all when each is held against each


@dataclass(frozen=True)
class Interval:
    """`value` with its ends; they are None where there are too few samples, and `needed` says how
    many it takes. `samples`: of each side. `worth`: how many independent ones the fewer are."""

    value: float
    low: float | None
    high: float | None
    kind: Kind
    samples: tuple[int, ...]
    worth: float
    needed: int

    @property
    def verdict(self) -> Verdict:
        """Of a ratio of speeds: what its interval says."""
        if self.low is None or self.high is None:
            return "too few samples"
        if self.low > 1:
            return "faster"
        return "slower" if self.high < 1 else "no difference seen"

    @property
    def counted(self) -> str:
        """The samples, as a table shows them: `8 pairs`, `12, 14 jobs`."""
        *first, last = self.samples
        return ", ".join([*map(str, first), _counted(last, self.kind)])

    @property
    def wanted(self) -> int:
        """How many samples it takes if they go on following each other as these do."""
        return max(self.needed, math.ceil(min(self.samples) * self.needed / max(self.worth, 1)))

    @property
    def lacks(self) -> str:
        """What it takes, where there are too few samples; else nothing."""
        if self.low is not None:
            return ""
        has = " and ".join(_counted(count, self.kind) for count in self.samples)
        if min(self.samples) >= self.needed:
            has += f" that follow each other, worth {self.worth:.0f}"
        more = self.wanted
        if self.kind == "pairs":
            return f"{has}; {more} needed ({in_rounds(more)})"
        pairs = f", or {PAIRS} pairs ({in_rounds(PAIRS)})" if len(self.samples) > 1 else ""
        return f"{has}; {more} needed ({repeated(more)}){pairs}"


def _counted(count: int, kind: Kind) -> str:
    return f"{count} {kind if count != 1 else kind[:-1]}"


def in_rounds(rounds: int) -> str:
    """The command that makes so many pairs of two stacks."""
    return f"make ab ROUNDS={rounds}"


def repeated(jobs: int) -> str:
    """The command that makes so many jobs of each case, not one after the other."""
    return f"make run ARGS='--repeat={jobs} --exec-order=random'"


def of_median(values: Sequence[float], *, in_turn: bool = False, level: float = LEVEL) -> Interval:
    """The median of the law that `values`, oldest first, come from. `in_turn`: each is a difference
    of two that were measured in turn, so a drift is in none of them. `level`: a higher one, where
    it is one of many."""
    data = np.asarray(values, dtype=np.float64)
    if len(data) == 0 or not np.isfinite(data).all():
        raise ValueError(f"expected finite numbers, found {list(values)[:10]}")
    fewest = PAIRS if in_turn else JOBS
    worth = worth_of(data, in_turn=in_turn)
    left = outside_one(int(worth + _ROUNDING), level) if len(data) >= fewest else None
    low, high = (None, None) if left is None else _ends(np.sort(data), left, int(worth + _ROUNDING))
    return Interval(float(np.median(data)), low, high, "jobs", (len(data),), worth, fewest)


def of_pairs(pairs: Sequence[tuple[float, float]], level: float = LEVEL) -> Interval:
    """The median of new over base, of pairs (base, new) that were measured in turn."""
    ratios = [_speed(new) / _speed(base) for base, new in pairs]
    found = of_median(ratios, in_turn=True, level=level)
    return replace(found, kind="pairs")


def of_two(base: Sequence[float], new: Sequence[float], fewest: int = JOBS) -> Interval:
    """The median of new over base, of all pairs that two samples have (Hodges and Lehmann, Annals
    of Mathematical Statistics 34, 1963); each oldest first, a value for each job. `fewest` on each
    side: less than JOBS where it is known otherwise that they are not alike."""
    a, b = (np.asarray([_speed(v) for v in values]) for values in (base, new))
    if not len(a) or not len(b):
        raise ValueError("expected values on both sides")
    ratios = np.sort((_thin(b)[:, None] / _thin(a)[None, :]).ravel())
    worths = worth_of(np.log(a)), worth_of(np.log(b))
    n, m = (int(worth + _ROUNDING) for worth in worths)
    left = outside_two(n, m, LEVEL) if min(len(a), len(b)) >= fewest else None
    low, high = (None, None) if left is None else _ends(ratios, left, n * m)
    counts = (len(a), len(b))
    return Interval(float(np.median(ratios)), low, high, "jobs", counts, min(worths), fewest)


def of_jobs(base: Mapping[Job, float], new: Mapping[Job, float]) -> Interval:
    """New over base, of speeds by job. The same key on both sides: they ran in turn, and are a
    pair."""
    shared = [job for job in base if job in new]
    unpaired = min(len(base), len(new))
    if len(shared) >= PAIRS or (shared and unpaired < JOBS):
        return of_pairs([(base[job], new[job]) for job in shared])
    return of_two(list(base.values()), list(new.values()))


def worth_of(values: Floats, *, in_turn: bool = False) -> float:
    """How many independent values these are worth: n (1 - r) / (1 + r), with the correlation r of
    neighbours. r is corrected for what a short series hides of it (Kendall, Biometrika 41, 1954:
    the estimate is too low by (1 + 3 r) / n). Of values that were measured in turn it counts only
    where chance alone would show it once in 20 times."""
    n = len(values)
    rest = values - values.mean()
    square = float(rest @ rest)
    if n < PAIRS or square <= (_ROUNDING * float(np.abs(values).max())) ** 2 * n:
        return n
    r = float(rest[1:] @ rest[:-1]) / square
    if in_turn and r + 1 / n <= 1.645 / math.sqrt(n):
        return n
    r = min(max((n * r + 1) / (n - 3), 0.0), 0.99)
    return max(n * (1 - r) / (1 + r), 1.0)


def _ends(ordered: Floats, left: int, worth: int) -> tuple[float, float]:
    """The values that stand as far from the ends as place `left` does among `worth` values."""
    n = len(ordered)
    place = math.floor((left + 1) / (worth + 1) * (n + 1) - 1 + _ROUNDING)
    return float(ordered[place]), float(ordered[n - 1 - place])


def _thin(values: Floats) -> Floats:
    places = (np.arange(_THIN) + 0.5) / _THIN
    return np.quantile(values, places) if len(values) > _THIN else values


def _speed(value: float) -> float:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"expected finite numbers above zero, found {value}")
    return value
