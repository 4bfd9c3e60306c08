# SPDX-License-Identifier: BSD-3-Clause
"""Is a bound kept? Exact tests of jobs, over many cases.

Two tests per case: is the median within the bound, and is it beyond? Each uses Holm's correction
over all cases at half the rate, so that all verdicts together are wrong, in either direction, at
most at the rate. A job is one sample; correlated jobs count for fewer (interval.py).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from . import exact, gate
from .interval import JOBS, PAIRS, effective, shared_correlations, worth_of

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

    def chance(self, share: float, worths: Sequence[int]) -> float:
        """The chance of at least so large a fraction on one side of the bound. `worths`: the
        effective number of jobs on each side."""
        if len(worths) == 2:
            n, m = worths
            return exact.above(math.ceil((1 - share) * n * m - _ROUNDING), n, m)
        return exact.heads(math.floor(share * worths[0] + _ROUNDING), worths[0])


@dataclass(frozen=True)
class Decision:
    """`needed`: jobs or pairs that would decide it, if more would."""

    verdict: Verdict
    why: str = ""
    needed: int = 0


def decide(cases: Sequence[Samples], level: float) -> list[Decision]:
    """A decision for each case; all of them together are right with probability `level`."""
    if not cases:
        return []
    rate = (1 - level) / 2
    known = [
        (case, of, case.count >= case.fewest)
        for case, of in zip(cases, effective_numbers(cases), strict=True)
    ]
    within = [c.chance(c.share, of) if enough else 1.0 for c, of, enough in known]
    beyond = [c.chance(1 - c.share, of) if enough else 1.0 for c, of, enough in known]
    found = []
    for (case, of, _), met, broken in zip(
        known, gate.holm(within, rate), gate.holm(beyond, rate), strict=True
    ):
        if met or broken:
            found.append(Decision("met" if met else "not met"))
        else:
            found.append(_undecided(case, of, len(cases), rate))
    return found


def effective_numbers(cases: Sequence[Samples]) -> list[tuple[int, ...]]:
    """The effective number of jobs on each side of each case. All cases share one correlation
    within a session."""
    with np.errstate(divide="ignore", invalid="ignore"):  # of what may be zero
        sides = [[np.log(of) for of in (c.values, c.base)[: 1 + bool(c.base)]] for c in cases]
    alone = [side for c, of in zip(cases, sides, strict=True) if not c.in_turn for side in of]
    drawn = iter(shared_correlations(alone))
    found = []
    for case, of in zip(cases, sides, strict=True):
        if case.in_turn:
            worths = [worth_of(side, in_turn=True) for side in of]
        else:
            worths = [effective(len(side), next(drawn)) for side in of]
        found.append(tuple(int(worth + _ROUNDING) for worth in worths))
    return found


def _undecided(case: Samples, worths: Sequence[int], cases: int, rate: float) -> Decision:
    word = "pair" if case.pairs else "job"
    needed = math.ceil(math.log2(cases / rate))
    if case.base:
        needed = next(n for n in range(1, MOST) if math.comb(2 * n, n) * rate >= cases)
    fewest = max(case.fewest, needed)
    has = f"{case.count} {word}{'' if case.count == 1 else 's'}"
    among = f" among {cases} cases" if cases > 1 else ""
    if case.count >= fewest:
        if min(worths) < case.count:
            has += f", correlated: effectively {min(worths)}"
        if 0 < case.share < 1:
            has += ", some on each side of the bound"
        fewest = _needed_if_unchanged(case, min(worths), rate / cases, fewest)
        if fewest > MOST:
            why = f"{has}: the bound is at their median, and more would not decide"
            return Decision("not decided yet", why)
    return Decision("not decided yet", f"{has}; {fewest} needed{among}", fewest)


def _needed_if_unchanged(case: Samples, worth: int, rate: float, fewest: int) -> int:
    """How many jobs decide it if they keep their distribution. `fewest`: if all are on one side."""
    share = max(case.share, 1 - case.share)
    beyond = NormalDist().inv_cdf(1 - rate)
    # A biased coin, and the rank test of two samples of one size: both nearly normal.
    factor = 1 / 6 if case.base else 1 / 4
    bias = share - 0.5
    many = factor * (beyond / bias) ** 2 if bias > 0 else math.inf
    alike = case.count / max(worth, 1)
    more = max(many, fewest) * alike
    return max(math.ceil(more), case.count + 1) if more < MOST else MOST + 1
