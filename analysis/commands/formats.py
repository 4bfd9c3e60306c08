# SPDX-License-Identifier: BSD-3-Clause
"""How a command shows its rows: a table for people, CSV or JSON for programs.

A row is a mapping from column to value. All rows of a table have the same columns.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from ..pages.words import value_text

# A tuple is a text of several lines. It is joined only where it is printed.
Value = str | int | float | bool | date | tuple[str, ...] | None
Record = Mapping[str, Value]

PIPED_WIDTH = 200  # a pipe has no width: lines must not be folded for the program that reads them


def add_format(parser: argparse.ArgumentParser, what: str = "the table") -> None:
    """The options --json and --csv of a command."""
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help=f"print {what} as JSON")
    form.add_argument("--csv", action="store_true", help=f"print {what} as CSV")


def for_programs(args: argparse.Namespace) -> bool:
    """Whether stdout is for a program: nothing but JSON or CSV may go there."""
    return bool(args.json or args.csv)


def show(
    args: argparse.Namespace, rows: Sequence[Record], columns: Sequence[str], *, note: str = ""
) -> None:
    """Print `rows` as asked for. People see `columns` only, and the `note` below."""
    if args.json:
        json.dump(list(map(joined, rows)), sys.stdout, indent=1, allow_nan=False, default=str)
        print()
    elif args.csv:
        write_csv(rows, columns)
    else:
        show_table(rows, columns)
        if note:
            print(note)


def write_csv(rows: Sequence[Record], columns: Sequence[str]) -> None:
    """Print `rows` as CSV; without any, a header of `columns`."""
    sys.stdout.write(csv_text(rows, columns))


def csv_text(rows: Sequence[Record], columns: Sequence[str]) -> str:
    """All columns with full precision; RFC 4180 but for bare newlines. A header without rows."""
    text = io.StringIO()
    names = list(rows[0]) if rows else list(columns)
    writer = csv.DictWriter(text, fieldnames=names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(joined, rows))
    return text.getvalue()


def joined(row: Record) -> dict[str, Any]:
    """A row whose texts of several lines are one line each, as CSV and JSON have them."""
    return {
        name: _BETWEEN.get(name, "; ").join(value) if isinstance(value, tuple) else value
        for name, value in row.items()
    }


# What joins the lines of these columns, in place of a semicolon.
_BETWEEN = {"published": " | ", "command": "\n"}


def show_table(rows: Sequence[Record], columns: Sequence[str]) -> None:
    """A table on stdout: numbers to the right; columns that say nothing are left out."""
    # Imported here, so that a command that prints CSV need not wait for it.
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)
    rows = [joined(row) for row in rows]
    columns = [name for name in columns if any(row[name] not in (None, "") for row in rows)]
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        number = any(isinstance(row[name], int | float) for row in rows)
        grid.add_column(name.replace("_", " "), justify="right" if number else "left")
    for row in rows:
        grid.add_row(*(Text(value_text(row[name]), style=_STYLES.get(str(row[name]), ""))
                       for name in columns))  # fmt: skip
    console.print(grid)


_STYLES = {
    "faster": "green", "slower": "bold red", "reproduced": "green", "contradicted": "bold red",
    "too few samples": "yellow",
}  # fmt: skip
