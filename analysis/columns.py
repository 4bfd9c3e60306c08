# SPDX-License-Identifier: BSD-3-Clause
"""Columns of tables that are printed or kept: columns.csv."""

import csv
from pathlib import Path

_ROWS = Path(__file__).with_suffix(".csv").read_text(encoding="utf-8").splitlines()
_ALL = {table: tuple(names.split()) for table, names in csv.reader(_ROWS)}


def columns(table: str) -> tuple[str, ...]:
    return _ALL[table]
