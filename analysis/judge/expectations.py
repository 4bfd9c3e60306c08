# SPDX-License-Identifier: BSD-3-Clause
"""Runs of a history that fell below those before them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

MIN_RUNS = 8
MARGIN = 0.05  # part of the median, beyond the quantiles

Row = dict[str, Any]


def bounds(runs: list[float], margin: float) -> dict[str, float]:
    """Median, and quantiles with a margin beyond; never below a thousandth of the median."""
    middle = statistics.median(runs)
    cuts = statistics.quantiles(runs, n=20, method="inclusive")
    low, high = cuts[0] - margin * middle, cuts[-1] + margin * middle
    return {"value": middle, "low": max(low, middle / 1000), "high": high}


def mark_regressions(runs: Sequence[Row], value: str) -> None:
    """Say of each run, the oldest first, what part of the median its `value` is (`of_median`), and
    whether it is below the bound that the runs before it give (`verdict`)."""
    middle = statistics.median(row[value] for row in runs)
    for index, row in enumerate(runs):
        before = [earlier[value] for earlier in runs[:index]]
        row["of_median"] = row[value] / middle
        low = bounds(before, MARGIN)["low"] if len(before) >= MIN_RUNS else 0
        row["verdict"] = "regression" if row[value] < low else ""
