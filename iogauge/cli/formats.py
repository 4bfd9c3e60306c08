# SPDX-License-Identifier: BSD-3-Clause
"""Output of rows, mappings with the same columns: a table for people, CSV or JSON for programs."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from iogauge.common.text import csv_table, plain

# A tuple is text of several lines, joined only for printing.
Value = str | int | float | bool | date | tuple[str, ...] | None
Record = Mapping[str, Value]

# Separators of lines in these columns; elsewhere a semicolon.
_BETWEEN = {"published": " | ", "command": "\n"}


def add_format(parser: argparse.ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    for name in ("--json", "--csv"):
        form.add_argument(name, action="store_true")
    parser.add_argument("--wide", action="store_true")


def for_programs(args: argparse.Namespace) -> bool:
    """Whether stdout goes to a program, so that only JSON or CSV may be printed there."""
    return bool(args.json or args.csv)


def show(
    args: argparse.Namespace, rows: Sequence[Record], columns: Sequence[str], *, note: str = ""
) -> None:
    """Print `rows` in the requested format. The table shows only `columns`, and `note` below."""
    if args.json:
        write_json(list(map(joined, rows)))
    elif args.csv:
        write_csv(rows, columns)
    else:
        from iogauge.analysis.pages import grid, screen  # here: CSV does without them

        if rows:
            grid.show([joined(row) for row in rows], columns, wide=args.wide, below=note)
        if note := note or ("" if rows else "none"):
            screen.console().print(screen.shown(note), soft_wrap=not sys.stdout.isatty())


def show_facts(args: argparse.Namespace, facts: Record, lines: Sequence[str], **more: Any) -> None:
    """One row, for people as `3 files, 12 calls`, and remarks. `more`: for JSON."""
    if args.json:
        write_json({**facts, "notes": lines, **more})
    elif args.csv:
        write_csv([facts], ())
    else:
        print(", ".join(f"{value} {name.replace('_', ' ')}" for name, value in facts.items()))
        for line in (*lines, *(line for of in more.values() for line in of)):
            print(f"  {plain(line)}")


def write_json(data: Any) -> None:
    json.dump(data, sys.stdout, indent=1, allow_nan=False, default=str)
    print()


def write_csv(rows: Sequence[Record], columns: Sequence[str]) -> None:
    sys.stdout.write(csv_text(rows, columns))


def csv_text(rows: Sequence[Record], columns: Sequence[str]) -> str:
    return csv_table(list(rows[0]) if rows else list(columns), map(joined, rows))


def joined(row: Record) -> dict[str, Any]:
    """The row with texts of several lines joined, for CSV and JSON."""
    return {
        name: _BETWEEN.get(name, "; ").join(value) if isinstance(value, tuple) else value
        for name, value in row.items()
    }
