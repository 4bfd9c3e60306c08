# SPDX-License-Identifier: BSD-3-Clause
"""Runs compared with the practical peak, a site's reference, or a published number."""

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from iogauge.common import tables

from ..columns import columns
from ..errors import NothingFoundError
from ..session.model import PEAK_RATES, unit_of
from ..session.peaks import Place, Reached
from ..statistics.interval import of_median
from ..store import database as store
from ..store.database import Where
from ..store.queries import query
from . import compare_published, references
from .compare_runs import Question
from .selection import CASE, condition, failed_cases

Row = dict[str, Any]

SESSIONS = 200  # judged at once, so that memory does not grow with the store
PEAK = columns("peak")
REFERENCE = columns("reference")
COLUMNS = {"peak": PEAK, "reference": REFERENCE, "published": compare_published.COLUMNS}


def _chosen(db: Any, where: Where, question: Question) -> Where:
    sql, values = condition(db, question.by, question.a)
    return where.also(sql, *values).also("NOT is_peak AND verdict <> 'nothing moved'")


def _or_raise(rows: list[Row], question: Question, what: str) -> list[Row]:
    if not rows:
        fits = store.fitting(question.fitting)
        raise NothingFoundError(f"no run of {question.a!r} (--by {question.by}){fits} has {what}")
    return rows


def _places(db: Any, chosen: Where, times: Sequence[Any]) -> dict[int, Place]:
    """What was reached in these sessions, by conditions, as Highest finds it in their runs."""
    behind = ", ".join(f"'{name}'" for name in tables.BEHIND)
    found: dict[int, Place] = defaultdict(Place)
    answer = db.execute(
        query("reached", good=store.GOOD, chosen=chosen.sql, behind=behind, rates=PEAK_RATES),
        [*times, *chosen.values] * 2,
    )
    while some := answer.fetchmany(10_000):  # of a million
        for place, _, *reached in some:
            found[place].reached.append(Reached(*reached))
    return found


def _beside_peaks(db: Any, where: Where, times: Sequence[Any]) -> Iterator[tuple[Row, list[float]]]:
    """Each case, with speed, peak and whether disturbed of each of its jobs, oldest first. `times`:
    when the first and the last of the sessions began."""
    chosen = where.also("started BETWEEN ? AND ?", *times)
    places = _places(db, chosen, times)
    case = ", ".join(f'"{name}"' for name in CASE)
    found = store.rows(
        db,
        query("beside_peak", case=case, chosen=chosen.sql, rates=PEAK_RATES),
        chosen.values,
    )
    for row in found:
        rate = row["quantity"] in PEAK_RATES
        judged = [
            (value, peak.value, peak.disturbed(places[place].ceilings.get(run)))
            for place, size, run, value in row.pop("jobs")
            if place in places
            if (peak := places[place].peak(size)) and (peak.calm or not rate)
        ]
        yield row, [float(number) for job in judged for number in job]


def with_peak(db: Any, where: Where, question: Question) -> list[Row]:
    """The share of the session's peak (session/peaks.py) that each case reached. A job is one
    sample: the median of its repeats. `left_out`: the number of disturbed jobs, which do not count;
    if no other is left, `efficiency` is None and `value` is of all. Of small files it is the share
    of plain ones, of a peak test, that count."""
    chosen = _chosen(db, where, question)
    sql = f"SELECT DISTINCT started FROM records WHERE {chosen.sql} ORDER BY 1"
    began = [row[0] for row in db.execute(sql, chosen.values).fetchall()]
    found: dict[tuple[Any, ...], tuple[Row, array[float]]] = {}
    for first in range(0, len(began), SESSIONS):
        some = began[first : first + SESSIONS]
        for row, jobs in _beside_peaks(db, chosen, (some[0], some[-1])):
            key = tuple(row[name] for name in (*CASE, "quantity"))
            found.setdefault(key, (row, array("d")))[1].extend(jobs)
    rows = [
        _share(row, list(zip(of[::3], of[1::3], of[2::3], strict=True)))
        for row, of in found.values()
        if of
    ]
    rows.sort(key=lambda row: row["quantity"], reverse=True)
    rows.sort(key=lambda row: [(row[name] is None, row[name]) for name in CASE])
    return _or_raise(rows, question, "measured its ceilings")


def _share(row: Row, jobs: Sequence[tuple[float, ...]]) -> Row:
    calm = [(value, peak) for value, peak, disturbed in jobs if not disturbed]
    part = of_median([value / peak for value, peak in calm], in_turn=True) if calm else None
    middle = median(value for value, *_ in calm or jobs)
    typical = median(peak for _, peak, _ in jobs)  # each session has its own
    document = row.pop("document")
    return {
        **row,
        "value": middle,
        "peak": middle / part.value if part else typical,
        "left_out": len(jobs) - len(calm),
        "unit": unit_of(row["quantity"]),
        "efficiency": part and part.value,
        "low": part and part.low,
        "high": part and part.high,
        "samples": part.counted if part else "disturbed",
        "document": document,
    }


def with_reference(db: Any, where: Where, question: Question) -> list[Row]:
    """Each case beside the job expected by references/sites/SYSTEM.yaml."""
    chosen = _chosen(db, where, question)
    found = store.rows(db, query("beside_reference", chosen=chosen.sql), chosen.values)
    rows = []
    for row in found:
        if expected := references.of_run(row, row["quantity"]):
            rows.append(_against_reference(row, expected, question.allowed))
    if question.allowed is not None:
        rows += _failed(db, chosen)
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
        row["gate"] = "slower" if row["fails"] else "not slower"
    return row


def _failed(db: Any, chosen: Where) -> list[Row]:
    """A row for each reference of a case with failed jobs."""
    case = ("system", *references.CASE[:-2])  # a run without a result has no others
    names = [name.replace("test", '"case"') for name in case]
    return [
        {**dict.fromkeys(REFERENCE), **dict(zip(case, of, strict=True)), "quantity": quantity}
        | {"reference": expected.value, "bound_low": expected.low, "bound_high": expected.high}
        | {"unit": expected.unit, "verdict": "failed", "gate": f"failed: {why}", "fails": True}
        for of, why in failed_cases(db, chosen, names).items()
        for key, values in references.site(of[0]).items()
        if key[:-2] == of[1:]
        for quantity, expected in values.items()
    ]


def with_published(db: Any, where: Where, question: Question) -> list[Row]:
    rows = compare_published.published(db, _chosen(db, where, question))
    return _or_raise(rows, question, "a published number beside it")


TABLES = {"peak": with_peak, "reference": with_reference, "published": with_published}
