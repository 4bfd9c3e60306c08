# SPDX-License-Identifier: BSD-3-Clause
"""Runs compared with the practical peak, a site's reference, or a published number
(compare_published.py)."""

from __future__ import annotations

from typing import Any

from ..errors import NothingFoundError
from ..statistics.interval import of_median
from ..store import database as store
from ..store.database import Where
from . import compare_published, references
from .compare_runs import Question
from .selection import CASE, condition

Row = dict[str, Any]

PEAK = ("pattern", "scale", "method", "mode", "variant", "hints", "stack", "fs", "processes",
        "quantity", "value", "peak", "unit", "efficiency", "low", "high", "samples")  # fmt: skip
REFERENCE = ("test", "stack", "processes", "quantity", "value", "reference", "bound_low",
             "bound_high", "unit", "ratio", "low", "high", "samples", "verdict")  # fmt: skip
COLUMNS = {"peak": PEAK, "reference": REFERENCE, "published": compare_published.COLUMNS}


def _chosen(connection: Any, where: Where, question: Question) -> Where:
    """The runs that A names. Raises NothingFoundError if there are none."""
    sql, values = condition(connection, question.by, question.a)
    return where.also(sql, *values).also("NOT is_peak AND verdict <> 'nothing moved'")


def _or_raise(rows: list[Row], question: Question, what: str) -> list[Row]:
    if not rows:
        fits = store.fitting(question.fitting)
        raise NothingFoundError(f"no run of {question.a!r} (--by {question.by}){fits} has {what}")
    return rows


def with_peak(connection: Any, where: Where, question: Question) -> list[Row]:
    """The share of the practical peak, measured between its repeats, that each case reached. A job
    is one sample: the median of its repeats."""
    chosen = _chosen(connection, where, question)
    case = ", ".join(f'"{name}"' for name in CASE)
    found = store.rows(
        connection,
        f"""WITH c AS (SELECT * FROM records WHERE {chosen.sql}),
        jobs AS (SELECT {", ".join(f'v."{name}"' for name in CASE)}, v.quantity, v.started,
            v.session, v.run, median(v.value) AS value, median(p.value) AS peak,
            median(v.value / p.value) AS part, any_value(v.document) AS document
        FROM c v JOIN c p ON v.session = p.session AND v.run = p.run AND v.repeat = p.repeat
            AND p.quantity = 'ceiling_fpp_' || replace(v.quantity, '_bw', '')
        WHERE v.quantity IN ('write_bw', 'read_bw') AND p.value > 0
        GROUP BY ALL)
        SELECT {case}, quantity, median(value) AS value, median(peak) AS peak,
            list(part ORDER BY started, session, run) AS parts,
            any_value(document) AS document
        FROM jobs GROUP BY ALL ORDER BY {case}, quantity DESC""",
        chosen.values,
    )
    rows = []
    for row in found:
        document = row.pop("document")
        part = of_median(row.pop("parts"), in_turn=True)
        rows.append({
            **row, "unit": "MiB/s", "efficiency": part.value, "low": part.low, "high": part.high,
            "samples": part.counted, "document": document,
        })  # fmt: skip
    return _or_raise(rows, question, "measured its ceilings")


def with_reference(connection: Any, where: Where, question: Question) -> list[Row]:
    """Each case beside the job expected by references/sites/SYSTEM.yaml."""
    chosen = _chosen(connection, where, question)
    found = store.rows(
        connection,
        f"""SELECT system, partition, stack, "case" AS test, processes, fsync, hints, quantity,
            list(middle ORDER BY started, session, run) AS found,
            any_value(document) AS document
        FROM (SELECT partition, system, stack, "case", processes, fsync, hints, quantity, started,
                session, run, median(value) AS middle, any_value(document) AS document
            FROM records WHERE {chosen.sql} AND quantity IN ('write_bw', 'read_bw') GROUP BY ALL)
        GROUP BY ALL ORDER BY ALL""",
        chosen.values,
    )
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
        "value": found.value, "reference": expected.value, "bound_low": expected.low,
        "bound_high": expected.high, "unit": expected.unit,
        "ratio": found.value / expected.value,
        "low": None if found.low is None else found.low / expected.value,
        "high": None if found.high is None else found.high / expected.value,
        "samples": found.counted, "verdict": verdict,
    }  # fmt: skip
    if allowed is not None:
        row["fails"] = verdict == "slower" and row["ratio"] <= 1 - allowed
    return row


def with_published(connection: Any, where: Where, question: Question) -> list[Row]:
    """Published numbers beside runs of the same pattern and method."""
    rows = compare_published.published(connection, _chosen(connection, where, question))
    return _or_raise(rows, question, "a published number beside it")


TABLES = {"peak": with_peak, "reference": with_reference, "published": with_published}
