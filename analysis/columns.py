# SPDX-License-Identifier: BSD-3-Clause
"""The columns of each table that is printed or kept: columns.csv."""

import csv
import functools
from pathlib import Path


@functools.cache
def _all() -> dict[str, tuple[str, ...]]:
    with (Path(__file__).parent / "columns.csv").open(encoding="utf-8", newline="") as file:
        return {row["table"]: tuple(row["columns"].split()) for row in csv.DictReader(file)}


def columns(table: str) -> tuple[str, ...]:
    return _all()[table]
