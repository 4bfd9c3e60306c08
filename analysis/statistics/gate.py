# SPDX-License-Identifier: BSD-3-Clause
"""The gate over several cases: has B got slower by more than is allowed?

Exact tests, because a gate promises a rate of false alarms: of pairs of runs the sign test, of runs
that are no pairs the rank test of Mann and Whitney (one-sided both; Conover, Practical
Nonparametric Statistics, 1999). Neither asks for a distribution of the noise. Over many cases
Holm's correction holds the rate for all of them together (Scandinavian Journal of Statistics 6,
1979); on request that of Benjamini and Hochberg holds it among the alarms.

A job is one sample, whatever its repeats say: the jobs of a night differ by more than the repeats
of one job. And the gate fails closed: a case that failed, that is gone, or that has too few samples
to be decided is never "fine".
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from . import exact

RATE = 0.05  # how often a gate over all cases may break although nothing got slower

Method = Literal["holm", "bh"]
Outcome = Literal["slower", "not slower", "undecided", "failed", "missing"]
Kind = Literal["pairs", "runs", "repeats"]


@dataclass(frozen=True)
class Evidence:
    """One case. `base` and `new`: speeds of A and B, a value for each job; of pairs, in the same
    order. `kind` is "repeats" where both sides have one job."""

    kind: Kind
    base: Sequence[float]
    new: Sequence[float]
    ratio: float  # of the medians, or the median of the pairs' ratios

    @property
    def p(self) -> float:
        """How often chance alone shows B at least as slow as this, if nothing got slower."""
        if self.kind == "pairs":
            below = sum(new < base for base, new in zip(self.base, self.new, strict=True))
            return exact.heads(below, len(self.base))
        return rank_test(self.base, self.new) if self.kind == "runs" else 1.0

    @property
    def least(self) -> float:
        """The smallest p that so many samples can have."""
        if self.kind == "pairs":
            return 0.5 ** len(self.base)
        return 1 / math.comb(len(self.base) + len(self.new), len(self.new))


@dataclass(frozen=True)
class Decision:
    """`why`: in words, empty where `outcome` says it all."""

    outcome: Outcome
    why: str = ""

    def __str__(self) -> str:
        return f"{self.outcome}: {self.why}" if self.why else self.outcome


def rank_test(base: Sequence[float], new: Sequence[float]) -> float:
    """The chance, over all ways to deal the values to both sides, that so few values of `new` stand
    above values of `base` as here, or fewer. Equal values count as above: never for an alarm."""
    ordered = sorted(base)
    above = sum(bisect.bisect_right(ordered, value) for value in new)
    return exact.above(above, len(base), len(new))


def needed(cases: int, rate: float = RATE) -> int:
    """How many pairs a case needs, so that a gate over so many cases can decide it."""
    return math.ceil(math.log2(cases / rate))


def decide(
    cases: Sequence[Evidence], allowed: float, rate: float = RATE, method: Method = "holm"
) -> list[Decision]:
    """A decision for each case. `allowed`: B may be slower by this part (0.05). With "holm" they
    break the gate without cause, all together, at most once in 1 / `rate` uses. With "bh" of those
    that are called slower at most the part `rate` is so without cause: more is found, and more is
    wrong."""
    slower = _REJECTED[method]([case.p for case in cases], rate)
    found = []
    for case, is_slower in zip(cases, slower, strict=True):
        if is_slower:
            by_more = case.ratio <= 1 - allowed
            found.append(Decision("slower" if by_more else "not slower", "" if by_more else
                                  "slower, but by less than the gate allows"))  # fmt: skip
        elif case.kind != "repeats" and case.least <= rate / len(cases):
            found.append(Decision("not slower"))
        else:
            found.append(Decision("undecided", _lacks(case, len(cases), rate)))
    return found


def holm(values: Sequence[float], rate: float) -> list[bool]:
    """Holm: from the smallest p on, each against the rate over the cases that are left."""
    found = [False] * len(values)
    for place, i in enumerate(sorted(range(len(values)), key=lambda i: values[i])):
        if values[i] > rate / (len(values) - place):
            break
        found[i] = True
    return found


def _benjamini_hochberg(values: Sequence[float], rate: float) -> list[bool]:
    """All up to the largest p that is below its own share of the rate (Journal of the Royal
    Statistical Society B 57, 1995)."""
    count = len(values)
    ordered = sorted(values)
    below = [p for place, p in enumerate(ordered, 1) if p <= rate * place / count]
    return [bool(below) and value <= below[-1] for value in values]


_REJECTED = {"holm": holm, "bh": _benjamini_hochberg}


def _lacks(case: Evidence, cases: int, rate: float) -> str:
    has = {
        "pairs": f"{len(case.base)} pairs of jobs",
        "runs": f"{len(case.base)} and {len(case.new)} jobs",
        "repeats": "the repeats of one job on each side",
    }[case.kind]
    among = f" among {cases} cases" if cases > 1 else ""
    return f"too few samples: {has}, {needed(cases, rate)} pairs needed{among} (make ab)"
