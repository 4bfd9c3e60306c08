# SPDX-License-Identifier: BSD-3-Clause
"""The gate over several cases: is B slower than allowed?

Two questions share the rate: is B slower over all cases (pooled.py), and in which case. For the
second, pairs of a case are exchangeable, so the signs of all differences of a round are turned at
once: the largest case of a turned table is what chance can do, whatever the noise, and however
alike cases are (Westfall and Young, Resampling-Based Multiple Testing, 1993). For unpaired sessions
see docs/analysis.md.

The gate fails closed: a case that failed, is missing or is not decided is never "fine".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from . import exact
from .interval import JOBS, LEVEL, PAIRS, Floats, shared_correlations
from .pooled import Pooled, of_pairs, of_sessions, rank_test

RATE = 0.05  # how often a gate over all cases may fail although nothing got slower
_ALL_TURNS = 12  # rounds of which all ways to turn the signs are looked at
_TURNS = 4095  # of more rounds: so many, drawn with one seed
_ROUNDING = 1e-9

Method = Literal["holm", "bh"]
Outcome = Literal["slower", "not slower", "undecided", "failed", "missing"]


@dataclass(frozen=True)
class Evidence:
    """One case. `pairs`: the logarithm of B over A in each round that has both. Without any, `base`
    and `new`: speeds of A and B by session, oldest first. `ratio`: B over A."""

    ratio: float
    pairs: Mapping[Any, float] = field(default_factory=dict)
    base: Mapping[Any, float] = field(default_factory=dict)
    new: Mapping[Any, float] = field(default_factory=dict)

    @property
    def samples(self) -> int:
        return len(self.pairs) or min(len(self.base), len(self.new))

    @property
    def needed(self) -> int:
        return PAIRS if self.pairs else JOBS


@dataclass(frozen=True)
class Decision:
    """`why` is empty if `outcome` says it all."""

    outcome: Outcome
    why: str = ""

    def __str__(self) -> str:
        return f"{self.outcome}: {self.why}" if self.why else self.outcome


def overall(cases: Sequence[Evidence], level: float = LEVEL) -> Pooled | None:
    """B over A over all cases, in pairs where there are any."""
    if found := [case.pairs for case in cases if case.pairs]:
        return of_pairs(found, level)
    return of_sessions([(case.base, case.new) for case in cases])


def decide(cases: Sequence[Evidence], allowed: float, method: Method = "holm") -> list[Decision]:
    """A decision for each case. `allowed`: B may be slower by this fraction (0.05). With "holm" all
    of them together raise a false alarm at most once in 1 / RATE uses; half of the rate is the
    pooled test's. With "bh" at most the fraction RATE of the alarms is false: it finds more, with
    more errors."""
    if method == "bh":
        slower = _benjamini_hochberg([chance(case, r) for case, r in _with_r(cases)], RATE)
    else:
        slower = _slower(cases, RATE / 2)
    found = []
    for case, is_slower in zip(cases, slower, strict=True):
        if is_slower and case.ratio <= 1 - allowed:
            found.append(Decision("slower"))
        elif is_slower:
            found.append(Decision("not slower", "slower, but by less than the gate allows"))
        elif case.samples >= case.needed:
            found.append(Decision("not slower"))
        else:
            found.append(Decision("undecided", _lacks(case)))
    return found


def is_slower(cases: Sequence[Evidence], allowed: float) -> bool:
    """Whether B is slower by more than `allowed` over all cases, by the pooled test."""
    found = overall(cases)
    return found is not None and found.p <= RATE / 2 and found.interval.value <= 1 - allowed


def _slower(cases: Sequence[Evidence], rate: float) -> list[bool]:
    found = [False] * len(cases)
    paired = [i for i, case in enumerate(cases) if case.pairs]
    alone = [i for i, case in enumerate(cases) if not case.pairs]
    share = rate / 2 if paired and alone else rate
    for i, p in zip(paired, _turned([cases[i].pairs for i in paired]), strict=True):
        found[i] = p <= share
    values = [chance(case, r) for case, r in _with_r([cases[i] for i in alone])]
    for i, rejected in zip(alone, holm(values, share), strict=True):
        found[i] = rejected
    return found


def _turned(cases: Sequence[Mapping[Any, float]]) -> list[float]:
    """For each case the chance that, of those with at most so large a loss, any loses as much."""
    if not cases:
        return []
    rounds = list(dict.fromkeys(key for case in cases for key in case))
    table = np.array([[case.get(key, 0.0) for key in rounds] for case in cases])
    counts = np.array([len(case) for case in cases])
    squares = (table**2).sum(axis=1) / counts
    # A sum over what the case and the middle one of all cases differ by: sizes count.
    scale = np.sqrt(counts * (squares + np.median(squares)) / 2)
    losses = -(table / np.where(scale > 0, scale, 1)[:, None])
    totals = losses.sum(axis=1)
    order = np.argsort(totals)
    turned = losses[order] @ _turns(len(rounds)).T
    most = np.maximum.accumulate(turned, axis=0)  # of this case and all that lose less
    p = (most >= totals[order][:, None] - _ROUNDING).mean(axis=1)
    p = np.maximum.accumulate(p[::-1])[::-1]  # none is surer than one that loses more
    found = np.empty(len(cases))
    found[order] = p
    return [float(value) for value in found]


def _turns(rounds: int) -> Floats:
    """A row of signs for each way to turn rounds, the rounds as they are first."""
    if rounds <= _ALL_TURNS:
        bits = np.arange(2**rounds)[:, None] >> np.arange(rounds) & 1
    else:
        bits = np.random.default_rng(0).integers(0, 2, (_TURNS + 1, rounds))
        bits[0] = 0
    return np.asarray(1.0 - 2 * bits)


def _with_r(cases: Sequence[Evidence]) -> list[tuple[Evidence, float]]:
    """Each case with the lag-1 correlation of its sessions."""
    series = [
        np.log(np.array(list(side.values())))
        for case in cases
        if not case.pairs
        for side in (case.base, case.new)
    ]
    drawn = iter(shared_correlations(series))
    return [(c, 0.0) if c.pairs else (c, (next(drawn) + next(drawn)) / 2) for c in cases]


def chance(case: Evidence, r: float) -> float:
    """The probability that B is at least as slow as this if nothing got slower, in one case."""
    if case.pairs:
        return exact.signed(list(case.pairs.values()))
    if case.samples < JOBS:
        return 1.0
    return rank_test(list(case.base.values()), list(case.new.values()), r)


def holm(values: Sequence[float], rate: float) -> list[bool]:
    """Holm: from the smallest p up, each against the rate divided by the number of cases left."""
    found = [False] * len(values)
    for place, i in enumerate(sorted(range(len(values)), key=lambda i: values[i])):
        if values[i] > rate / (len(values) - place):
            break
        found[i] = True
    return found


def _benjamini_hochberg(values: Sequence[float], rate: float) -> list[bool]:
    """Journal of the Royal Statistical Society B 57, 1995."""
    count = len(values)
    ordered = sorted(values)
    below = [p for place, p in enumerate(ordered, 1) if p <= rate * place / count]
    return [bool(below) and value <= below[-1] for value in values]


def _lacks(case: Evidence) -> str:
    pairs = f"{len(case.pairs)} pair{'s' if len(case.pairs) > 1 else ''} of jobs"
    has = pairs if case.pairs else f"{len(case.base)} and {len(case.new)} sessions"
    return f"not decided yet: {has}, {case.needed} needed"
