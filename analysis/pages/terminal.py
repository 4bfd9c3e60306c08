# SPDX-License-Identifier: BSD-3-Clause
"""The session as a table on the terminal; plain text when the output is not a terminal."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table as Grid

from ..session.model import DIRECTIONS, Direction
from ..session.rows import Row, Table
from . import grid, screen
from .footer import footer_lines
from .screen import shown
from .words import bandwidth_text, outcome_text, percent_text, range_text

WIDEST = 10_000  # letters: more than any table needs
FULL_WIDTH = 132  # narrower terminals lose the ranges before anything else
SHARE_WIDTH = 104  # and then the second ceiling

_STYLES = {"verified": "green", "failed": "bold red", "not asked": "yellow"}


def print_table(table: Table, *, wide: bool = False) -> None:
    """Print all rows and the footer to stdout."""
    console = screen.console()
    if table.rows:
        _print(console, table.rows, wide)
    if table.peak_rows:
        console.print("\n[bold]Peak tests[/bold] (large aligned POSIX transfers, nothing else)")
        _print(console, table.peak_rows, wide)
    for line in footer_lines(table):
        console.print(shown(line), soft_wrap=True)


def _print(console: Console, rows: tuple[Row, ...], wide: bool) -> None:
    """With all columns, where there is room for them; else as other tables."""
    whole = _grid(rows, FULL_WIDTH if wide else console.width)
    needs = console.measure(whole, options=console.options.update(width=WIDEST)).maximum
    if not wide and sys.stdout.isatty() and needs > console.width:
        records = [_record(row) for row in rows]
        grid.show(records, list(records[0]), wide=False)
    else:
        console.width = max(console.width, needs)
        console.print(whole)


def _record(row: Row) -> dict[str, str]:
    run = row.run
    texts = {
        "pattern": run.pattern, "scale": run.scale,
        "method": f"{run.method or run.test} {run.mode}".strip(), "variant": row.label,
        "stack": run.stack, "file_system": run.fs,
        "procs": str(run.processes or ""),
    }  # fmt: skip
    for direction in DIRECTIONS:
        names = [f"{direction}_MiB/s", f"{direction}_%_peak"]
        texts |= dict(zip(names, _numbers(row, direction, 0), strict=True))
    return texts | {"verified": outcome_text(row)}


def _grid(rows: tuple[Row, ...], width: int) -> Grid:
    table = Grid(box=None, header_style="bold", pad_edge=False, collapse_padding=True)
    scales = len({row.run.scale for row in rows}) > 1
    labels = any(row.label for row in rows)
    texts = ["pattern", *(["scale"] if scales else []), "method", "mode"]
    texts += [*(["variant"] if labels else []), "stack", "file system"]
    for name in texts:
        table.add_column(name, no_wrap=True)
    table.add_column("procs", justify="right")
    for direction in DIRECTIONS:
        for name in _columns(direction, width):
            table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verified", no_wrap=True)
    before: tuple[str, ...] | None = None
    for row in rows:
        run = row.run
        group = (run.pattern, run.scale, run.fs)
        if before is not None and group != before:
            table.add_row()
        before = group
        cells = [run.pattern, *([run.scale] if scales else []), run.method or run.test, run.mode]
        cells += [*([row.label] if labels else []), run.stack, run.fs]
        cells.append(str(run.processes or ""))
        for direction in DIRECTIONS:
            cells += _numbers(row, direction, width)
        verdict = outcome_text(row)
        table.add_row(*map(shown, cells), shown(verdict, _STYLES.get(row.outcome, "")))
    return table


def _columns(direction: Direction, width: int) -> list[str]:
    names = [f"{direction} MiB/s"]
    if width >= FULL_WIDTH:
        names.append("min-max")
    names.append("% peak")
    if width >= SHARE_WIDTH:
        names.append("% shared")
    return names


def _numbers(row: Row, direction: Direction, width: int) -> list[str]:
    spread = row.bandwidth(direction)
    cells = [bandwidth_text(spread.median) if spread else "-"]
    if width >= FULL_WIDTH:
        cells.append(range_text(spread))
    cells.append(percent_text(row.share("fpp", direction)))
    if width >= SHARE_WIDTH:
        cells.append(percent_text(row.share("shared", direction)))
    return cells
