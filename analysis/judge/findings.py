# SPDX-License-Identifier: BSD-3-Clause
"""The findings of one session: the fastest calls, which stack is faster, what is undecided."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice
from statistics import median
from typing import Any

from iogauge.common.text import percent

from ..columns import columns
from ..errors import NothingFoundError
from ..session.model import BANDWIDTHS, RATES, unit_of
from ..statistics import interval
from ..store import database as store
from . import compare_runs
from .advice import Step, by_kind, candidates, default_of, fastest, of_kind, over
from .compare_runs import Question

Row = dict[str, Any]

FAR_BELOW = 0.5  # of the peak
CREATED, WRITTEN = RATES["write"], BANDWIDTHS["write"]
NAMED = 3


@dataclass(frozen=True)
class Place:
    """The fastest call that writes a pattern on a file system. `base`: the default on the same
    stack, and `gain` over it; `stacks`: the gain over the same call on each other stack. `steps`:
    by kind of file. `unit`: MiB/s, or files/s where a pattern makes many small files."""

    pattern: str
    fs: str
    unit: str
    best: Row
    base: Row | None
    gain: interval.Interval | None
    stacks: dict[str, interval.Interval]
    steps: list[Step]

    @property
    def speeds(self) -> list[float]:
        """The default's speed, if measured (the best's over the gain), and the best's."""
        best = median(self.best["found"].values())
        return [*([best / (self.gain.value if self.gain else 1)] if self.base else []), best]

    @property
    def name(self) -> str:
        return f"{self.pattern} {self.fs}"


def places(db: Any, where: store.Where, default: str) -> list[Place]:
    """One row per pattern and file system, from the runs that `where` selects."""
    patterns = store.rows(
        db,
        f"""SELECT pattern, if(bool_or(quantity = '{CREATED}'), '{CREATED}', '{WRITTEN}')
            AS quantity FROM records
        WHERE {where.sql} AND verdict = 'verified' AND NOT is_peak GROUP BY 1 ORDER BY 1""",
        where.values,
    )
    found = []
    for row in patterns:
        groups = candidates(db, where.key("pattern", [row["pattern"]]), row["quantity"])
        unit = unit_of(row["quantity"])
        found += [place(row["pattern"], key[0], unit, of, default) for key, of in groups.items()]
    return found


def place(pattern: str, fs: str, unit: str, group: Sequence[Row], default: str) -> Place:
    best = fastest(group, default)
    base = default_of(best, group, default)
    others = dict.fromkeys(row["stack"] for row in group if row["stack"] != best["stack"])
    beside = {stack: over(best, group, partial(_on, group, stack)) for stack in others}
    stacks = {stack: found for stack, found in beside.items() if found}
    gain = None
    if base is not best:
        gain = over(best, group, lambda row: default_of(row, group, default))
    return Place(pattern, fs, unit, best, base, gain, stacks, by_kind(group, default))


def _on(group: Sequence[Row], stack: str, row: Row) -> Row | None:
    """The same call on a stack."""
    wanted = {**{key: row[key] for key in ("call", "variant", "hints")}, "stack": stack}
    return next((one for one in group if wanted.items() <= one.items()), None)


def answers(
    db: Any, where: store.Where, found: Sequence[Place], peaks: Sequence[tuple[Place, Row]]
) -> list[tuple[str, str]]:
    """What each answer is about, and its text. `peaks`: of `ceilings`."""
    stacks = [("stacks", text) for text in _of_stacks(db, where)]
    kinds = [("kinds", _of_kinds(found)), ("peak", _of_peaks(peaks))]
    return [*stacks, *kinds, ("open", _undecided(found))]


def _of_stacks(db: Any, where: store.Where) -> list[str]:
    """Each pair of stacks over the cases that both have, as `compare --by stack` does."""
    stacks = store.rows(
        db,
        f"SELECT stack FROM records WHERE {where.sql} GROUP BY 1 ORDER BY 1 DESC",
        where.values,
    )
    moved, answers = where.also("verdict <> 'nothing moved'"), []
    for a, b in islice(combinations([row["stack"] for row in stacks], 2), NAMED):
        with suppress(NothingFoundError):
            answers += compare_runs.compare(db, moved, Question(a, b, "stack")).answers[:1]
    return answers


def _of_kinds(found: Sequence[Place]) -> str:
    return _some(
        [
            f"{one.name}, {of_kind(step)}"
            for one in found
            for step in one.steps
            if step.speed and step.speed.verdict != "not decided yet"
        ],
        "; ",
    )


def ceilings(rows: Sequence[Row], found: Sequence[Place]) -> list[tuple[Place, Row]]:
    """The fastest calls with their jobs' shares of the peak; none (None) if half of the jobs were
    disturbed. `rows`: of compare_references.PEAK."""
    known = {tuple(row[k] for k in _WAY): row for row in rows if row["quantity"] == WRITTEN}
    keys = [(one, (one.pattern, *(one.best[k] for k in _WAY[1:]))) for one in found]
    return [(place, _share(place, known[key])) for place, key in keys if key in known]


def _share(place: Place, row: Row) -> Row:
    found = [speed / row["peak"] for speed in place.best["found"].values()]
    if row["efficiency"] is None or 2 * row["left_out"] >= len(found):
        return {**row, "efficiency": None, "low": None}
    share = interval.of_median(found, in_turn=True)
    return {**row, "efficiency": share.value, "low": share.low, "high": share.high}


_WAY = columns("call")


def _of_peaks(peaks: Sequence[tuple[Place, Row]]) -> str:
    """The fastest calls that are far below the peak; separately, those without an interval."""
    known = [(place.name, row) for place, row in peaks if row["efficiency"] is not None]
    low = sorted(
        (one for one in known if one[1]["efficiency"] < FAR_BELOW),
        key=lambda one: one[1]["efficiency"],
    )
    far = [
        "{} {:.0f} % ({:.0f} to {:.0f})".format(
            name, *(100 * row[end] for end in ("efficiency", "low", "high"))
        )
        for name, row in low
        if row["low"] is not None and row["high"] < FAR_BELOW
    ]
    once = [f"{name} {percent(row['efficiency'])}" for name, row in low if row["low"] is None]
    if not once and all(row["low"] is None for _, row in known):
        return ""
    text = "none of the fastest methods is clearly below half of the peak"
    if far:
        of = f"{len(far)} of {len(known)} fastest methods"
        text = f"{of} stay below half of the peak: {_some(far)}"
    return f"{text}; not decided yet: {_some(once)}" if once else text


def _undecided(found: Sequence[Place]) -> str:
    """How many gains need more samples, and how many more."""
    gains = [(place.name, place.gain) for place in found if place.gain]
    lacks = [f"{name} ({gain.lacks})" for name, gain in gains if gain.lacks]
    return f"{len(lacks)} of {len(gains)} gains not decided yet: {_some(lacks)}" if lacks else ""


def _some(texts: Sequence[str], between: str = ", ") -> str:
    more = f"{between}and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return between.join(texts[:NAMED]) + more
