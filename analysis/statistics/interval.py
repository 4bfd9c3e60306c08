# SPDX-License-Identifier: BSD-3-Clause
"""The one type and level of interval that everything prints.

`low` to `high` is a 95 % interval, for any noise: the ends are data values, chosen by exact tests
(exact.py). It is conservative; docs/analysis.md has the simulated coverage. None is random.

A sample is a job: jobs of a night differ by more than a job's repeats, so a job counts once, with
their median. Consecutive jobs may be correlated, and are then worth fewer independent ones. The
lag-1 correlation is estimated, and the interval is made for the effective number of samples (Bayley
and Hammersley, Journal of the Royal Statistical Society B 8, 1946). Alternating pairs of jobs share
the same drift, which cancels in their ratio.
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
Verdict = Literal["faster", "slower", "no difference seen", "not decided yet"]
Job = TypeVar("Job", bound=Hashable)
Kind = Literal["pairs", "jobs"]

LEVEL = 0.95
PAIRS = 6  # 2^-5 of all sets of six pairs lie on one side of the truth: 3 %
# Unpaired jobs: with fewer, serial correlation cannot be estimated, and if it is high (0.7 or 0.9
# at lag 1) more than 7 % of the intervals would be wrong.
JOBS = 12
_ROUNDING = 1e-9
_THIN = 200  # quantiles that represent a longer sample when all pairs are formed


@dataclass(frozen=True)
class Interval:
    """`low` and `high` are None while undecided, and `needed` says how many it takes.
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
        return "slower" if self.high < 1 else "no difference seen"

    @property
    def counted(self) -> str:
        """The samples as tables show them: `8 pairs`, `12, 14 jobs`."""
        *first, last = self.samples
        return ", ".join([*map(str, first), _counted(last, self.kind)])

    @property
    def wanted(self) -> int:
        """How many samples it takes if their correlation stays the same."""
        return max(self.needed, math.ceil(min(self.samples) * self.needed / max(self.worth, 1)))

    @property
    def lacks(self) -> str:
        """What it takes to decide; empty if it is decided."""
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
    return f"iogauge run --stack A,B --rounds {rounds}"


def repeated(jobs: int) -> str:
    """The command that makes so many jobs of each case, in random order."""
    return f"iogauge run -- --repeat={jobs} --exec-order=random"


def of_median(values: Sequence[float], *, in_turn: bool = False, level: float = LEVEL) -> Interval:
    """The median of the distribution of `values`, oldest first. `in_turn`: each is a difference of
    two alternating measurements, so free of drift. `level`: higher where it is one of many."""
    data = np.asarray(values, dtype=np.float64)
    if len(data) == 0 or not np.isfinite(data).all():
        raise ValueError(f"expected finite numbers, found {list(values)[:10]}")
    fewest = PAIRS if in_turn else JOBS
    worth = worth_of(data, in_turn=in_turn)
    left = outside_one(int(worth + _ROUNDING), level) if len(data) >= fewest else None
    low, high = (None, None) if left is None else _ends(np.sort(data), left, int(worth + _ROUNDING))
    return Interval(float(np.median(data)), low, high, "jobs", (len(data),), worth, fewest)


def of_pairs(pairs: Sequence[tuple[float, float]], level: float = LEVEL) -> Interval:
    """The median of new over base, from alternating pairs (base, new)."""
    ratios = [_speed(new) / _speed(base) for base, new in pairs]
    found = of_median(ratios, in_turn=True, level=level)
    return replace(found, kind="pairs")


def of_two(base: Sequence[float], new: Sequence[float], fewest: int = JOBS) -> Interval:
    """The median of new over base, over all pairs of two samples (Hodges and Lehmann, Annals of
    Mathematical Statistics 34, 1963); one value per job, oldest first. `fewest` per side: less than
    JOBS if they are known to be uncorrelated."""
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
    """New over base, of speeds by job. A key on both sides is a pair: its jobs alternated."""
    shared = [job for job in base if job in new]
    unpaired = min(len(base), len(new))
    if len(shared) >= PAIRS or (shared and unpaired < JOBS):
        return of_pairs([(base[job], new[job]) for job in shared])
    return of_two(list(base.values()), list(new.values()))


def worth_of(values: Floats, *, in_turn: bool = False) -> float:
    """The effective number of samples: n (1 - r) / (1 + r), with the lag-1 correlation r, corrected
    for its bias in short series (Kendall, Biometrika 41, 1954: too low by (1 + 3 r) / n). For
    alternating measurements it counts only if significant at 5 %."""
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
    """The values at the relative position that `left` has among `worth` values."""
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
