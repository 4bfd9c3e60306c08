# SPDX-License-Identifier: BSD-3-Clause
"""What one session found, in words: the fastest way for each pattern, which stack wins where, what
stands far below its ceiling, and what is undecided and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from iogauge.common.digits import three

from ..errors import NothingFoundError
from ..statistics import interval
from ..store import database as store
from . import compare_references
from .advice import DEFAULT, candidates, default_of, fastest
from .compare_runs import Question

Row = dict[str, Any]

FAR_BELOW = 0.5  # of the ceiling
NAMED = 3


@dataclass(frozen=True)
class Place:
    """The fastest way to write a pattern on a file system, and what it was held against: `gain`
    over the default on the same stack, `stacks` over the same call on each other one."""

    pattern: str
    fs: str
    best: Row
    gain: interval.Interval | None
    stacks: dict[str, interval.Interval]

    @property
    def name(self) -> str:
        return f"{self.pattern} {self.fs}"


def places(connection: Any, where: store.Where, default: str) -> list[Place]:
    """Of each pattern and file system of the runs that `where` lets pass."""
    patterns = store.rows(
        connection,
        f"""SELECT DISTINCT pattern FROM records
        WHERE {where.sql} AND verdict = 'verified' AND NOT is_peak ORDER BY 1""",
        where.values,
    )
    found = []
    for pattern in (row["pattern"] for row in patterns):
        groups = candidates(connection, where.key("pattern", [pattern]), "write_bw")
        found += [_place(pattern, key[0], group, default) for key, group in groups.items()]
    return found


def _place(pattern: str, fs: str, group: Sequence[Row], default: str) -> Place:
    best = fastest(group, default)
    base = default_of(best, group, default)
    gain = interval.of_jobs(base["found"], best["found"]) if base and base is not best else None
    same = ("call", "variant", "hints")
    stacks = {
        row["stack"]: interval.of_jobs(row["found"], best["found"])
        for row in group
        if row["stack"] != best["stack"] and all(row[key] == best[key] for key in same)
    }
    return Place(pattern, fs, best, gain, stacks)


def in_words(connection: Any, where: store.Where, default: str = DEFAULT) -> list[str]:
    """One line for each pattern, then the stacks, the ceilings, and what is undecided. Raises
    NothingFoundError."""
    found = places(connection, where, default)
    if not found:
        raise NothingFoundError("the session holds no verified write: nothing was found")
    by_pattern: dict[str, list[Place]] = defaultdict(list)
    for place in found:
        by_pattern[place.pattern].append(place)
    lines = [f"{name}: {'; '.join(map(_fastest, of))}" for name, of in by_pattern.items()]
    return [
        "fastest way to write, by pattern and file system:",
        *lines,
        _of_stacks(found),
        _of_ceilings(connection, where, found),
        _of_undecided(found),
    ]


def _fastest(place: Place) -> str:
    best = place.best
    variant = f" ({best['variant']})" if best["variant"] else ""
    speed = median(best["found"].values())
    text = f"{place.fs} {best['call']}{variant} on {best['stack']}, {three(speed)} MiB/s"
    gain = place.gain
    if gain is None or gain.verdict == "too few samples":
        return text
    if gain.verdict == "no difference seen":
        return f"{text} (none over {DEFAULT} is sure: {_ratio(gain)})"
    return f"{text}, {_ratio(gain)} times {DEFAULT}"


def _ratio(found: interval.Interval) -> str:
    return f"{three(found.value)} ({three(found.low or 0)} to {three(found.high or 0)})"


def _of_stacks(found: Sequence[Place]) -> str:
    wins: dict[str, list[str]] = defaultdict(list)
    for place in found:
        for other, ratio in place.stacks.items():
            if ratio.verdict == "faster":
                text = f"{place.name} {_ratio(ratio)} times {other}"
                wins[place.best["stack"]].append(text)
    if wins:
        said = [f"{stack} wins {len(of)}: {_some(of)}" for stack, of in sorted(wins.items())]
        return f"stacks: {'; '.join(said)}"
    return "stacks: no difference was decided"


def ceilings(rows: Sequence[Row], found: Sequence[Place]) -> list[tuple[Place, Row]]:
    """The fastest calls with their shares of the ceiling. `rows`: of compare_references.PEAK."""
    known = {tuple(row[k] for k in _WAY): row for row in rows if row["quantity"] == "write_bw"}
    keys = [(one, (one.pattern, *(one.best[k] for k in _WAY[1:]))) for one in found]
    return [(place, known[key]) for place, key in keys if key in known]


_WAY = (
    "pattern", "fs", "scale", "processes", "method", "mode", "stack", "variant", "hints", "fsync",
)  # fmt: skip


def _of_ceilings(connection: Any, where: store.Where, found: Sequence[Place]) -> str:
    """Of the fastest ways; only where all of the interval is far below."""
    try:
        rows = compare_references.with_peak(connection, where, Question(""))
    except NothingFoundError:
        return "ceilings: none was measured"
    best = [(place.name, row) for place, row in ceilings(rows, found)]
    known = [(name, row) for name, row in best if row["low"] is not None]
    far = sorted(
        (one for one in known if one[1]["high"] < FAR_BELOW), key=lambda one: one[1]["efficiency"]
    )
    texts = [
        f"{name} {row['efficiency']:.0%} ({row['low']:.0%} to {row['high']:.0%})".replace("%", " %")
        for name, row in far
    ]
    of = f"{len(known)} of {len(best)} fastest ways decided"
    if not texts:
        return f"ceilings: none is sure to stay below {FAR_BELOW:.0%} ({of})".replace("%", " %")
    return f"far below a file per process ({of}): {_some(texts)}"


def _of_undecided(found: Sequence[Place]) -> str:
    open_ones = list(_open(found))
    if not open_ones:
        return "undecided: nothing"
    reasons = Counter(why for _, why in open_ones)
    said = [f"{_some([name for name, of in open_ones if of == why])}: {why}" for why in reasons]
    return f"undecided: {'; '.join(said)}"


def _open(found: Sequence[Place]) -> Iterator[tuple[str, str]]:
    """The questions without an answer, and why."""
    for place in found:
        asked = [("gain", place.gain), *((f"{stack}?", r) for stack, r in place.stacks.items())]
        for what, ratio in asked:
            if ratio is not None and ratio.verdict == "too few samples":
                yield f"{place.name} {what}", ratio.lacks
            elif ratio is not None and ratio.verdict == "no difference seen":
                yield f"{place.name} {what}", "now one was faster, now the other"


def _some(texts: Sequence[str]) -> str:
    """The first few, and how many more."""
    more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return ", ".join(texts[:NAMED]) + more
