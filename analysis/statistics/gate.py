# SPDX-License-Identifier: BSD-3-Clause
"""The gate over several cases: is B slower than allowed?

The tests are exact, because a gate promises a false-alarm rate: the sign test for pairs of runs,
the rank test of Mann and Whitney for unpaired runs (both one-sided; Conover, Practical
Nonparametric Statistics, 1999). Neither assumes a noise distribution. Over several cases Holm's
correction controls the rate for all together (Scandinavian Journal of Statistics 6, 1979);
optionally Benjamini and Hochberg's controls the rate among the alarms.

A job is one sample, however many repeats: jobs of a night differ by more than a job's repeats. The
gate fails closed: a case that failed, is missing or is not decided yet is never "fine".
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from . import exact

RATE = 0.05  # how often a gate over all cases may fail although nothing got slower

Method = Literal["holm", "bh"]
Outcome = Literal["slower", "not slower", "undecided", "failed", "missing"]
Kind = Literal["pairs", "runs", "repeats"]


@dataclass(frozen=True)
class Evidence:
    """One case. `base` and `new`: speeds of A and B, one per job, in the same order if paired.
    `kind` is "repeats" if both sides have one job."""

    kind: Kind
    base: Sequence[float]
    new: Sequence[float]
    ratio: float  # of the medians, or the median of the pairs' ratios

    @property
    def p(self) -> float:
        """The chance of B being at least as slow as this if nothing got slower."""
        if self.kind == "pairs":
            below = sum(new < base for base, new in zip(self.base, self.new, strict=True))
            return exact.heads(below, len(self.base))
        return rank_test(self.base, self.new) if self.kind == "runs" else 1.0

    @property
    def least(self) -> float:
        """The smallest p possible with so many samples."""
        if self.kind == "pairs":
            return 0.5 ** len(self.base)
        return 1 / math.comb(len(self.base) + len(self.new), len(self.new))


@dataclass(frozen=True)
class Decision:
    """`why` is empty if `outcome` says it all."""

    outcome: Outcome
    why: str = ""

    def __str__(self) -> str:
        return f"{self.outcome}: {self.why}" if self.why else self.outcome


def rank_test(base: Sequence[float], new: Sequence[float]) -> float:
    """The chance, over all ways to deal the values to both sides, that as few values of `new` as
    here, or fewer, are above values of `base`. Ties count as above: never for an alarm."""
    ordered = sorted(base)
    above = sum(bisect.bisect_right(ordered, value) for value in new)
    return exact.above(above, len(base), len(new))


def needed(cases: int, rate: float = RATE) -> int:
    """How many pairs a case needs, for a gate over so many cases to decide it."""
    return math.ceil(math.log2(cases / rate))


def decide(
    cases: Sequence[Evidence], allowed: float, rate: float = RATE, method: Method = "holm"
) -> list[Decision]:
    """A decision for each case. `allowed`: B may be slower by this fraction (0.05). With "holm" all
    of them together raise a false alarm at most once in 1 / `rate` uses. With "bh" at most the
    fraction `rate` of the alarms is false: it finds more, with more errors."""
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
    """Holm: from the smallest p up, each against the rate divided by the number of cases left."""
    found = [False] * len(values)
    for place, i in enumerate(sorted(range(len(values)), key=lambda i: values[i])):
        if values[i] > rate / (len(values) - place):
            break
        found[i] = True
    return found


def _benjamini_hochberg(values: Sequence[float], rate: float) -> list[bool]:
    """All up to the largest p below its share of the rate (Journal of the Royal Statistical Society
    B 57, 1995)."""
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
    return f"{has}, {needed(cases, rate)} pairs needed{among} (iogauge run --rounds)"
