# SPDX-License-Identifier: BSD-3-Clause
"""Is B faster than A? The cases that both sides have, with the ratio of their speeds."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..columns import columns
from ..errors import NothingFoundError, UsageError
from ..session.model import RATES, USUAL
from ..session.model import speeds as speeds_of
from ..statistics import gate, interval
from ..store import database as store
from ..store.database import Where
from . import overall, samples, selection
from .overall import speeds
from .selection import CASE, Group, known

COLUMNS = columns("compare")
FOLDED = ("no difference", "undecided", "not slower", "not decided yet")  # shown where asked for
ORDER = ("failed", "missing", "slower", "faster", *FOLDED)  # what one looks at first
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
    quantities: Sequence[str] = USUAL
    allowed: float | None = None
    method: gate.Method = "holm"
    fitting: Sequence[str] = ()


@dataclass(frozen=True)
class Compared:
    """`rows`: one for each case. `answers`: over all of them. `slower`: whether the gate is broken
    by all cases together."""

    rows: list[Row]
    answers: list[str]
    slower: bool = False


def compare(
    db: Any,
    where: Where,
    question: Question,
    each: Callable[[Sequence[Pair]], Iterable[Pair]] = iter,
) -> Compared:
    """The cases that A and B have. `each` wraps them, to show progress. With `allowed`, `gate` is
    the gate's decision and `fails` whether it breaks the gate; cases that only A has are rows."""
    sides = [selection.condition(db, question.by, word) for word in (question.a, question.b)]
    with_mode = question.by == "method" and ":" in question.a + question.b
    of_a, of_b = sides
    of_both = where.also(of_a[0], *of_a[1]).also(of_b[0], *of_b[1])
    sql = f"SELECT 1 FROM records WHERE {of_both.sql} LIMIT 1"
    named = f"{question.a!r} and {question.b!r} (--by {question.by})"
    if db.execute(sql, of_both.values).fetchone():
        raise UsageError(f"{named}: expected two sides without a common run")
    by = selection.with_stack(db, where, sides, [question.by])
    columns = selection.case_columns(by, with_mode)
    found = selection.groups(db, where, question.quantities, sides, columns)
    if question.quantities is USUAL:
        rates = RATES.values()
        many = {group.case[PATTERN] for group in found if group.quantity in rates}
        found = [of for of in found if of.quantity in rates or of.case[PATTERN] not in many]
    both = pairs(found)
    if not both:
        hint = "; give modes too, such as mpiio:collective" if question.by == "method" else ""
        fitting = store.fitting(question.fitting)
        raise NothingFoundError(f"no case has runs of both {named}{fitting}{hint}")
    rows = [row(a, b) for a, b in each(both)]
    answers = overall.answers(both, _sides(db, where, question))
    if question.allowed is None:
        return Compared(rows, answers)
    of = overall.evidence(both)
    decisions = gate.decide(of, question.allowed, method=question.method)
    chosen = where.also(of_b[0], *of_b[1]).also("NOT is_peak")
    failed = selection.failed_cases(db, chosen, known(columns))
    for line, decision, (a, _) in zip(rows, decisions, both, strict=True):
        if why := failed.get(known(a.case)):
            decision = gate.Decision("failed", why)
        line["gate"] = str(decision)
        line["fails"] = decision.outcome in ("slower", "failed")
    rows += _lost(failed, found, both)
    return Compared(rows, answers, gate.is_slower(overall.by_case(both), question.allowed))


def _sides(db: Any, where: Where, question: Question) -> overall.Sides:
    found = db.execute(
        f"""SELECT median(took) FROM (
            SELECT epoch(max(time::TIMESTAMPTZ) - min(time::TIMESTAMPTZ))
                / (count(DISTINCT run) - 1) AS took
            FROM records WHERE {where.sql} AND time <> ''
            GROUP BY session, repeat_no HAVING count(DISTINCT run) > 1)""",
        where.values,
    ).fetchone()
    names = (question.a, question.b)
    more = f"iogauge run --stack {','.join(names)} --rounds {interval.PAIRS}"
    if question.by == "session":
        names = (f"session {question.a}", f"session {question.b}")
    return overall.Sides(*names, more if question.by == "stack" else "", found[0] or 0.0)


def _lost(
    failed: Mapping[tuple[Any, ...], str], found: Sequence[Group], both: Sequence[Pair]
) -> list[Row]:
    """A row for each case that only A has: in B it failed or is missing."""
    there = {(a.case, a.quantity) for a, _ in both}
    rows = []
    for group in found:
        if group.side == 0 and (group.case, group.quantity) not in there:
            why = failed.get(known(group.case), "")
            decision = gate.Decision("failed" if why else "missing", why)
            rows.append(
                {
                    **dict.fromkeys(COLUMNS),
                    **dict(zip(CASE, group.case, strict=True)),
                    "quantity": group.quantity,
                    "unit": group.unit,
                    "a": group.middle,
                    "verdict": decision.outcome,
                    "gate": str(decision),
                    "fails": True,
                    "a_document": group.about["document"],
                    "b_document": None,
                }
            )
    return rows


def pairs(found: Sequence[Group]) -> list[Pair]:
    """The groups (A's, B's) of each case and quantity that both sides have."""
    by_case: dict[tuple[Any, ...], dict[int, Group]] = {}
    for group in found:
        by_case.setdefault((*group.case, group.quantity), {})[group.side] = group
    both = [(of[0], of[1]) for of in by_case.values() if len(of) == 2]
    return sorted(
        both,
        key=lambda pair: (
            list(map(str, pair[0].case)),
            not pair[0].quantity.startswith("write"),
            pair[0].quantity,
        ),
    )


def row(a: Group, b: Group) -> Row:
    """One row of the table. `b` is a median, `a` differs from it by `ratio`."""
    of_a, of_b = speeds(a), speeds(b)
    found, middle = samples.speedup(of_a, of_b), samples.middle(of_a, of_b)
    sides = speeds_of(a.quantity, (middle / found.value, middle))  # inverted again
    return {
        **dict(zip(CASE, a.case, strict=True)),
        "quantity": a.quantity,
        "a": sides[0],
        "b": sides[1],
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
