# SPDX-License-Identifier: BSD-3-Clause
"""How good the tuner's search is, in simulated spaces with known truth and noise: calls, MPI-IO
components, and settings whose effects are factors, mostly near 1. Some fail, some write wrong
bytes. Compared with a full sweep in as many rounds as an interval takes."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from iogauge.analysis.statistics.interval import PAIRS
from iogauge.analysis.statistics.surrogate import Config
from iogauge.analysis.statistics.tuning_search import RULES, Answer, Found, Round, Rules, search
from iogauge.measure.tune.space import CALL, Setting, Space

from .noise import KINDS, Floats
from .rates import seeded

MAIN, PAIR = 0.25, 0.08  # spread of the logarithm of an effect
BROKEN, WRONG = 0.03, 0.02  # shares of values that fail, and that write wrong bytes
LONG = 400  # rounds for which noise is made at once
NEAR = 0.9  # of the best


class Searched(NamedTuple):
    """Of many searches: how many end near the best, the runs as a part of a full sweep's (mean),
    how many have advised what writes wrong bytes, the part of confirmed intervals that hold the
    truth, and of confirmations the part with an interval."""

    near: float
    runs: float
    wrong: int
    held: float
    printed: float


def made_space() -> Space:
    """6 calls, two components, eight settings: 693 combinations."""
    any_call = frozenset({"collective"})
    return Space(
        settings=(
            Setting("io", ("other",), (), frozenset(), ("one", "other")),
            Setting("aggregators", ("1", "2", "4"), (), frozenset({"other", "collective"})),
            Setting("buffer", ("1", "4", "16", "64"), (), frozenset({"other"})),
            Setting("sieving", ("on", "off"), (), frozenset({"other"})),
            Setting("way", ("a", "b", "c", "d"), (), frozenset({"one", "collective"})),
            Setting("count", ("1", "2", "4"), (), frozenset({"one"})),
            Setting("swap", ("on", "off"), (), frozenset({"swaps"})),
            Setting("align", ("4k", "1m"), (), frozenset({"aligns"})),
        ),
        calls={
            "raw": any_call, "raw alone": frozenset(), "a": any_call | {"swaps"},
            "a alone": frozenset({"swaps"}), "b": any_call | {"aligns"},
            "b alone": frozenset({"aligns"}),
        },
        features=frozenset({"one"}),
        default=((CALL, "raw"),),
    )  # fmt: skip


@dataclass
class Truth:
    """What each setting really does. `effects`: logarithms, by choice and by pair of choices."""

    space: Space
    generator: np.random.Generator
    effects: dict[object, float]
    outcome: dict[tuple[str, str], str]

    @classmethod
    def make(cls, space: Space, generator: np.random.Generator) -> "Truth":
        outcome = {}
        for setting in space.settings:
            for value in setting.values:
                chance = generator.random()
                if chance < BROKEN + WRONG and not setting.makes:
                    why = "crashed" if chance < BROKEN else "wrong bytes"
                    outcome[setting.name, value] = why
        return cls(space, generator, {}, outcome)

    def effect(self, key: object, spread: float) -> float:
        if key not in self.effects:
            self.effects[key] = spread * float(self.generator.standard_normal())
        return self.effects[key]

    def speed(self, arm: Config) -> float:
        total = sum(self.effect(choice, MAIN) for choice in arm)
        total += sum(self.effect((a, b), PAIR) for i, a in enumerate(arm) for b in arm[i + 1 :])
        return math.exp(total)

    def why_not(self, arm: Config) -> str:
        return next((why for choice in arm if (why := self.outcome.get(choice))), "")

    def best(self) -> float:
        return max(self.speed(arm) for arm in self.space.all if not self.why_not(arm))


def one(space: Space, noise: str, seed: int, rules: Rules) -> tuple[Found, Truth]:
    """One search in a new space. All runs of a round share the same drift."""
    generator = seeded("search", noise, seed)
    truth = Truth.make(space, generator)
    drift = KINDS[noise](generator, (LONG,)) if noise.startswith("alike") else np.ones(LONG)
    kind = "10 %" if noise.startswith("alike") else noise
    course = search(space, rules, seed, lambda why: why == "wrong bytes")
    try:
        now: Round = next(course)
        while True:
            own: Floats = KINDS[kind](generator, (len(now.arms),))
            answers: dict[Config, Answer] = {
                arm: truth.why_not(arm) or truth.speed(arm) * drift[now.number % LONG] * factor
                for arm, factor in zip(now.arms, own.tolist(), strict=True)
            }
            now = course.send(answers)
    except StopIteration as ended:
        found: Found = ended.value
        return found, truth


def searched(noise: str, searches: int, rules: Rules = RULES) -> Searched:
    space = made_space()
    sweep = space.size * PAIRS
    near = wrong = 0
    runs = 0.0
    holds: list[bool | None] = []  # None: no interval, because neighbors were alike by chance
    for seed in range(searches):
        found, truth = one(space, noise, seed, rules)
        near += truth.speed(found.winner) >= NEAR * truth.best()
        wrong += bool(truth.why_not(found.winner))
        runs += found.log.runs / sweep
        ratio = truth.speed(found.winner) / truth.speed(space.default)
        if interval := found.confirmed:
            low, high = interval.low, interval.high
            holds.append(None if low is None or high is None else low <= ratio <= high)
    printed = [one for one in holds if one is not None]
    held = sum(printed) / max(len(printed), 1)
    return Searched(
        near / searches, runs / searches, wrong, held, len(printed) / max(len(holds), 1)
    )
