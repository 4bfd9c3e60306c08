# SPDX-License-Identifier: BSD-3-Clause
"""What B is to A over all cases together.

In pairs whose order was drawn, any difference could as well have had the other sign, whatever the
noise. One round: the signed ranks of one difference for each case give the typical ratio, its
interval and its chance. More rounds: the rounds of one case differ by the noise alone, however much
cases differ. Where sides have separate sessions a session is one sample: the median of how far its
cases are from their middle.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import exact
from .interval import JOBS, LEVEL, PAIRS, Interval, Kind, correlation, effective, of_ratios, of_two
from .prediction import t_quantile, t_tail

Speeds = Mapping[Any, float]  # by round or session
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Pooled:
    """`p`: the chance of a ratio at most as low as this if nothing differs. `cases`: how many."""

    interval: Interval
    p: float
    cases: int


def of_pairs(cases: Sequence[Speeds], level: float = LEVEL) -> Pooled:
    """The pooled ratio, from the logarithms of B over A by session and round, of each case. If each
    case has PAIRS sessions or more, one is a sample. If there are fewer in all, and half of the
    cases have two rounds, a round is. Else a case is; of fewer than PAIRS cases, a pair."""
    sessions = [{session for session, _ in case} for case in cases]
    again = [case for case in cases if len(case) > 1]
    free = sum(len(case) - 1 for case in again)
    least = 3 if len(cases) == 2 else 1
    stratified = len(cases) > 1 and min(map(len, cases)) >= least and free >= PAIRS - 1
    kind: Kind = "cases" if len(cases) >= PAIRS else "pairs"
    if len(cases) > 1 and min(map(len, sessions)) >= PAIRS:
        kind, logs = "sessions", _by_session(cases)
    elif stratified and 2 * len(again) >= len(cases) and len(set().union(*sessions)) < PAIRS:
        return _of_rounds([list(case.values()) for case in cases], level)
    elif kind == "cases":
        logs = [statistics.median(case.values()) for case in cases]
    else:
        logs = [value for case in cases for value in case.values()]
    interval = of_ratios([math.exp(value) for value in logs], kind, level, alike=kind == "sessions")
    return Pooled(interval, exact.signed(logs) if len(logs) >= PAIRS else 1.0, len(cases))


def _by_session(cases: Sequence[Speeds]) -> list[float]:
    """The mean over all cases in each session, oldest first, though a session may lack some."""
    found: dict[Any, list[float]] = {}
    middles = []
    for case in sorted(cases, key=len, reverse=True):
        middles.append(statistics.fmean(case.values()))
        mine: dict[Any, list[float]] = {}
        for (session, _), value in case.items():
            mine.setdefault(session, []).append(value)
        for session, of in mine.items():
            found.setdefault(session, []).append(statistics.fmean(of) - middles[-1])
    return [statistics.fmean(middles) + statistics.fmean(values) for values in found.values()]


def _of_rounds(cases: Sequence[Sequence[float]], level: float) -> Pooled:
    """The mean over exactly these cases, each a stratum with the variance of its mean (Cochran,
    Sampling Techniques, 1977, 5.4). What a case with one round differs by from the others stands
    for its noise, and is more on average. Degrees of freedom: Welch, Biometrika 34, 1947; for
    cases with unlike numbers of rounds also Satterthwaite, Biometrics 2, 1946, if fewer."""
    middle = statistics.fmean(map(statistics.fmean, cases))
    alone = len(cases) / (len(cases) - 1)
    parts = [
        float(np.var(of, ddof=1)) / len(of) if len(of) > 1 else (alone * (of[0] - middle)) ** 2
        for of in cases
    ]
    counts = [max(len(of), 2) for of in cases]
    freedom = sum(counts) - len(counts)
    if square := sum(parts):
        worth = sum(part**2 / (n + 1) for part, n in zip(parts, counts, strict=True))
        freedom = min(freedom, max(int(square**2 / worth) - 2, 1))
        if len(set(counts)) > 1:
            worth = sum(part**2 / (n - 1) for part, n in zip(parts, counts, strict=True))
            freedom = min(freedom, max(int(square**2 / worth), 1))
    error = math.sqrt(square) / len(cases)
    half = t_quantile((1 - level) / 2, freedom) * error
    value, low, high = (math.exp(middle + end) for end in (0, -half, half))
    fewest = min(map(len, cases))
    interval = Interval(value, low, high, "rounds", (fewest,), fewest, 2)
    above = t_tail(abs(middle) / error, freedom) if error else 0.0
    return Pooled(interval, above if middle < 0 else 1 - above, len(cases))


def of_sessions(cases: Sequence[tuple[Speeds, Speeds]]) -> Pooled | None:
    """The pooled ratio, from speeds of A and of B by session, oldest first, of each case."""
    sides: tuple[dict[Any, list[float]], ...] = ({}, {})
    for both in cases:
        middle = statistics.mean(statistics.median(map(math.log, of.values())) for of in both)
        for side, of in zip(sides, both, strict=True):
            for session, speed in of.items():
                side.setdefault(session, []).append(math.log(speed) - middle)
    base, new = ([statistics.median(values) for values in side.values()] for side in sides)
    if not base or not new:
        return None
    r = max(0.0, (correlation(np.array(base)) + correlation(np.array(new))) / 2)
    interval = of_two([math.exp(v) for v in base], [math.exp(v) for v in new], r=r)
    p = rank_test(base, new, r) if min(len(base), len(new)) >= JOBS else 1.0
    return Pooled(interval, p, len(cases))


def rank_test(base: Sequence[float], new: Sequence[float], r: float = 0.0) -> float:
    """The chance, over all ways to deal the values to both sides, that as few values of `new` as
    here, or fewer, are above values of `base`, for their effective numbers. Ties count as above:
    never for an alarm."""
    ordered = np.sort(base)
    above = int(np.searchsorted(ordered, np.asarray(new), side="right").sum())
    n, m = (int(effective(len(side), r) + _ROUNDING) for side in (base, new))
    share = above / (len(base) * len(new))
    return exact.above(math.ceil(share * n * m - _ROUNDING), n, m)
