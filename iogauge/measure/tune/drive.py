# SPDX-License-Identifier: BSD-3-Clause
"""Runs the trials of a search until it or its budget ends, and shows progress."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from iogauge.analysis.statistics import tuning_search
from iogauge.analysis.statistics.surrogate import Config
from iogauge.common.progress import Bar, clock

from .space import Space, text
from .trials import Outcome, Session, Wish, is_wrong

FIRST_LIMIT, LIMIT, SLOWER = 600.0, 60.0, 10.0
Run = Callable[[Config, Path, float], Outcome]


class Progress:
    def __init__(self, bar: Bar, budget: float, wish: Wish, default: Config) -> None:
        self.bar, self.budget, self.wish, self.default = bar, budget, wish, default
        self.of: dict[Config, dict[int, float]] = {}

    def round(self, now: tuning_search.Round, used: float) -> None:
        at = f"{clock(used)} of {clock(self.budget)}, {now.stage}, round {now.number + 1}"
        self.bar.at(min(used, self.budget), self.budget, f"{at}; {self._best()}")

    def trial(self, now: tuning_search.Round, arm: Config, outcome: Outcome, used: float) -> None:
        speed = outcome.speed(self.wish)
        if isinstance(speed, float):
            self.of.setdefault(arm, {})[now.number] = speed
        else:
            self.bar.notice(f"excluded: {text(arm)}: {speed}")
        self.round(now, used)

    def _best(self) -> str:
        """The best of those with the most rounds."""
        base = self.of.get(self.default, {})
        found = {
            arm: median([math.log(s / base[n]) for n, s in own.items() if n in base])
            for arm, own in self.of.items()
            if arm != self.default and any(n in base for n in own)
        }
        most = max((len(self.of[arm]) for arm in found), default=0)
        found = {arm: v for arm, v in found.items() if len(self.of[arm]) >= min(most, 3)}
        if not found:
            return "only the default so far"
        arm = max(found, key=lambda one: found[one])
        return f"{math.exp(found[arm]):.2f} times the default: {text(arm)}"


@dataclass
class Drive:
    """A search with its runner. Its clock counts trials' seconds: a resumed search repeats."""

    session: Session
    space: Space
    run: Run
    budget: float
    wish: Wish
    watch: Progress
    rules: tuning_search.Rules = tuning_search.RULES
    used: float = 0.0
    seconds: list[float] = field(default_factory=list)

    def all(self) -> tuning_search.Found:
        known = self.session.known()
        seed = int(self.session.asked.get("seed", 1))
        course = tuning_search.search(self.space, self.rules, seed, is_wrong, self.room)
        try:
            now = next(course)
            while True:
                while self.used >= self.end(now.stage):
                    now = course.throw(tuning_search.Spent())  # to the next stage
                self.watch.round(now, self.used)
                answers = self.round(now, known)
                self.session.write_report()
                now = course.send(answers)
        except StopIteration as ended:
            found: tuning_search.Found = ended.value
            return found

    def end(self, stage: str) -> float:
        """The time when it must end, in seconds of jobs; a search must leave time to confirm."""
        confirm = min(2 * self.rules.confirm * self.typical(), self.budget / 2)
        return self.budget - (0 if stage == "confirm" else confirm)

    def room(self) -> float:
        """The number of jobs that the search has time for."""
        return (self.end("search") - self.used) / max(self.typical(), 1e-3)

    def typical(self) -> float:
        """Typical seconds of a job of the default, so far."""
        return median(self.seconds) if self.seconds else 0.0

    def round(
        self, now: tuning_search.Round, known: Mapping[tuple[int, Config], Outcome]
    ) -> dict[Config, tuning_search.Answer]:
        """The answers of all arms, or of some with the default if time ran out."""
        answers: dict[Config, tuning_search.Answer] = {}
        end = self.end(now.stage)
        for arm in (*now.arms, self.space.default):
            over = self.used >= end and arm != self.space.default
            if arm in answers or (over and (now.number, arm) not in known):
                continue
            outcome = known.get((now.number, arm))
            if outcome is None:
                keep = self.session.keep(len(self.session.trials))
                outcome = self.run(arm, keep, self.limit())
                self.session.add(now.number, now.stage, arm, outcome)
            self.used += outcome.seconds
            self.seconds += [outcome.seconds] if arm == self.space.default else []
            answers[arm] = outcome.speed(self.wish)
            self.watch.trial(now, arm, outcome, self.used)
        return answers

    def limit(self) -> float:
        """Seconds after which a job is killed: a slower one cannot win."""
        typical = self.typical()
        longest = max(LIMIT, SLOWER * typical) if typical else FIRST_LIMIT
        return max(min(longest, self.budget - self.used), min(LIMIT, longest) / 2)
