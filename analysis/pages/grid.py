# SPDX-License-Identifier: BSD-3-Clause
"""A table on the terminal: numbers to the right, and never wider than the terminal.

What is the same in all rows stands once, above. Long texts wrap. Where that is not enough, columns
are left out, and named below.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table as Grid

from . import screen
from .words import value_text

STYLES = {
    "faster": "green", "slower": "bold red", "reproduced": "green", "contradicted": "bold red",
    "too few samples": "yellow", "regressed": "bold red", "recovered": "green",
}  # fmt: skip
BETWEEN = 2  # blanks between two columns
WRAPS = 14  # a text of more letters may wrap, and then has so many at least
# Left out first, where there is no room; all others follow from the right, but for the first and
# the last two.
FIRST_OUT = (
    "partition", "record", "records", "unit", "samples", "variant", "hints", "parameters",
    "document", "unlike", "our_conditions", "published_conditions", "source",
)  # fmt: skip
Rows = Sequence[Mapping[str, Any]]


def show(rows: Rows, columns: Sequence[str], *, wide: bool) -> None:
    """Print the columns that say anything."""
    columns = [name for name in columns if any(row[name] not in (None, "") for row in rows)]
    console = screen.console()
    narrow = sys.stdout.isatty() and not wide
    left_out: list[str] = []
    if narrow:
        same = [name for name in columns[:-1] if len(rows) > 1 and _is_the_same(rows, name)]
        columns = [name for name in columns if name not in same]
        if same:
            said = ", ".join(f"{_title(name)} {value_text(rows[0][name])}" for name in same)
            console.print(screen.shown(f"all: {said}"))
        columns, left_out = fitting(rows, columns, console.width)
    elif wide:
        console.width = max(console.width, sum(_widths(rows, columns, wraps=False)))
    console.print(_grid(rows, columns, wraps=narrow))
    if left_out:
        names = ", ".join(map(_title, left_out))
        console.print(screen.shown(f"left out: {names}; --wide shows them"))


def fitting(rows: Rows, columns: Sequence[str], width: int) -> tuple[list[str], list[str]]:
    """The columns that there is room for, and the others."""
    kept, left_out = list(columns), []
    while len(kept) > 3 and sum(_widths(rows, kept, wraps=True)) - BETWEEN > width:
        first = [name for name in FIRST_OUT if name in kept[1:]]
        left_out.append(first[0] if first else kept[-3])
        kept.remove(left_out[-1])
    return kept, left_out


def _widths(rows: Rows, columns: Sequence[str], *, wraps: bool) -> list[int]:
    """The letters that each column needs at least, with the blanks behind it."""
    found = []
    for name in columns:
        longest = max((len(value_text(row[name])) for row in rows), default=0)
        need = longest if _is_number(rows, name) or not wraps else min(longest, WRAPS)
        title = max(map(len, _title(name).split())) if wraps else len(_title(name))
        found.append(max(need, title) + BETWEEN)
    return found


def _grid(rows: Rows, columns: Sequence[str], *, wraps: bool) -> Grid:
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for name, width in zip(columns, _widths(rows, columns, wraps=wraps), strict=True):
        number = _is_number(rows, name)
        grid.add_column(
            screen.shown(_title(name)),
            justify="right" if number else "left",
            overflow="fold",
            min_width=width - BETWEEN,
        )
    for row in rows:
        grid.add_row(*(screen.shown(value_text(row[name]), STYLES.get(str(row[name]), ""))
                       for name in columns))  # fmt: skip
    return grid


def _title(name: str) -> str:
    return name.replace("_", " ")


def _is_number(rows: Rows, name: str) -> bool:
    return any(isinstance(row[name], int | float) for row in rows)


def _is_the_same(rows: Rows, name: str) -> bool:
    """Texts only: a number that is always the same is still a result."""
    return isinstance(rows[0][name], str) and len({row[name] for row in rows}) == 1
