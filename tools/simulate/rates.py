# SPDX-License-Identifier: BSD-3-Clause
"""How often each promise is kept, for one kind of noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from iogauge.analysis.judge import learned
from iogauge.analysis.statistics import gate, interval, prediction

from .noise import KINDS, Floats, sides, true_median


def seeded(*words: object) -> np.random.Generator:
    """The same for the same words."""
    return np.random.default_rng(list(" ".join(map(str, words)).encode()))


def evidence(kind: gate.Kind, base: Floats, new: Floats) -> gate.Evidence:
    ratio = float(np.median(new / base) if kind == "pairs" else np.median(new) / np.median(base))
    return gate.Evidence(kind, base.tolist(), new.tolist(), ratio)


def false_alarms(
    noise: str, cases: int, gates: int, kind: gate.Kind = "pairs", method: gate.Method = "holm"
) -> float:
    """The part of gates that break although nothing changed, each with one job more of each case
    than it takes to decide."""
    generator, n = seeded("gate", noise, cases, kind), gate.needed(cases) + 1
    broken = 0
    for _ in range(gates):
        a, b = sides(noise, generator, (cases, n))
        found = [evidence(kind, a[i], b[i]) for i in range(cases)]
        decisions = gate.decide(found, 0.0, method=method)
        broken += any(decision.outcome == "slower" for decision in decisions)
    return broken / gates


def power(loss: float, cases: int, pairs: int, gates: int) -> float:
    """The part of gates that find the one case among others that lost so much, at 10 % noise."""
    generator, hits = seeded("power", loss, cases, pairs), 0
    for _ in range(gates):
        a, b = sides("lognormal", generator, (cases, pairs))
        b[0] *= 1 - loss
        found = [evidence("pairs", a[i], b[i]) for i in range(cases)]
        hits += gate.decide(found, 0.0)[0].outcome == "slower"
    return hits / gates


class Coverage(NamedTuple):
    """`printed`: how often there was an interval; `wrong`: how often one was printed that does not
    hold the truth. Both as parts of all uses."""

    printed: float
    wrong: float


def _of_pairs(
    noise: str, generator: np.random.Generator, n: int
) -> tuple[interval.Interval, float]:
    a, b = sides(noise, generator, (n,))
    return interval.of_pairs(list(zip(a.tolist(), b.tolist(), strict=True))), 1.0


def _of_two(noise: str, generator: np.random.Generator, n: int) -> tuple[interval.Interval, float]:
    a, b = KINDS[noise](generator, (2, n))
    return interval.of_two(a.tolist(), b.tolist()), 1.0


def _of_one(noise: str, generator: np.random.Generator, n: int) -> tuple[interval.Interval, float]:
    return interval.of_median(KINDS[noise](generator, (n,)).tolist()), true_median(noise)


Make = Callable[[str, np.random.Generator, int], tuple[interval.Interval, float]]
INTERVALS: dict[str, tuple[Make, tuple[int, ...]]] = {
    "ratio of pairs": (_of_pairs, (6, 8, 12, 20)),
    "ratio of jobs": (_of_two, (12, 20, 40)),
    "one median": (_of_one, (12, 20, 40)),
}


def coverage(which: str, noise: str, n: int, uses: int) -> Coverage:
    """Of one interval."""
    make, generator = INTERVALS[which][0], seeded(which, noise, n)
    printed = wrong = 0
    for _ in range(uses):
        found, truth = make(noise, generator, n)
        if found.low is not None and found.high is not None:
            printed += 1
            wrong += not found.low <= truth <= found.high
    return Coverage(printed / uses, wrong / uses)


class FalseFailures(NamedTuple):
    """Of `learn`: of one reference in one night, of any of all in one night, and how many cases had
    enough to be learned."""

    one: float
    any: float
    learned: float


def false_failures(noise: str, nights: int, systems: int, references: int = 200) -> FalseFailures:
    """Bounds from so many nights, held against the next ten, of systems that did not change."""
    generator, following = seeded("learn", noise, nights), 10
    rate = min(learned.MOST, learned.FALSE_FAILURES / references)
    fails = np.zeros((systems, following))
    kept = 0
    for system in range(systems):
        history = KINDS[noise](generator, (references, nights + following))
        for case in history:
            if not prediction.is_enough(case[:nights].tolist()):
                continue
            kept += 1
            low = prediction.bounds(case[:nights].tolist(), rate)["low"]
            fails[system] += case[nights:] < low
    one = float(fails.sum() / max(kept * following, 1))
    return FalseFailures(one, float((fails > 0).mean()), kept / (systems * references))
