# SPDX-License-Identifier: BSD-3-Clause
"""A baseline learned from a system's own history: prediction intervals for one job of a new night.
One job per night counts, so that the spread is the one between nights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from ..session.model import BANDWIDTHS, unit_of
from ..statistics.interval import effective, shared_correlations
from ..statistics.prediction import MIN_NIGHTS, bounds, is_enough
from ..store import database as store
from ..store.queries import query
from .references import CASE

FALSE_FAILURES = 0.05  # part of nights in which any reference fails without cause
MOST = 0.001  # for one reference, however few there are
QUANTITIES = tuple(BANDWIDTHS.values())

Row = dict[str, Any]


@dataclass(frozen=True)
class Baseline:
    """`sessions`: the source, oldest first; `rate`: of each reference's failures without cause."""

    name: str
    learned: list[Row]
    refused: list[Row]
    sessions: list[tuple[str, date]]
    rate: float

    @property
    def told(self) -> str:
        first, last = self.sessions[0][1], self.sessions[-1][1]
        count = len(self.learned)
        return (
            f"baseline {self.name}: {count} references, from {len(self.sessions)} sessions of "
            f"{first} to {last}; a false failure of one occurs once in {1 / self.rate:.0f} nights, "
            f"of any once in {1 / min(count * self.rate, 1):.0f}"
        )


def learn(db: Any, where: store.Where, name: str, false_failures: float) -> Baseline:
    """A baseline from all sessions that match `where`. `false_failures`: the fraction of nights in
    which any of its references may fail without cause."""
    marks = ", ".join("?" for _ in QUANTITIES)
    columns = 'partition, stack, "case", processes, fsync, hints, quantity'
    chosen = f"FROM records WHERE {where.sql} AND verdict = 'verified' AND quantity IN ({marks})"
    values = [*where.values, *QUANTITIES]
    cases = store.rows(
        db,
        f"""SELECT DISTINCT hash({columns}) AS id, partition, stack, "case" AS test, processes,
            fsync, hints, quantity {chosen} ORDER BY {columns}""",
        values,
    )
    jobs = store.by_id(db, query("learned", columns=columns, chosen=chosen), values)
    learned: list[Row] = []
    refused: list[Row] = []
    sessions: set[int] = set()
    of_cases = [jobs[row.pop("id")] for row in cases]
    for row, of, r in zip(cases, of_cases, correlations(of_cases), strict=True):
        nights = of["middle"].tolist()
        row["samples"] = len(nights)
        row["worth"] = effective(len(nights), r)
        if not is_enough(nights, r):
            refused.append(row)
            continue
        learned.append({**row, "nights": nights, "r": r, "unit": unit_of(row["quantity"])})
        sessions.update(of["number"].tolist())
    known = db.execute(
        f"SELECT DISTINCT hash(session), session, CAST(started AS DATE) AS day {chosen} "
        "ORDER BY day, session",
        values,
    ).fetchall()
    rate = min(MOST, false_failures / max(len(learned), 1))
    for row in learned:
        row |= bounds(row.pop("nights"), rate, row.pop("r"))
    used = [(session, day) for number, session, day in known if number in sessions]
    return Baseline(name, learned, refused, used, rate)


def correlations(of_cases: Sequence[Mapping[str, Any]]) -> list[float]:
    """The correlation at lag 1 of each case's nights; cases of few nights say nothing about
    others."""
    series = [np.log(of["middle"]) for of in of_cases]
    known = iter(shared_correlations([one for one in series if len(one) >= MIN_NIGHTS]))
    return [next(known) if len(one) >= MIN_NIGHTS else 0.0 for one in series]


def why_refused(row: Row) -> str:
    if row["samples"] < MIN_NIGHTS:
        return f"has {row['samples']} of {MIN_NIGHTS} sessions"
    return f"has {row['samples']} correlated sessions, worth {row['worth']:.0f} independent"


def site_data(system: str, baseline: Baseline, today: date) -> Row:
    by_case: dict[tuple[Any, ...], Row] = {}
    for row in baseline.learned:
        case = {name: row[name] for name in CASE}
        entry = by_case.setdefault(tuple(case.values()), {"case": case, "values": {}})
        entry["values"][row["quantity"]] = _rounded(row)
    return {
        "schema": "iogauge.site/1",
        "system": system,
        "learned": f"{today:%Y-%m-%d}",
        "baseline": {
            "name": baseline.name,
            "false_failures": float(f"{baseline.rate:.3g}"),
            "sessions": [uuid for uuid, _ in baseline.sessions],
        },
        "references": list(by_case.values()),
    }


def _rounded(row: Mapping[str, Any]) -> Row:
    """A site file's numbers, with four digits."""
    numbers = {name: float(f"{row[name]:.4g}") for name in ("low", "value", "high")}
    numbers["low"] = min(numbers["low"], numbers["value"])
    numbers["high"] = max(numbers["high"], numbers["value"])
    return {**numbers, "unit": row["unit"], "samples": row["samples"]}
