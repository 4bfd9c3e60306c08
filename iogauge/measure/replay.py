# SPDX-License-Identifier: BSD-3-Clause
"""A program's replay, and its data through other methods: would one have been faster?"""

import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from iogauge.analysis.errors import UsageError
from iogauge.analysis.judge import faster_alternative as faster
from iogauge.analysis.judge.faster_alternative import LOGGED, WRITING, Alternative
from iogauge.analysis.replay.trace import POSIX, Trace
from iogauge.common.guard import Guard
from iogauge.common.tables import BEHIND
from iogauge.common.text import unknown
from reframe_tests.machine.leftovers import own_folder

from . import iokernel
from .iokernel import Stack

POSIX_CALLS = "posix-calls"  # the replay with pread and pwrite in place of MPI-IO calls
BEST = 3  # alternatives in the later rounds: more would need more than seven rounds

At = Callable[[int, int, str], None]  # runs done, all runs, what runs now
Known = Mapping[str, tuple[list[str], int]]  # options of methods, processes that each reserves


@dataclass(frozen=True)
class Runner:
    """`data`: each run makes a folder there, and writes in it. `work`: where their documents and
    traces go; every process sees it."""

    stack: Stack
    data: Path
    work: Path
    guard: Guard = field(default_factory=iokernel.guard)

    def run(self, other: Alternative, more: Sequence[str] = (), traces: Path | None = None) -> Any:
        """The result document, or None: `other` says why. `traces`: where accesses are recorded."""
        hints = [word for hint in other.hints for word in ("--hint", hint)]
        if traces:
            traces.mkdir()
        os.sync()  # else its dirty pages are written while the next is timed
        with own_folder(self.data) as place:
            done = iokernel.run(
                self.stack,
                other.processes,
                [*other.words, *more, *hints, "--dir", str(place)],
                prefix=self.stack.recorded(traces, place) if traces else [],
                seconds=None,
                document=self.work / "result.json",
                guard=self.guard,
            )
        verdict = (done.document or {}).get("verification", {}).get("verdict")
        if done.status == 0 and verdict == "verified":
            return done.document
        other.wrong = done.status != iokernel.REFUSED
        other.why = done.why if done.status else f"verification: {verdict}"
        return None

    def methods(self) -> Known:
        return methods(self.stack.listing([*self.stack.launch, "-n", "1"]))


def methods(listing: Mapping[str, Any]) -> Known:
    found: dict[str, tuple[list[str], int]] = {}
    alone = {mode["name"] for mode in listing["modes"] if mode["one_process"]}
    here = {method["name"] for method in listing["methods"] if method["available"]}
    for method in listing["methods"]:
        name = method["name"]
        words = ["--method", name]
        if not method["available"] or method["moves_nothing"]:
            continue
        if name in BEHIND:
            for inner in (one for one in BEHIND[name] if one in here):
                found[f"{name}:{inner}"] = ([*words, "--inner", inner], 1)
            continue
        for mode in [mode for mode in method["modes"] if mode not in alone]:
            found[f"{name}:{mode}"] = ([*words, "--mode", mode], 0)
        if not method["modes"]:
            found[name] = (words, 0)
    return found


def logged(trace: Trace, planned: Path, options: Sequence[str] = ()) -> Alternative:
    return Alternative(LOGGED, ["replay", "--schedule", str(planned), *options], trace.processes)


@dataclass(frozen=True)
class Others:
    """`extents`, `steps`: from what_if.make. `posix`: the schedule with POSIX calls."""

    extents: Path
    steps: int
    names: Sequence[str] = ()
    hints: tuple[str, ...] = ()
    posix: Path | None = None

    def alternatives(self, replay: Alternative, trace: Trace, known: Known) -> list[Alternative]:
        """The requested alternatives; with hints, first the replay itself if its calls take any."""
        again = self.hints and any(one.level != POSIX for one in trace.files)
        found = [replace(replay, hints=self.hints, seconds={})] if again else []
        if self.posix and (not self.names or POSIX_CALLS in self.names):
            found.append(replace(logged(trace, self.posix, ["--think", "0"]), name=POSIX_CALLS))
        words = ["extents", "--extents", str(self.extents), "--steps", str(self.steps)]
        for name in chosen(self.names, known):
            more, servers = known[name]
            found.append(Alternative(name, [*words, *more], trace.processes + servers, self.hints))
        return found


def chosen(names: Sequence[str], known: Known) -> list[str]:
    """The methods of these names (`mpiio`: each mode), or all. Raises UsageError."""
    found: dict[str, None] = {}
    for asked in names or known:
        if asked == POSIX_CALLS:
            continue
        some = [name for name in known if asked in (name, name.partition(":")[0])]
        if not some:
            first = dict.fromkeys(name.partition(":")[0] for name in known)
            raise UsageError(f"--method {unknown(asked, {**known, **first})}")
        found |= dict.fromkeys(some)
    return list(found)


def seconds(document: Mapping[str, Any], direction: str = WRITING) -> float:
    """Writing counts creating, writing, flushing and closing; reading counts opening, too. As a
    replay's processes are not in step, the process with the longest calls counts in each phase."""
    sides = [sample[direction] for sample in document["samples"]]
    return sum(float(side.get("in_calls", side["seconds"])) for side in sides)


def flushes(document: Mapping[str, Any]) -> bool:
    return any(
        sample[WRITING]["phases"]["flush"]["max"] > 0
        for sample in document["samples"]
        if sample.get(WRITING)
    )


@dataclass
class Contest:
    """`alternatives`: the replay, then the others. `flush`: whether the methods flush, as the log
    does. After a round of all, the `best` fastest go on; that round does not count."""

    runner: Runner
    alternatives: Sequence[Alternative]
    at: At
    direction: str = WRITING
    flush: bool = False
    best: int = BEST
    seed: int = 1
    decided: list[Alternative] = field(default_factory=list)
    made: int = 0  # runs
    total: int = 0

    def run(self, rounds: int) -> None:
        order = random.Random(self.seed)
        replay, *others = self.alternatives
        first = len(others) > self.best
        self.total = first * len(self.alternatives) + rounds * (1 + min(len(others), self.best))
        if first:
            self._round(0, list(self.alternatives), order)
        ran = [other for other in others if not other.why]
        self.decided = sorted(ran, key=lambda other: other.seconds.get(0, 0.0))[: self.best]
        number = 0
        while number < rounds or (number < 2 * rounds and self._lacks_a_range(rounds)):
            number += 1
            todo = [other for other in (replay, *self.decided) if not other.why]
            self.total += len(todo) * (number > rounds)
            self._round(number, todo, order)

    def _lacks_a_range(self, rounds: int) -> bool:
        """Rounds that depend on each other count as fewer, so as many again may be needed."""
        if not self.decided:
            return False
        replay, count = self.alternatives[0], len(self.decided)
        found = [faster.ratio(replay, one, count) for one in self.decided if not one.why]
        return rounds >= faster.rounds_for(count) and any(one and one.low is None for one in found)

    def _round(self, number: int, todo: list[Alternative], order: random.Random) -> None:
        order.shuffle(todo)
        for other in todo:
            self.at(self.made, self.total, f"round {number}: {other.title}")
            self.made += 1
            more = ["--fsync"] if self.flush and other.name != LOGGED else []
            found = self.runner.run(other, more)
            if found:
                other.seconds[number] = seconds(found, self.direction)
