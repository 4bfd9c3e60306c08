# SPDX-License-Identifier: BSD-3-Clause
"""The search for the fastest of many settings. The caller runs what it asks for.

`search` is a generator without side effects: it yields rounds, and receives for each arm (a
complete setting) its speed, or why it is out. A stopped search continues from its recorded answers.
Stages: `explore`, generations by successive halving (Jamieson and Talwalkar, AISTATS 2016), of
random arms and starting points, later of arms that differ from the best in one setting or have the
best guesses; `final`, in which arms leave that are slower than the first at the level corrected for
all arms tried (Bonferroni); `confirm`, new rounds of the winner and the default, whose interval is
the one reported."""

import contextlib
import itertools
import math
import random
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal, Protocol

from .interval import LEVEL, PAIRS, Interval, of_pairs
from .surrogate import Config as Arm
from .surrogate import guesses

Stage = Literal["explore", "final", "confirm"]
Answer = float | str  # a speed, or why the arm is out


class Spent(Exception):
    """Thrown into a search whose budget ends: it moves to its next stage."""


class DefaultFailedError(Exception):
    """The default does not run; the text says why."""


class Space(Protocol):
    @property
    def default(self) -> Arm: ...

    def first(self) -> Sequence[Arm]:
        """Where to begin."""

    def near(self, arm: Arm) -> Sequence[Arm]:
        """Those that differ in one setting."""

    def some(self, count: int, seed: str) -> Sequence[Arm]:
        """Draw so many at random, or all if there are fewer; the same for the same seed."""

    def contains(self, arm: Arm, other: Arm) -> bool:
        """Whether `arm` has all settings that define `other`."""


@dataclass(frozen=True)
class Rules:
    """`chance`: random arms in the first generation. `promising`: arms with the best guesses in
    each later generation, out of `looked` random ones. `beam`: survivors of a generation; `kept`:
    the fraction that survives a round. `least`: rounds of a generation. `patience`: generations
    without improvement before the final. `generations`, `final`: the most generations, and the most
    rounds of the final. `confirm`: rounds of the confirmation; 9 pairs allow for one disturbed pair
    at each end."""

    chance: int = 24
    promising: int = 12
    looked: int = 5000
    beam: int = 4
    kept: float = 0.4
    least: int = 4
    patience: int = 2
    generations: int = 12
    final: int = 20
    confirm: int = 9


RULES = Rules()
DECIDED = ("faster", "slower")
SHARE = 4  # of a short budget: a generation starts with this part of its room


@dataclass(frozen=True)
class Round:
    """Run each of `arms` once, in this order."""

    stage: Stage
    number: int
    arms: tuple[Arm, ...]


@dataclass
class Log:
    """The results: each arm's speeds by round, or why it is out."""

    default: Arm
    speeds: dict[Arm, dict[int, float]] = field(default_factory=dict)
    out: dict[Arm, str] = field(default_factory=dict)
    wrong: set[Arm] = field(default_factory=set)
    rounds: int = 0
    runs: int = 0

    def score(self, arm: Arm, rounds: Iterable[int]) -> float:
        base, own = self.speeds.get(self.default, {}), self.speeds.get(arm, {})
        found = [math.log(own[n] / base[n]) for n in rounds if n in own and n in base]
        return median(found) if found else -math.inf

    def ranked(self, arms: Iterable[Arm], rounds: Sequence[int]) -> list[Arm]:
        return sorted(arms, key=lambda arm: -self.score(arm, rounds))

    def interval(
        self, base: Arm, new: Arm, rounds: Iterable[int], level: float = LEVEL
    ) -> Interval | None:
        """New over base, in these rounds; None if they never met."""
        a, b = self.speeds.get(base, {}), self.speeds.get(new, {})
        pairs = [(a[n], b[n]) for n in rounds if n in a and n in b]
        return of_pairs(pairs, level) if pairs else None

    @property
    def level(self) -> float:
        """The level of one interval, corrected for all arms that were tried."""
        return 1 - (1 - LEVEL) / max(len(self.speeds) + len(self.out) - 1, 1)


@dataclass(frozen=True)
class Found:
    """`winner`: the fastest correct arm, perhaps the default. `searched`: its interval over the
    default in all rounds before the confirmation, at the corrected level. `confirmed`: that from
    the fresh rounds alone; None: there were none."""

    winner: Arm
    searched: Interval | None
    confirmed: Interval | None
    ranked: tuple[Arm, ...]
    log: Log


Search = Generator[Round, Mapping[Arm, Answer], Found]
Steps = Generator[Round, Mapping[Arm, Answer], None]


def search(
    space: Space,
    rules: Rules = RULES,
    seed: int = 1,
    is_wrong: Callable[[str], bool] = lambda _why: False,
    room: Callable[[], float] = lambda: math.inf,
) -> Search:
    """`is_wrong`: whether a reason means wrong bytes: then no arm with those settings is tried or
    advised. `room`: how many runs there is time for; asked after the first round, which has only
    the default. Raises DefaultFailedError."""
    log: Log = Log(space.default)
    course = _Course(space, rules, seed, is_wrong, room, log)
    try:
        yield from course.explore()
        yield from course.final()
    except Spent:
        pass
    before = list(range(log.rounds))
    while True:
        ranked = course.standing(before)
        winner = ranked[0]
        if winner == space.default:
            return Found(winner, None, None, tuple(ranked), log)
        fresh = log.rounds
        with contextlib.suppress(Spent):
            yield from course.confirm(winner)
        if not course.is_out(winner):
            break
    searched = log.interval(space.default, winner, before, log.level)
    confirmed = log.interval(space.default, winner, range(fresh, log.rounds))
    return Found(winner, searched, confirmed, tuple(ranked), log)


