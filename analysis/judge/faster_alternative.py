# SPDX-License-Identifier: BSD-3-Clause
"""Would another method have written a program's data faster, and how certain is that?"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from iogauge.common.text import duration, three

from ..columns import columns
from ..statistics.interval import LEVEL, Interval, of_pairs, pairs_for

LOGGED = "as logged"  # the replay itself
UNLIKE = (0.8, 1.2)  # outside of it, replay and program differ in time
KNOWN = 2.0
WRITING, READING = "write", "read"
PRESENT = {WRITING: "write your dump", READING: "read your data"}
PERFECT = {WRITING: "written your dump", READING: "read your data"}
COLUMNS = columns("alternatives")


@dataclass
class Alternative:
    """`words`: of iokernel. `seconds`: by round. `why`: it was left out, or is wrong."""

    name: str
    words: list[str]
    processes: int
    hints: tuple[str, ...] = ()
    seconds: dict[int, float] = field(default_factory=dict)
    why: str = ""
    wrong: bool = False

    @property
    def title(self) -> str:
        return f"{self.name} with {', '.join(self.hints)}" if self.hints else self.name


def ratio(replay: Alternative, other: Alternative, count: int = 1) -> Interval | None:
    """How many times as fast as the replay, over the rounds that count; None if there are none. The
    intervals of `count` alternatives hold together at 95 % (Bonferroni)."""
    shared = [n for n in replay.seconds if n and n in other.seconds]
    if not shared:
        return None
    pairs = [(1 / replay.seconds[n], 1 / other.seconds[n]) for n in shared]
    return of_pairs(pairs, level=1 - (1 - LEVEL) / count)


def rounds_for(count: int) -> int:
    return pairs_for(1 - (1 - LEVEL) / count)


def sentence(other: Alternative, found: Interval, direction: str = WRITING) -> str:
    """A range instead of a factor if it is not known within KNOWN."""
    if found.low is None or found.high is None:
        return f"{other.title}: not decided yet: add --rounds {found.wanted}"
    if found.high < 1:
        factor = _factor(1 / found.value, 1 / found.high, 1 / found.low, "long")
        return f"{other.title} would have taken {factor} to {PRESENT[direction]}"
    factor = _factor(found.value, found.low, found.high, "fast")
    if found.low > 1:
        return f"{other.title} would have {PERFECT[direction]} {factor}"
    alike = "no difference" if "(" in factor else "slower or faster"
    return f"{other.title}: {alike}, {factor}"


def _factor(value: float, low: float, high: float, word: str) -> str:
    span = f"{three(low)} to {three(high)}"
    exact = value <= KNOWN * low and high <= KNOWN * value
    return f"{three(value)} times as {word} ({span})" if exact else f"{span} times as {word}"


def beside_program(replay: float, program: float) -> str:
    """A warning if the replay's time differs from the program's; else empty."""
    if not program or UNLIKE[0] <= replay / program <= UNLIKE[1]:
        return ""
    return f"the replay took {three(replay / program)} times as long as the program in its calls"


def _wider(found: Interval, by: float) -> Interval:
    """Widened to cover the program, `by` times as long as the replay."""
    if found.low is None or found.high is None:
        return found
    return replace(found, low=found.low * min(1, by), high=found.high * max(1, by))


def answer(
    alternatives: Sequence[Alternative],
    decided: Sequence[Alternative],
    program: float = 0.0,
    direction: str = WRITING,
) -> list[str]:
    """A line per alternative to the replay, the first of all: decided ones first, fastest first;
    then those that ran once; then the rest. `program`: its own seconds, if known."""
    replay, *others = alternatives
    if replay.why:
        return [f"{LOGGED}: {replay.why}"]
    took = [value for number, value in replay.seconds.items() if number]
    lines = []
    if took:
        median = statistics.median(took)
        own = duration(program) if program else "unknown"
        text = f"{LOGGED}: {duration(median)} to {PRESENT[direction]}, verified"
        lines = [f"{text}; the program itself: {own}"]
        if unlike := beside_program(median, program):
            lines.append(f"{unlike}: the ranges are wider by that")
    count = len(decided)
    found = [(one, other) for other in decided if (one := ratio(replay, other, count))]
    if took and beside_program(median, program):
        found = [(_wider(one, program / median), other) for one, other in found]
    if found and not any(one.low is None or one.low > 1 for one, other in found if not other.why):
        tried = sum(not other.why for other in others)
        faster = f"{PERFECT[direction]} significantly faster"
        lines.append(f"none of the other methods ({tried}) would have {faster}")
    for one, other in sorted(found, key=lambda pair: -pair[0].value):
        if not other.why:
            lines.append(f"{sentence(other, one, direction)}, verified")
    once = [other for other in others if not other.why and other not in decided]
    if once:
        names = ", ".join(other.title for other in once)
        lines.append(f"tried in one round, not among the fastest, verified: {names}")
    return [*lines, *_left_out(others)]


def rows(
    alternatives: Sequence[Alternative], decided: Sequence[Alternative], direction: str = WRITING
) -> list[dict[str, str | float | int | bool | None]]:
    """For programs; the columns are COLUMNS. `ratio`: of speeds, relative to the replay."""
    replay = alternatives[0]
    found = []
    for other in alternatives:
        one = ratio(replay, other, len(decided)) if other in decided else None
        took = [seconds for number, seconds in other.seconds.items() if number or not one]
        values = (
            other.name,
            " ".join(other.hints),
            one.verdict if one else None,
            one.value if one else None,
            one.low if one else None,
            one.high if one else None,
            statistics.median(took) if took else None,
            len(took),
            bool(took) and not other.why,
            other.why,
            direction,
        )
        found.append(dict(zip(COLUMNS, values, strict=True)))
    return found


def _left_out(others: Sequence[Alternative]) -> list[str]:
    """Grouped by reason, which all modes of a method share."""
    reasons: dict[tuple[bool, str], list[str]] = {}
    for other in others:
        if other.why:
            reasons.setdefault((other.wrong, other.why), []).append(other.title)
    return [
        f"{'WRONG' if wrong else 'left out'}: {', '.join(names)}: {why}"
        for (wrong, why), names in sorted(reasons.items())
    ]
