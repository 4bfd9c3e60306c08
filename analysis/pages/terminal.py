# SPDX-License-Identifier: BSD-3-Clause
"""The session as a table on the terminal; plain text when the output is not a terminal."""

from __future__ import annotations

from ..session.model import DIRECTIONS
from ..session.rows import Row, Table
from . import grid, screen
from .footer import footer_lines
from .screen import shown
from .words import bandwidth_text, outcome_text, percent_text, range_text

PEAKS = "\nPeak tests (large aligned POSIX transfers, nothing else)"


def print_table(table: Table, *, wide: bool = False) -> None:
    """Print all rows and the footer to stdout."""
    console = screen.console()
    for title, rows in (("", table.rows), (PEAKS, table.peak_rows)):
        if title and rows:
            console.print(shown(title, "bold"))
        if rows:
            records = [_record(row) for row in rows]
            scales = {record["scale"] for record in records}
            columns = [name for name in records[0] if name != "scale" or len(scales) > 1]
            grid.show(records, columns, wide=wide)
    for line in footer_lines(table):
        console.print(shown(line), soft_wrap=True)


def _record(row: Row) -> dict[str, str]:
    run = row.run
    texts = {
        "pattern": run.pattern, "scale": run.scale, "method": run.method or run.test,
        "mode": run.mode, "variant": row.label, "stack": run.stack, "file_system": run.fs,
        "procs": str(run.processes or ""),
    }  # fmt: skip
    for direction in DIRECTIONS:
        spread = row.bandwidth(direction)
        texts |= {
            f"{direction}_mib_s": bandwidth_text(spread.median) if spread else "-",
            f"{direction}_min-max": range_text(spread),
            f"{direction}_%_peak": percent_text(row.share("fpp", direction)),
            f"{direction}_%_shared": percent_text(row.share("shared", direction)),
        }
    return texts | {"verified": outcome_text(row)}
