# SPDX-License-Identifier: BSD-3-Clause
"""What a system's own history lets one expect of it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from ..store import database as store

MIN_RUNS = 8
MARGIN = 0.05  # part of the median, beyond the quantiles
QUANTITIES = {"write_bw": "MiB/s", "read_bw": "MiB/s"}
CASE = ("partition", "stack", "test", "processes", "fsync", "hints")

Row = dict[str, Any]


def learn(connection: Any, where: store.Where, margin: float) -> tuple[list[Row], list[Row]]:
    """What can be expected of each case, and the cases that have too few runs."""
    marks = ", ".join("?" for _ in QUANTITIES)
    found = store.rows(
        connection,
        f"""SELECT partition, stack, "case" AS test, processes, fsync, hints, quantity,
            list(middle) AS runs
        FROM (SELECT partition, stack, "case", processes, fsync, hints, quantity,
                median(value) AS middle
              FROM records
              WHERE {where.sql} AND verdict = 'verified' AND quantity IN ({marks})
              GROUP BY partition, stack, "case", processes, fsync, hints, quantity, session, run)
        GROUP BY ALL ORDER BY ALL""",
        [*where.values, *QUANTITIES],
    )
    learned, refused = [], []
    for row in found:
        runs = row.pop("runs")
        row["samples"] = len(runs)
        if len(runs) < MIN_RUNS:
            refused.append(row)
            continue
        learned.append({**row, **bounds(runs, margin), "unit": QUANTITIES[row["quantity"]]})
    return learned, refused


def bounds(runs: list[float], margin: float) -> dict[str, float]:
    """Median, and quantiles with a margin beyond; never below a thousandth of the median."""
    middle = statistics.median(runs)
    cuts = statistics.quantiles(runs, n=20, method="inclusive")
    low, high = cuts[0] - margin * middle, cuts[-1] + margin * middle
    return {"value": middle, "low": max(low, middle / 1000), "high": high}


def site_data(system: str, learned: Sequence[Row], today: date) -> Row:
    """What was learned, in the form of a site file (references/site.schema.json)."""
    by_case: dict[tuple[Any, ...], Row] = {}
    for row in learned:
        case = {name: row[name] for name in CASE}
        entry = by_case.setdefault(tuple(case.values()), {"case": case, "values": {}})
        entry["values"][row["quantity"]] = _rounded(row)
    return {
        "schema": "iogauge.site/1",
        "system": system,
        "learned": f"{today:%Y-%m-%d}",
        "references": list(by_case.values()),
    }


def _rounded(row: Mapping[str, Any]) -> Row:
    """The numbers of a site file, with four digits."""
    numbers = {name: float(f"{row[name]:.4g}") for name in ("low", "value", "high")}
    numbers["low"] = min(numbers["low"], numbers["value"])
    numbers["high"] = max(numbers["high"], numbers["value"])
    return {**numbers, "unit": row["unit"], "samples": row["samples"]}
