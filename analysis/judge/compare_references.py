# SPDX-License-Identifier: BSD-3-Clause
"""Runs compared with the practical peak, a site's reference, or a published number."""

from collections import defaultdict
from statistics import median
from typing import Any

from iogauge.common import tables

from ..errors import NothingFoundError
from ..session.peaks import Place, Reached
from ..statistics.interval import of_median
from ..store import database as store
from ..store.database import Where
from ..store.queries import query
from . import compare_published, references
from .compare_runs import Question
from .selection import CASE, condition

Row = dict[str, Any]

RATES = ("series_create_rate", "series_stat_rate", "series_remove_rate")
PEAK = (
    "pattern",
    "scale",
    "method",
    "mode",
    "variant",
    "hints",
    "stack",
    "fs",
    "processes",
    "quantity",
    "value",
    "peak",
    "unit",
    "efficiency",
    "low",
    "high",
    "samples",
    "left_out",
)
REFERENCE = (
    "test",
    "stack",
    "processes",
    "quantity",
    "value",
    "reference",
    "bound_low",
    "bound_high",
    "unit",
    "ratio",
    "low",
    "high",
    "samples",
    "verdict",
)
COLUMNS = {"peak": PEAK, "reference": REFERENCE, "published": compare_published.COLUMNS}


def _chosen(connection: Any, where: Where, question: Question) -> Where:
    sql, values = condition(connection, question.by, question.a)
    return where.also(sql, *values).also("NOT is_peak AND verdict <> 'nothing moved'")


def _or_raise(rows: list[Row], question: Question, what: str) -> list[Row]:
    if not rows:
        fits = store.fitting(question.fitting)
        raise NothingFoundError(f"no run of {question.a!r} (--by {question.by}){fits} has {what}")
    return rows


def _places(connection: Any, chosen: Where) -> dict[int, Place]:
    """What was reached in these sessions, by conditions, as Highest finds it in their runs."""
    behind = ", ".join(f"'{name}'" for name in tables.BEHIND)
    found: dict[int, Place] = defaultdict(Place)
    answer = connection.execute(
        query("reached", good=store.GOOD, chosen=chosen.sql, behind=behind, rates=RATES),
        chosen.values * 2,
    )
    while some := answer.fetchmany(10_000):  # of a million
        for place, _, *reached in some:
            found[place].reached.append(Reached(*reached))
    return found


def with_peak(connection: Any, where: Where, question: Question) -> list[Row]:
    """The share of the session's peak (session/peaks.py) that each case reached. A job is one
    sample: the median of its repeats. `left_out`: the number of disturbed jobs, which do not count;
    if no other is left, `efficiency` is None and `value` is of all. Of small files it is the share
    of plain ones, of a peak test, that count."""
    chosen = _chosen(connection, where, question)
    places = _places(connection, chosen)
    case = ", ".join(f'"{name}"' for name in CASE)
    found = store.rows(
        connection,
        query("beside_peak", case=case, chosen=chosen.sql, rates=RATES),
        chosen.values,
    )
    rows = []
    for row in found:
        document, rate = row.pop("document"), row["quantity"] in RATES
        jobs = [
            (value, peak, peak.disturbed(places[place].ceilings.get(run)))
            for place, size, run, value in row.pop("jobs")
            if place in places
            if (peak := places[place].peak(size)) and (peak.calm or not rate)
        ]
        if not jobs:
            continue
        calm = [(value, peak.value) for value, peak, disturbed in jobs if not disturbed]
        part = of_median([value / peak for value, peak in calm], in_turn=True) if calm else None
        middle = median(value for value, *_ in calm or jobs)
        typical = median(peak.value for _, peak, _ in jobs)  # each session has its own
        rows.append(
            {
                **row,
                "value": middle,
                "peak": middle / part.value if part else typical,
                "left_out": len(jobs) - len(calm),
                "unit": "files/s" if rate else "MiB/s",
                "efficiency": part and part.value,
                "low": part and part.low,
                "high": part and part.high,
                "samples": part.counted if part else "disturbed",
                "document": document,
            }
        )
    return _or_raise(rows, question, "measured its ceilings")


def with_reference(connection: Any, where: Where, question: Question) -> list[Row]:
    """Each case beside the job expected by references/sites/SYSTEM.yaml."""
    chosen = _chosen(connection, where, question)
    found = store.rows(connection, query("beside_reference", chosen=chosen.sql), chosen.values)
    rows = []
    for row in found:
        key = tuple(row[n] for n in ("partition", "stack", "test", "processes", "fsync", "hints"))
        expected = references.site(row["system"]).get(key, {}).get(row["quantity"])
        if expected:
            rows.append(_against_reference(row, expected, question.allowed))
    return _or_raise(rows, question, "a reference in references/sites; see iogauge expect learn")


def _against_reference(row: Row, expected: references.Expected, allowed: float | None) -> Row:
    """The bounds apply to a single job and include the spread of jobs: one is enough to decide."""
    found = of_median(row["found"])
    verdict = "no difference"
    if found.value < expected.low:
        verdict = "slower"
    elif found.value > expected.high:
        verdict = "faster"
    row = {name: value for name, value in row.items() if name != "found"} | {
        "value": found.value,
        "reference": expected.value,
        "bound_low": expected.low,
        "bound_high": expected.high,
        "unit": expected.unit,
        "ratio": found.value / expected.value,
        "low": None if found.low is None else found.low / expected.value,
        "high": None if found.high is None else found.high / expected.value,
        "samples": found.counted,
        "verdict": verdict,
    }
    if allowed is not None:
        row["fails"] = verdict == "slower" and row["ratio"] <= 1 - allowed
    return row


def with_published(connection: Any, where: Where, question: Question) -> list[Row]:
    rows = compare_published.published(connection, _chosen(connection, where, question))
    return _or_raise(rows, question, "a published number beside it")


TABLES = {"peak": with_peak, "reference": with_reference, "published": with_published}
