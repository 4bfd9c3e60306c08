# SPDX-License-Identifier: BSD-3-Clause
"""How far a search is, and the fastest so far."""

from __future__ import annotations

import math
from statistics import median

from iogauge.analysis.statistics.surrogate import Config
from iogauge.analysis.statistics.tuning_search import Round
from iogauge.common.progress import Bar, clock
from iogauge.measure.tune.space import text
from iogauge.measure.tune.trial import Outcome, Wish


class Progress:
    """A watch of a drive (iogauge/measure/tune/drive.py)."""

    def __init__(self, bar: Bar, budget: float, wish: Wish, default: Config) -> None:
        self.bar, self.budget, self.wish, self.default = bar, budget, wish, default
        self.of: dict[Config, dict[int, float]] = {}

    def round(self, now: Round, used: float) -> None:
        self.bar.at(min(used, self.budget), self.budget, f"{self.where(now, used)}; {self.best()}")

    def trial(self, now: Round, arm: Config, outcome: Outcome, used: float) -> None:
        speed = outcome.speed(self.wish)
        if isinstance(speed, float):
            self.of.setdefault(arm, {})[now.number] = speed
        else:
            self.bar.say(f"out: {text(arm)}: {speed}")
        self.round(now, used)

    def where(self, now: Round, used: float) -> str:
        return f"{clock(used)} of {clock(self.budget)}, {now.stage}, round {now.number + 1}"

    def best(self) -> str:
        """The fastest so far of those that ran as often as any."""
        base = self.of.get(self.default, {})
        found = {
            arm: median([math.log(s / base[n]) for n, s in own.items() if n in base])
            for arm, own in self.of.items()
            if arm != self.default and any(n in base for n in own)
        }
        most = max((len(self.of[arm]) for arm in found), default=0)
        found = {arm: v for arm, v in found.items() if len(self.of[arm]) >= min(most, 3)}
        if not found:
            return "nothing beside the default yet"
        arm = max(found, key=lambda one: found[one])
        return f"{math.exp(found[arm]):.2f} times the default: {text(arm)}"
