# SPDX-License-Identifier: BSD-3-Clause
"""Is B faster than A? Cases that both sides have, with the ratio of their speeds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import NothingFoundError
from ..store import database as store
from ..store.database import Where
from .sides import CASE, Group, case_columns, condition, groups

if TYPE_CHECKING:
    from .interval import Ratio

COLUMNS = (
    "pattern", "scale", "method", "mode", "variant", "hints", "stack", "fs", "processes",
    "quantity", "a", "b", "unit", "ratio", "low", "high", "samples", "verdict",
)  # fmt: skip
QUANTITIES = ("write_bw", "read_bw")
FALSE_ALARM = 0.05  # how often a gate over all cases may break although nothing got slower

Row = dict[str, Any]
Pair = tuple[Group, Group]


@dataclass(frozen=True)
class Question:
    """What to compare. `by` says what the names `a` and `b` are: sessions, stacks, ... `allowed`:
    B may be slower than A by this part (0.05); without it there is no gate. `fitting`: the words
    that chose the runs, for the message that there are none."""

    a: str
    b: str = ""
    by: str = "session"
    quantities: Sequence[str] = QUANTITIES
    allowed: float | None = None
    fitting: Sequence[str] = ()


def compare(
    connection: Any,
    where: Where,
    question: Question,
    each: Callable[[Sequence[Pair]], Iterable[Pair]] = iter,
) -> list[Row]:
    """A row for each case that has runs of A and of B. `each` wraps the cases, to show progress.

    With `allowed`, `fails` says whether B is slower than that. Raises NothingFoundError.
    """
    sides = [condition(connection, question.by, word) for word in (question.a, question.b)]
    with_mode = question.by == "method" and ":" in question.a + question.b
    columns = case_columns([question.by], with_mode)
    both = pairs(groups(connection, where, question.quantities, sides, columns))
    if not both:
        hint = "; give modes too, such as mpiio:collective" if question.by == "method" else ""
        raise NothingFoundError(
            f"no case has runs of both {question.a!r} and {question.b!r} (--by {question.by})"
            f"{store.fitting(question.fitting)}{hint}"
        )
    rows = []
    for a, b in each(both):
        line = row(a, b)
        if question.allowed is not None:
            line["fails"] = fails(a, b, question.allowed, len(both))
        rows.append(line)
    return rows


def pairs(found: Sequence[Group]) -> list[Pair]:
    """The groups of each case and quantity that both sides have: (of A, of B)."""
    by_case: dict[tuple[Any, ...], dict[int, Group]] = {}
    for group in found:
        by_case.setdefault((*group.case, group.quantity), {})[group.side] = group
    both = [(of[0], of[1]) for of in by_case.values() if len(of) == 2]
    return sorted(both, key=lambda pair: (list(map(str, pair[0].case)), _rank(pair[0])))


def _rank(group: Group) -> tuple[bool, str]:
    """For sorting: writes come first."""
    return not group.quantity.startswith("write"), group.quantity


def measured(a: Group, b: Group, confidence: float | None = None) -> tuple[Ratio, str]:
    """B over A as speeds, and what the samples are: pairs of runs, runs, or repeats."""
    from . import interval

    level = interval.CONFIDENCE if confidence is None else confidence
    of_a, of_b = ({run: statistics.median(v) for run, v in g.runs.items()} for g in (a, b))
    if a.unit == "s":  # a time: what takes longer is slower
        of_a, of_b = ({run: 1 / value for run, value in of.items()} for of in (of_a, of_b))
    shared = [run for run in of_a if run in of_b]
    if len(shared) >= interval.MIN_SAMPLES:
        return interval.paired_ratio([(of_a[r], of_b[r]) for r in shared], level), "pairs"
    if min(len(of_a), len(of_b)) >= interval.MIN_SAMPLES:
        return interval.ratio(list(of_a.values()), list(of_b.values()), level), "runs"
    all_a, all_b = (
        [1 / v if a.unit == "s" else v for values in g.runs.values() for v in values]
        for g in (a, b)
    )
    return interval.ratio(all_a, all_b, level), "repeats"


def row(a: Group, b: Group) -> Row:
    """One line of the table."""
    found, kind = measured(a, b)
    middle = [statistics.median(v for values in g.runs.values() for v in values) for g in (a, b)]
    return {
        **dict(zip(CASE, a.case, strict=True)),
        "quantity": a.quantity,
        "a": middle[0],
        "b": middle[1],
        "unit": a.unit,
        "ratio": found.value,
        "low": found.low,
        "high": found.high,
        "samples": f"{found.base_count}, {found.new_count} {kind}",
        "verdict": found.verdict,
        "a_document": a.about["document"],
        "b_document": b.about["document"],
    }


def fails(a: Group, b: Group, allowed: float, count: int) -> bool:
    """Whether B is slower by more than `allowed`, beyond doubt though `count` cases are looked at.

    Bonferroni's correction: the interval of each of `count` cases may miss the truth once in
    count / FALSE_ALARM.
    """
    found, _ = measured(a, b, 1 - FALSE_ALARM / count)
    return found.verdict == "slower" and found.value <= 1 - allowed