@dataclass
class _Course:
    space: Space
    rules: Rules
    seed: int
    is_wrong: Callable[[str], bool]
    room: Callable[[], float]
    log: Log

    def run(self, stage: Stage, arms: Iterable[Arm]) -> Generator[Round, Mapping[Arm, Answer], int]:
        """One round of these and the default, in random order; its number."""
        number = self.log.rounds
        order = list(dict.fromkeys([self.space.default, *arms]))
        random.Random(f"{self.seed} {number}").shuffle(order)
        answers = yield Round(stage, number, tuple(order))
        self.log.rounds += 1
        for arm in order:
            answer = answers.get(arm)
            if answer is None:
                continue  # the budget ended within this round
            self.log.runs += 1
            if isinstance(answer, str):
                self.log.out.setdefault(arm, answer)
                if self.is_wrong(answer):
                    self.log.wrong.add(arm)
            else:
                self.log.speeds.setdefault(arm, {})[number] = answer
        why = answers.get(self.space.default)
        if isinstance(why, str) and len(self.log.speeds.get(self.space.default, {})) < PAIRS:
            raise DefaultFailedError(why)
        return number

    def is_out(self, arm: Arm) -> bool:
        """Whether it failed, or contains the settings of one with wrong bytes."""
        if arm == self.space.default:
            return False
        return arm in self.log.out or any(
            self.space.contains(arm, wrong) for wrong in self.log.wrong
        )

    def inside(self, arms: Iterable[Arm]) -> list[Arm]:
        return [arm for arm in dict.fromkeys(arms) if not self.is_out(arm)]

    def standing(self, rounds: Sequence[int]) -> list[Arm]:
        """All that are still in, fastest first. Arms with enough rounds come before those with
        fewer: one lucky round makes no winner."""
        most = max(
            (len(s) for a, s in self.log.speeds.items() if a != self.space.default), default=0
        )
        enough = min(most, self.rules.least)
        arms = self.inside(self.log.speeds)
        ripe = [arm for arm in arms if len(self.log.speeds[arm]) >= enough]
        green = [arm for arm in arms if arm not in ripe]
        return self.log.ranked(ripe, rounds) + self.log.ranked(green, rounds)

    def explore(self) -> Steps:
        rules, beam, expanded, idle = self.rules, list[Arm](), set[Arm](), 0
        yield from self.run("explore", [])
        fresh = [*self.space.first(), *self.space.some(rules.chance, f"{self.seed}")]
        for _ in range(rules.generations):
            fresh = self.inside(arm for arm in fresh if arm not in self.log.speeds)
            if not fresh or idle > rules.patience:
                break
            before = beam[:1]
            part = max(min(self.room() / SHARE, len(fresh)), rules.beam)
            beam = yield from self.generation([*beam, *fresh[: int(part)]])
            idle = idle + 1 if beam[:1] == before else 0
            fresh = self.promising()
            for arm in (arm for arm in beam[:1] if arm not in expanded):
                expanded.add(arm)
                pairs = itertools.zip_longest(fresh, self.space.near(arm))  # alternates
                fresh = [one for one in itertools.chain(*pairs) if one is not None]

    def promising(self) -> list[Arm]:
        """Untried arms with the best guesses."""
        dead = self.dead()
        some = [
            arm
            for arm in self.space.some(self.rules.looked, f"{self.seed} {self.log.rounds}")
            if arm not in self.log.speeds and not dead & set(arm) and not self.is_out(arm)
        ]
        guessed = guesses(self.log.speeds, self.space.default, some)
        return sorted(some, key=lambda arm: -guessed[arm])[: self.rules.promising]

    def dead(self) -> set[tuple[str, str]]:
        """Values with which every arm failed, at least two."""
        failed = [choice for arm in self.log.out for choice in arm]
        alive = {choice for arm in self.log.speeds if arm not in self.log.out for choice in arm}
        return {choice for choice in failed if failed.count(choice) > 1} - alive

    def generation(self, arms: Iterable[Arm]) -> Generator[Round, Mapping[Arm, Answer], list[Arm]]:
        """The survivors, fastest of these rounds first."""
        alive, rounds = self.inside(arms), list[int]()
        while len(rounds) < self.rules.least or len(alive) > self.rules.beam:
            rounds.append((yield from self.run("explore", alive)))
            alive = self.log.ranked(self.inside(alive), rounds)
            kept = max(math.ceil(len(alive) * self.rules.kept), self.rules.beam)
            alive = alive[:kept]
            if not alive:
                break
        return alive

    def final(self) -> Steps:
        alive = self.standing(range(self.log.rounds))[: self.rules.beam]
        for _ in range(self.rules.final):
            alive = [arm for arm in self.inside(alive) if arm != self.space.default]
            if not alive:
                break
            yield from self.run("final", alive)
            rounds = range(self.log.rounds)
            alive = self.log.ranked(self.inside(alive), rounds)
            alive = [arm for arm in alive if self._verdict(alive[0], arm) != "slower"]
            if len(alive) == 1 and self._verdict(self.space.default, alive[0]) in DECIDED:
                break

    def _verdict(self, base: Arm, new: Arm) -> str:
        found = self.log.interval(base, new, range(self.log.rounds), self.log.level)
        return found.verdict if found else ""

    def confirm(self, winner: Arm) -> Steps:
        for _ in range(self.rules.confirm):
            yield from self.run("confirm", [winner])
            if self.is_out(winner):
                break
