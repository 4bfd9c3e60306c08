# SPDX-License-Identifier: BSD-3-Clause
"""Which jobs of two sides belong together, and what one sample is (docs/analysis.md)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..statistics import interval

if TYPE_CHECKING:
    from ..statistics.gate import Evidence
    from ..statistics.interval import Interval

NEAR = 2  # at most one other job ran between two that ran side by side
# A job as a struct of the store's columns.
AS_SQL = (
    "struct_pack(session := hash(session), round := repeat_no, place := run, "
    "drawn := order_seed IS NOT NULL)"
)


class Job(NamedTuple):
    """`round`: of the session; `place`: in the session; `drawn`: its order was drawn by chance."""

    session: int
    round: int
    place: int
    drawn: bool


Speeds = Mapping[Job, float]  # oldest first
Pair = tuple[float, float]


def pairs(a: Speeds, b: Speeds) -> dict[tuple[int, int], Pair]:
    """The speeds (A, B) of each round that has both side by side."""
    there = {(job.session, job.round): job for job in b}
    found = {}
    for job, speed in a.items():
        other = there.get((job.session, job.round))
        if other and (job.drawn or abs(job.place - other.place) <= NEAR):
            found[job.session, job.round] = speed, b[other]
    return found


def chosen(a: Speeds, b: Speeds) -> dict[tuple[int, int], Pair]:
    """The pairs, unless too few, with sessions enough without."""
    found = pairs(a, b)
    sessions = min(len(by_session(side)) for side in (a, b))
    return found if len(found) >= interval.PAIRS or sessions < interval.JOBS else {}


def middle(a: Speeds, b: Speeds) -> float:
    """B's median, of the pairs or sessions that `speedup` is of. A's beside it is shown as this
    over the speedup: two medians of noisy jobs can point the other way than their ratios."""
    if together := chosen(a, b):
        return statistics.median(speed for _, speed in together.values())
    return statistics.median(by_session(b).values())


def by_session(side: Speeds) -> dict[int, float]:
    """A speed for each session, oldest first."""
    found: dict[int, list[float]] = {}
    for job, speed in side.items():
        found.setdefault(job.session, []).append(speed)
    return {session: statistics.median(speeds) for session, speeds in found.items()}


def speedup(a: Speeds, b: Speeds) -> Interval:
    if together := chosen(a, b):
        return interval.of_pairs(list(together.values()))
    of_a, of_b = (list(by_session(side).values()) for side in (a, b))
    return interval.of_two(of_a, of_b)


def evidence(a: Speeds, b: Speeds) -> Evidence:
    from ..statistics.gate import Evidence

    value = speedup(a, b).value
    if together := chosen(a, b):
        return Evidence(value, {key: math.log(y / x) for key, (x, y) in together.items()})
    return Evidence(value, {}, by_session(a), by_session(b))
