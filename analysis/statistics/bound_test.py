# SPDX-License-Identifier: BSD-3-Clause
"""Is a bound kept? Exact tests of jobs, over many cases.

Two tests per case: is the median within the bound, and is it beyond? Each uses Holm's correction
over all cases at half the rate, so that all verdicts together are wrong, in either direction, at
most at the rate. A job is one sample, however many repeats; correlated jobs count for fewer
(interval.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from . import exact, gate
from .interval import JOBS, PAIRS, in_rounds, repeated, worth_of

Verdict = Literal["met", "not met", "not decided yet", "failed", "missing"]
MOST = 10_000  # more jobs than anybody could be asked for
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Limit:
    value: float
    at_least: bool

    def meets(self, value: float) -> bool:
        return value >= self.value if self.at_least else value <= self.value


@dataclass(frozen=True)
class Samples:
    """A value for each job, oldest first, to be tested against `bound`. `base`: values of other,
    unpaired jobs; the bound then applies to the quotient. `in_turn`: each value is a quotient of
    two alternating measurements; `pairs`: of two jobs. `jobs`: the fewest asked for."""

    values: Sequence[float]
    bound: Limit
    base: Sequence[float] = ()
    in_turn: bool = False
    jobs: int = 1
    pairs: bool = False

    @property
    def fewest(self) -> int:
        return max(self.jobs, PAIRS if self.in_turn else JOBS)

    @property
    def count(self) -> int:
        return min(len(self.values), len(self.base)) if self.base else len(self.values)

    @property
    def share(self) -> float:
        """The fraction of jobs, or of pairs of jobs, within the bound."""
        if self.base:
            found = [self.bound.meets(new / old) for old in self.base for new in self.values]
        else:
            found = [self.bound.meets(value) for value in self.values]
        return sum(found) / len(found)

    @property
    def worths(self) -> tuple[int, ...]:
        """The effective number of jobs on each side."""
        sides = (self.values, self.base) if self.base else (self.values,)
        found = (worth_of(np.asarray(v, dtype=np.float64), in_turn=self.in_turn) for v in sides)
        return tuple(int(worth + _ROUNDING) for worth in found)

    def chance(self, share: float) -> float:
        """The chance of at least so large a fraction on one side of the bound."""
        worths = self.worths
        if len(worths) == 2:
            n, m = worths
            return exact.above(math.ceil((1 - share) * n * m - _ROUNDING), n, m)
        return exact.heads(math.floor(share * worths[0] + _ROUNDING), worths[0])


@dataclass(frozen=True)
class Decision:
    verdict: Verdict
    why: str = ""


def decide(cases: Sequence[Samples], level: float) -> list[Decision]:
    """A decision for each case; all of them together are right with probability `level`."""
    if not cases:
        return []
    rate = (1 - level) / 2
    enough = [case.count >= case.fewest for case in cases]
    within = [c.chance(c.share) if ok else 1.0 for c, ok in zip(cases, enough, strict=True)]
    beyond = [c.chance(1 - c.share) if ok else 1.0 for c, ok in zip(cases, enough, strict=True)]
    found = []
    for case, met, broken in zip(
        cases, gate.holm(within, rate), gate.holm(beyond, rate), strict=True
    ):
        if met or broken:
            found.append(Decision("met" if met else "not met"))
        else:
            found.append(Decision("not decided yet", _lacks(case, len(cases), rate)))
    return found


def _lacks(case: Samples, cases: int, rate: float) -> str:
    """How many jobs it takes."""
    word = "pair" if case.pairs else "job"
    fewest = max(case.fewest, _needed(case, cases, rate))
    has = f"{case.count} {word}{'' if case.count == 1 else 's'}"
    among = f" among {cases} cases" if cases > 1 else ""
    if case.count >= fewest:
        worth = min(case.worths)
        if worth < case.count:
            has += f" that follow each other, worth {worth}"
        if 0 < case.share < 1:
            has += ", some on each side of the bound"
        fewest = _as_they_fall(case, rate / cases, fewest)
        if fewest > MOST:
            return f"{has}: the bound is at their median, and more would not decide"
    command = in_rounds(fewest) if word == "pair" else repeated(fewest)
    return f"{has}; {fewest} needed{among} ({command})"


def _needed(case: Samples, cases: int, rate: float) -> int:
    """The fewest jobs that can decide a case."""
    if not case.base:
        return gate.needed(cases, rate)
    return next(n for n in range(1, MOST) if math.comb(2 * n, n) * rate >= cases)


def _as_they_fall(case: Samples, rate: float, fewest: int) -> int:
    """How many jobs decide it if their distribution stays the same; more than MOST: none do.
    `fewest`: what it takes if all are on one side."""
    share = max(case.share, 1 - case.share)
    beyond = NormalDist().inv_cdf(1 - rate)
    # A biased coin, and the rank test of two samples of one size: both nearly normal.
    factor = 1 / 6 if case.base else 1 / 4
    bias = share - 0.5
    many = factor * (beyond / bias) ** 2 if bias > 0 else math.inf
    alike = case.count / max(min(case.worths), 1)
    more = max(many, fewest) * alike
    return max(math.ceil(more), case.count + 1) if more < MOST else MOST + 1
