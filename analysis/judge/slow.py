# SPDX-License-Identifier: BSD-3-Clause
"""Which process, node, file or OST was slow beyond what equal ones would show by chance.

Only members with equal work are compared, in each repeat: by the document where no process waits
for another within a call, otherwise by a trace that has single POSIX calls (DXT).

Bonferroni's bound keeps the false alarms of all questions at RATE at most.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..darshan.log import Log
from ..ledger import calls, phases
from ..ledger.ledger import is_ceiling, is_direct
from ..ledger.traced import Traced
from ..session.model import DIRECTIONS, Direction

RATE = 0.05
SLOWER = 1.5  # times the mean of all; below, it is no cause, however often
EQUAL = 1.1  # times as much work, at most
UNEVEN = ("extents", "file", "replay")  # whose processes may differ in calls
KINDS = {"process": "process {0}{1}", "host": "host {0}", "file": "file {0}", "ost": "OST {0}"}
PAIRED = {"ost": "comparisons of equal files, one on each"}


def chance(times: int, rounds: int, members: int, questions: int = 1) -> float:
    """An upper bound of the probability that, by chance alone, one of equal `members` is slowest so
    often in any of the questions."""
    ways = sum(
        math.comb(rounds, k) * (members - 1) ** (rounds - k) for k in range(times, rounds + 1)
    )
    return min(1.0, float(members * questions * ways / members**rounds))


class Round(NamedTuple):
    member: Any  # the slowest
    seconds: float
    mean: float  # seconds, of all
    host: str = ""


@dataclass(frozen=True)
class Question:
    """Whether one of `members` is slow. `asked`: how many questions of the run."""

    kind: str
    direction: Direction
    members: int
    rounds: Sequence[Round]
    asked: int = 1

    @property
    def slowest_in(self) -> list[Round]:
        """The rounds won by the member that was slowest most often."""
        most = statistics.mode(one.member for one in self.rounds)
        return [one for one in self.rounds if one.member == most]

    @property
    def chance(self) -> float:
        return chance(len(self.slowest_in), len(self.rounds), self.members, self.asked)

    @property
    def is_slow(self) -> bool:
        factor = statistics.median(one.seconds / one.mean for one in self.slowest_in)
        return self.chance <= RATE and factor >= SLOWER

    def __str__(self) -> str:
        member, *_, host = self.slowest_in[0]
        who = KINDS[self.kind].format(member, f" on host {host}" if host else "")
        slow = f"{' is slow: it' * self.is_slow} was the slowest in {len(self.slowest_in)}"
        paired = PAIRED.get(self.kind, "repeats")
        return f"{who}{slow} of {len(self.rounds)} {paired} (by chance: {self.chance:.1g})"


def questions(doc: dict[str, Any], traced: Traced | None) -> list[Question]:
    """They name an innocent member in at most RATE of all runs. The surest first."""
    found: list[Question] = []
    more = [*_of_trace(traced), *of_osts(traced.log)] if traced else []
    for direction in DIRECTIONS:
        known = list(_of_document(doc, direction))
        also = [one for one in more if one.direction == direction]
        found += [*known, *(one for one in also if not known or one.kind in ("file", "ost"))]
    return sorted((replace(one, asked=len(found)) for one in found), key=lambda one: one.chance)


def latencies(
    doc: dict[str, Any], direction: Direction, traced: Traced | None = None
) -> list[dict[str, Any]]:
    """Latencies of single calls, one for each repeat that measured them, else one for the trace.
    `mean`: seconds per process; only from the document."""
    sides = [sample.get(direction) or {} for sample in doc["samples"]]
    found = [
        {**side["latency"], "mean": side["phases"][direction]["mean"]}
        for side in sides
        if side.get("latency")
    ]
    if found or not traced:
        return found
    rows = traced.singly.of(calls.lowest_layer(traced.singly), direction)
    some = replace(traced.singly, rows=rows)
    own = calls.times(some, "process")
    return [
        {**one, "slowest": max(own, key=lambda each: each["seconds"])}
        for one in calls.times(some, "call")
    ]


def _of_document(doc: dict[str, Any], direction: Direction) -> Iterator[Question]:
    asked, found = doc["asked"], latencies(doc, direction)
    rounds = [
        Round(most["process"], most["seconds"], one["mean"], most["host"])
        for one in found
        if one["mean"] and (most := one["slowest"])
    ]
    alone = asked.get("mode") == "independent" and asked["method"] != "adios2"
    alone = alone or asked["method"] in ("posix", "posix-shared")
    if rounds and alone and asked["pattern"] not in UNEVEN:
        processes, nodes = (doc["system"][name] for name in ("processes", "nodes"))
        largest = doc["memory"]["data"] * asked["steps"] * processes
        if processes > 1 and largest <= EQUAL * doc["payload"]["bytes"]:
            yield Question("process", direction, processes, rounds)
            if nodes > 1 and processes == nodes * doc["system"]["processes_per_node"]:
                yield Question(
                    "host", direction, nodes, [r._replace(member=r.host) for r in rounds]
                )


def _of_trace(traced: Traced) -> Iterator[Question]:
    files = traced.singly.files
    for direction in DIRECTIONS:
        rows = traced.singly.of("POSIX", direction)
        sides = [sample.get(direction) or {} for sample in traced.document["samples"]]
        spans = [side["spans"] for side in sides if side.get("spans")]
        ends = [max(one["end"] for one in repeat) + phases.SLACK for repeat in spans]
        at = np.searchsorted([one[0]["begin"] for one in spans], rows["begin"], side="right") - 1
        repeats = [rows[(at == i) & (rows["begin"] <= end)] for i, end in enumerate(ends)]
        for kind in ("process", "file"):
            works = [_works(some, some[kind]) for some in repeats]
            equal = set.intersection(*map(_equal, works)) if works else set()
            rounds = []
            for work in works if len(equal) > 1 else ():
                *_, second, most = sorted((work[name][0], name) for name in equal)
                mean = statistics.fmean(work[name][0] for name in equal)
                member = files[most[1]] if kind == "file" else most[1]
                rounds += [Round(member, most[0], mean)] * (most[0] > second[0])
            if rounds:  # none where the clock is too coarse
                yield Question(kind, direction, len(equal), rounds)


def of_osts(log: Log) -> Iterator[Question]:
    """Compares OSTs by files that lie on one OST each. A process's files on an OST count as one."""
    for direction in DIRECTIONS:
        word, moved = direction.upper(), phases.BYTES[direction]
        works: dict[tuple[int, ...], tuple[float, ...]] = {}
        for file in log.files:
            osts = set(log.osts.get(file.path, ()))
            beside = is_ceiling(file.path) or is_direct(file.path)
            if file.module == "POSIX" and len(osts) == 1 and not beside:
                unit = (osts.pop(), *sorted(work.rank for work in file.ranks))
                seconds = max(file.values.get(f"F_{word}_TIME", 0.0), 0.0)
                did = seconds, file.count(moved), file.count(f"{word}S")
                works[unit] = tuple(map(sum, zip(works.get(unit, (0, 0, 0)), did, strict=True)))
        of: dict[int, list[float]] = defaultdict(list)
        for unit in sorted(_equal(works)):
            of[unit[0]].append(works[unit][0])
        rounds = []
        for some in zip(*of.values(), strict=False) if len(of) > 1 else ():
            *_, second, most = sorted(zip(some, of, strict=True))
            rounds += [Round(most[1], most[0], statistics.fmean(some))] * (most[0] > second[0])
        if rounds:
            yield Question("ost", direction, len(of), rounds)


def _works(rows: NDArray[np.void], by: NDArray[np.int64]) -> dict[int, tuple[float, ...]]:
    """Seconds, bytes and calls of each."""
    names, which, calls = np.unique(by, return_inverse=True, return_counts=True)
    sums = [np.bincount(which, rows[name], len(names)) for name in ("seconds", "bytes")]
    did = zip(*(each.tolist() for each in (*sums, calls)), strict=True)
    return dict(zip(names.tolist(), did, strict=True))


def _equal(work: dict[Any, tuple[float, ...]]) -> set[Any]:
    """Those that moved as many bytes in as many calls as the busiest."""
    least = [max(each) / EQUAL for each in zip(*work.values(), strict=True)]
    return {name for name, did in work.items() if did[1] >= least[1] and did[2] >= least[2]}
