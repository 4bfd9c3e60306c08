# SPDX-License-Identifier: BSD-3-Clause
"""Is B faster than A? The cases that both sides have, with the ratio of their speeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import NothingFoundError
from ..statistics import gate
from ..store import database as store
from ..store import versions
from ..store.database import Where
from .selection import (
    CASE,
    Group,
    Side,
    case_columns,
    condition,
    failed_cases,
    groups,
    share_a_stack,
)

if TYPE_CHECKING:
    from ..statistics.interval import Interval

COLUMNS = (
    "pattern", "scale", "method", "mode", "variant", "hints", "stack", "fs", "processes",
    "quantity", "a", "b", "unit", "ratio", "low", "high", "samples", "verdict",
)  # fmt: skip
RATES = ("series_create_rate", "series_open_rate")  # of patterns of many small files
QUANTITIES = ("write_bw", "read_bw", *RATES)
# What one looks at first; all others follow.
ORDER = ("failed", "missing", "slower", "faster", "no difference seen", "undecided", "not slower",
         "not decided yet")  # fmt: skip
PATTERN = CASE.index("pattern")
Row = dict[str, Any]
Pair = tuple[Group, Group]


@dataclass(frozen=True)
class Question:
    """`by` says what `a` and `b` name: sessions, stacks, ... `allowed`: B may be slower than A by
    this fraction (0.05); without it there is no gate. `method`: the correction for multiple cases.
    `fitting`: the words that selected the runs, for the message that there are none."""

    a: str
    b: str = ""
    by: str = "session"
    quantities: Sequence[str] = QUANTITIES
    allowed: float | None = None
    method: gate.Method = "holm"
    fitting: Sequence[str] = ()


def compare(
    connection: Any,
    where: Where,
    question: Question,
    each: Callable[[Sequence[Pair]], Iterable[Pair]] = iter,
) -> list[Row]:
    """A row for each case that A and B have. `each` wraps the cases, to show progress.

    With `allowed`, `gate` is the gate's decision and `fails` whether it breaks the gate; cases that
    only A has get rows too. Raises NothingFoundError.
    """
    sides = [condition(connection, question.by, word) for word in (question.a, question.b)]
    with_mode = question.by == "method" and ":" in question.a + question.b
    by = [question.by]
    if question.by in versions.names() and not share_a_stack(connection, where, sides):
        by.append("stack")  # each version has its own stack
    columns = case_columns(by, with_mode)
    found = groups(connection, where, question.quantities, sides, columns)
    if question.quantities is QUANTITIES:
        many = {group.case[PATTERN] for group in found if group.quantity in RATES}
        found = [of for of in found if of.quantity in RATES or of.case[PATTERN] not in many]
    both = pairs(found)
    if not both:
        hint = "; give modes too, such as mpiio:collective" if question.by == "method" else ""
        raise NothingFoundError(
            f"no case has runs of both {question.a!r} and {question.b!r} (--by {question.by})"
            f"{store.fitting(question.fitting)}{hint}"
        )
    rows = [row(a, b) for a, b in each(both)]
    if question.allowed is None:
        return rows
    of = [evidence(a, b) for a, b in both]
    decisions = gate.decide(of, question.allowed, method=question.method)
    for line, decision in zip(rows, decisions, strict=True):
        line["gate"] = str(decision)
        line["fails"] = decision.outcome == "slower"
    return rows + _lost(connection, where, sides[1], columns, found, both)


def _lost(
    connection: Any,
    where: Where,
    side: Side,
    columns: Sequence[str],
    found: Sequence[Group],
    both: Sequence[Pair],
) -> list[Row]:
    """A row for each case that only A has: in B it failed or is missing."""
    there = {(a.case, a.quantity) for a, _ in both}
    failed = failed_cases(connection, where, side, columns)
    rows = []
    for group in found:
        if group.side == 0 and (group.case, group.quantity) not in there:
            why = failed.get(group.case)
            decision = gate.Decision("missing" if why is None else "failed", why or "")
            rows.append({
                **dict.fromkeys(COLUMNS),
                **dict(zip(CASE, group.case, strict=True)),
                "quantity": group.quantity, "unit": group.unit,
                "a": group.middle,
                "verdict": decision.outcome, "gate": str(decision), "fails": True,
                "a_document": group.about["document"], "b_document": None,
            })  # fmt: skip
    return rows


def pairs(found: Sequence[Group]) -> list[Pair]:
    """The groups (A's, B's) of each case and quantity that both sides have."""
    by_case: dict[tuple[Any, ...], dict[int, Group]] = {}
    for group in found:
        by_case.setdefault((*group.case, group.quantity), {})[group.side] = group
    both = [(of[0], of[1]) for of in by_case.values() if len(of) == 2]
    return sorted(both, key=lambda pair: (list(map(str, pair[0].case)), _rank(pair[0])))


def _rank(group: Group) -> tuple[bool, str]:
    """For sorting: writes come first."""
    return not group.quantity.startswith("write"), group.quantity


def _speeds(group: Group) -> dict[int, float]:
    """A speed for each job; for a time, its inverse."""
    jobs = group.jobs
    return {job: 1 / value for job, value in jobs.items()} if group.unit == "s" else jobs


def evidence(a: Group, b: Group) -> gate.Evidence:
    """The gate's evidence: one value per job. Runs of the same session are pairs."""
    of_a, of_b = _speeds(a), _speeds(b)
    shared = [run for run in of_a if run in of_b]
    if len(shared) > 1:
        base, new = [of_a[run] for run in shared], [of_b[run] for run in shared]
        middle = statistics.median(y / x for x, y in zip(base, new, strict=True))
        return gate.Evidence("pairs", base, new, middle)
    base, new = list(of_a.values()), list(of_b.values())
    middle = statistics.median(new) / statistics.median(base)
    kind: gate.Kind = "repeats" if len(base) == len(new) == 1 else "runs"
    return gate.Evidence(kind, base, new, middle)


def measured(a: Group, b: Group) -> Interval:
    """The ratio of speeds, B over A."""
    from ..statistics.interval import of_jobs  # numpy is slow to load

    return of_jobs(_speeds(a), _speeds(b))


def row(a: Group, b: Group) -> Row:
    """One row of the table."""
    found = measured(a, b)
    return {
        **dict(zip(CASE, a.case, strict=True)),
        "quantity": a.quantity,
        "a": a.middle,
        "b": b.middle,
        "unit": a.unit,
        "ratio": found.value,
        "low": found.low,
        "high": found.high,
        "samples": found.counted,
        "verdict": found.verdict,
        "lacks": found.lacks,
        "a_document": a.about["document"],
        "b_document": b.about["document"],
    }


def by_outcome(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """What matters most comes first, and of it what changed most."""
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: -abs(math.log(row["ratio"])) if row["ratio"] else 0.0):
        found.setdefault(outcome(row), []).append(row)
    known = [word for word in ORDER if word in found]
    return {word: found[word] for word in [*known, *sorted(found.keys() - set(known))]}


def outcome(row: Row) -> str:
    """What a case ended as: the gate's decision, where there is a gate, else the verdict."""
    return str(row.get("gate") or row["verdict"]).partition(":")[0]
