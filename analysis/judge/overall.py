# SPDX-License-Identifier: BSD-3-Clause
"""The answers of a comparison over all cases, and over each file system and direction."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from iogauge.common.text import counted, ratio, three

from ..session.model import USUAL
from ..session.model import speeds as as_speeds
from ..statistics import gate
from ..statistics.interval import LEVEL, PAIRS, Interval
from . import samples
from .selection import CASE, Group

FS = CASE.index("fs")
_WORDS = ("writes to {}", "reads from {}", "files created on {}", "files opened on {}")
ABOUT = dict(zip(USUAL, _WORDS, strict=True))
Pair = tuple[Group, Group]


@dataclass(frozen=True)
class Sides:
    """A's and B's names, the command that runs more pairs (or empty), and the seconds of a job."""

    a: str
    b: str
    more: str
    seconds: float


def speeds(group: Group) -> dict[samples.Job, float]:
    """A speed for each job."""
    return dict(zip(group.jobs, as_speeds(group.quantity, group.jobs.values()), strict=True))


def evidence(both: Sequence[Pair]) -> list[gate.Evidence]:
    return [samples.evidence(speeds(a), speeds(b)) for a, b in both]


def by_case(both: Sequence[Pair]) -> list[gate.Evidence]:
    """The cases, with one ratio for all that was measured in the same jobs, such as writes and
    reads."""
    found: dict[object, list[gate.Evidence]] = {}
    for (a, _), one in zip(both, evidence(both), strict=True):
        found.setdefault(a.case, []).append(one)
    return [_mean(of) for of in found.values()]


def _mean(of: Sequence[gate.Evidence]) -> gate.Evidence:
    first = of[0]
    pairs = {
        key: statistics.mean(one.pairs[key] for one in of if key in one.pairs)
        for key in dict.fromkeys(key for one in of for key in one.pairs)
    }
    if pairs or len(of) == 1:
        return gate.Evidence(first.ratio, pairs, first.base, first.new)
    base, new = (
        {
            key: statistics.geometric_mean(side[key] for side in sides if key in side)
            for key in sides[0]
        }
        for sides in ([one.base for one in of], [one.new for one in of])
    )
    return gate.Evidence(first.ratio, {}, base, new)


def answers(both: Sequence[Pair], sides: Sides) -> list[str]:
    """A sentence over all cases with its 95 % interval, then a line for each file system and
    direction with cases enough, whose intervals hold all together in 95 %."""
    whole = evidence(both)
    found = gate.overall(by_case(both))
    if found is None:
        return []
    lines = [
        f"{_where(both)} over {counted(found.cases, 'case')}, {_typically(found.interval, sides)}."
    ]
    groups: dict[tuple[str, str], list[int]] = {}
    for i, (a, _) in enumerate(both):
        groups.setdefault((str(a.case[FS]), a.quantity), []).append(i)
    large = [(key, [whole[i] for i in of]) for key, of in groups.items() if len(of) >= PAIRS]
    for (fs, quantity), cases in large if len(groups) > 1 else ():
        about = ABOUT.get(quantity, f"{quantity} on {{}}").format(fs or "any file system")
        level = 1 - (1 - LEVEL) / len(large)
        lines.append(f"  {about}, {counted(len(cases), 'case')}: {_of_group(cases, level, sides)}")
    return [*lines, *_what_is_in_it(both, whole, sides)]


def _where(both: Sequence[Pair]) -> str:
    """The sessions of the answer, if too few to generalise."""
    count = len({job.session for pair in both for group in pair for job in group.jobs})
    if count == 1:
        return "In this session,"
    return f"In these {count} sessions," if count < PAIRS else f"In {count} sessions,"


def _typically(found: Interval, sides: Sides) -> str:
    if found.verdict == "no difference":
        return f"{sides.b} is as fast as {sides.a}: {no_difference(found)}"
    typically = "on average" if found.kind == "rounds" else "typically"
    value = f"{typically} {ratio(found.value, found.verdict)} times as fast as {sides.a}"
    if found.low is None or found.high is None:
        return f"{sides.b} was {value}, not decided yet: {found.lacks}"
    ends = f"({three(found.low)} to {three(found.high)})"
    open_ = "" if found.verdict != "not decided yet" else ", not decided yet"
    return f"{sides.b} is {value} {ends}{open_}"


def no_difference(found: Interval) -> str:
    """`no difference above 12 %`."""
    return f"no difference above {math.ceil(100 * found.most)} %"


def _of_group(cases: Sequence[gate.Evidence], level: float, sides: Sides) -> str:
    whole = gate.overall(cases, level)
    assert whole  # each case has both sides
    found = whole.interval
    if found.verdict == "no difference":
        return no_difference(found)
    ends = "" if found.low is None else f" ({three(found.low)} to {three(found.high or 0)})"
    text = f"{sides.b} {ratio(found.value, found.verdict)} times as fast{ends}"
    if found.verdict != "not decided yet":
        return text
    return f"not decided yet, {text}{_takes(found, cases, sides)}"


def _takes(found: Interval, cases: Sequence[gate.Evidence], sides: Sides) -> str:
    """How many more rounds of these cases would decide it, and their minutes."""
    if found.kind == "sessions":
        return f": {found.lacks}"
    rounds = more_rounds(found, min(len(case.pairs) for case in cases if case.pairs))
    seconds = rounds * 2 * len(cases) * sides.seconds
    time = f", about {math.ceil(seconds / 60)} min" if seconds else ""
    return f": {counted(rounds, 'more round')}{time}"


def more_rounds(found: Interval, now: int) -> int:
    fewest = 2 if found.kind == "cases" else 1  # two rounds in all hardly tell the noise
    return max(math.ceil(now * found.wanted / min(found.samples)) - now, fewest)


def _what_is_in_it(both: Sequence[Pair], whole: Sequence[gate.Evidence], sides: Sides) -> list[str]:
    """What could pass for a difference here, and how to exclude it."""
    if not any(case.pairs for case in whole):
        why = f"{sides.a} and {sides.b} did not run side by side: a session is one sample"
        return [f"  {why}{f'; pairs: {sides.more}' if sides.more else ''}"]
    if all(job.drawn for pair in both for group in pair for job in group.jobs):
        return []
    return ["  A and B did not run in random order: what the second job gains is included"]
