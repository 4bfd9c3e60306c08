# SPDX-License-Identifier: BSD-3-Clause
"""How far a search is, on stderr: one line that changes on a terminal, a line a round in a pipe."""

from __future__ import annotations

import math
import sys
from statistics import median
from types import TracebackType

from iogauge.analysis.statistics.surrogate import Config
from iogauge.analysis.statistics.tuning_search import Round
from iogauge.measure.tune.space import text
from iogauge.measure.tune.trial import Outcome, Wish


def clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Progress:
    """A watch of a drive (iogauge/measure/tune/drive.py)."""

    def __init__(self, budget: float, wish: Wish, default: Config) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        self.budget, self.wish, self.default = budget, wish, default
        self.of: dict[Config, dict[int, float]] = {}
        self.terminal = sys.stderr.isatty()
        self.bar = Bar(
            BarColumn(20), TextColumn("{task.description}"), console=Console(stderr=True),
            transient=True, disable=not self.terminal,
        )  # fmt: skip
        self.task = self.bar.add_task("begins", total=budget)

    def __enter__(self) -> Progress:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        where: TracebackType | None,
    ) -> None:  # fmt: skip
        self.bar.stop()

    def round(self, now: Round, used: float) -> None:
        if not self.terminal:
            line = f"{self.where(now, used)}, {len(now.arms)} settings; {self.best()}"
            print(f"tune: {line}", file=sys.stderr, flush=True)

    def trial(self, now: Round, arm: Config, outcome: Outcome, used: float) -> None:
        speed = outcome.speed(self.wish)
        if isinstance(speed, float):
            self.of.setdefault(arm, {})[now.number] = speed
        elif not self.terminal:
            print(f"tune: out: {text(arm)}: {speed}", file=sys.stderr, flush=True)
        line = f"{self.where(now, used)}; {self.best()}"
        self.bar.update(self.task, completed=min(used, self.budget), description=line)

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
