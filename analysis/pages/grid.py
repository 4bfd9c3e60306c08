# SPDX-License-Identifier: BSD-3-Clause
"""Tables on the terminal, never wider than it: values shared by all rows are printed once, above;
then long text wraps, columns are joined, and others are dropped and named below."""

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from rich.console import Console
from rich.table import Table as Grid

from iogauge.common.text import ratio

from ..columns import columns
from ..session.model import SHORT
from . import screen
from .words import BAD, GOOD, value_text

STYLES = {
    **dict.fromkeys(GOOD, "green"),
    **dict.fromkeys(BAD, "bold red"),
    **dict.fromkeys(("not decided yet", "not asked"), "yellow"),
}
BETWEEN = 2  # blanks between two columns
CASE_WRAPS = 24
WRAPS = 15  # longer text may wrap, to no fewer letters than this
FEWEST = 3  # columns
# Columns that identify a row: never dropped.
KEYS = columns("keys")
CASE = "case"
RATIOS = ("ratio", "over_default")
# Dropped first if there is no room; then the others from the right, except the first and
# the last two.
FIRST_OUT = columns("first_out")
Rows = Sequence[Mapping[str, Any]]


class Texts(NamedTuple):
    """A table of strings. `left`: its left-aligned columns."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[int]


def filled(table: Texts) -> Texts:
    """Remove columns that are empty in all rows."""
    kept = [i for i in range(len(table.head)) if any(row[i] for row in table.rows or [table.head])]
    head, *rows = ([row[i] for i in kept] for row in (table.head, *table.rows))
    return Texts(table.caption, head, rows, [kept.index(i) for i in table.left if i in kept])


def of_texts(table: Texts) -> Grid:
    table = filled(table)
    grid = Grid(title=table.caption or None, title_justify="left", box=None, pad_edge=False)
    for i, word in enumerate(table.head):
        grid.add_column(word, justify="left" if i in table.left else "right")
    for row in table.rows:
        grid.add_row(*map(screen.shown, row))
    return grid


def show(rows: Rows, columns: Sequence[str], *, wide: bool, below: str = "") -> None:
    """Print the columns that hold anything. `below`: lines after the table."""
    columns = [name for name in columns if any(row[name] not in (None, "") for row in rows)]
    rows = [_rounded(row) for row in rows]
    console = screen.console()
    if not sys.stdout.isatty() or wide:
        widths = _widths(rows, columns, wraps=False)
        console.width = max(console.width, sum(widths) + BETWEEN * len(widths))
        console.print(_grid(rows, columns, widths))
        return
    same = [name for name in columns[:-1] if len(rows) > 1 and _is_the_same(rows, name)]
    if same:
        text = ", ".join(f"{_title(name)} {value_text(rows[0][name])}" for name in same)
        console.print(screen.shown(f"all: {text}"))
    columns = [name for name in columns if name not in same]
    if _needs(rows, columns) > console.width:
        rows, columns = as_cases(rows, columns)
    kept, left_out = fitting(rows, columns, console.width)
    widths = _grown(rows, kept, console.width)
    lines = _lines(console, rows, kept, widths)
    height = sum(1 + max(len(line) - 1, 0) // console.width for line in below.splitlines())
    room = console.height - height - 3  # shared values, dropped columns, the prompt
    fit = len(rows)
    while len(lines) > max(room, FEWEST) and fit > 1:
        fit = min(fit - 1, room)
        lines = _lines(console, rows[:fit], kept, widths)
    console.file.write("\n".join(lines) + "\n")
    hidden = [f"{len(rows) - fit} rows"] if fit < len(rows) else []
    if hidden := hidden + [_title(name) for name in left_out]:
        console.print(screen.shown(f"left out: {', '.join(hidden)}; --wide shows them"))


def _rounded(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Two digits for an undecided ratio or share."""
    verdict = str(row.get("verdict", ""))
    names = [*RATIOS, *(["value"] if row.get("unit") == "1" else [])]
    if "efficiency" in row and row["low"] is None:
        names, verdict = ["efficiency"], "not decided yet"
    return {**row, **{name: ratio(row[name], verdict) for name in names if row.get(name)}}


def _lines(
    console: Console, rows: Rows, columns: Sequence[str], widths: Sequence[int]
) -> list[str]:
    with console.capture() as made:
        console.print(_grid(rows, columns, widths))
    return made.get().splitlines()


def as_cases(rows: Rows, columns: Sequence[str]) -> tuple[Rows, list[str]]:
    """Join the columns that identify a row into one."""
    keys = [name for name in columns if name in KEYS or name == CASE]
    if len(keys) < 2:
        return rows, list(columns)
    cases = [
        {**row, CASE: " ".join(value_text(row[key]) for key in keys if row[key] not in (None, ""))}
        for row in rows
    ]
    return cases, [CASE, *(name for name in columns if name not in keys)]


def _grown(rows: Rows, columns: Sequence[str], width: int) -> list[int]:
    """The least widths, with spare room shared among the columns that need it."""
    least = _widths(rows, columns, wraps=True)
    room = width - sum(least) - BETWEEN * (len(least) - 1)
    found = []
    for small, whole in zip(least, _widths(rows, columns, wraps=False), strict=True):
        more = min(max(room, 0), whole - small)
        room -= more
        found.append(small + more)
    return found


def fitting(rows: Rows, columns: Sequence[str], width: int) -> tuple[list[str], list[str]]:
    """The columns that fit, and the others."""
    kept = list(columns)
    left_out: list[str] = []

    while len(kept) > FEWEST and _needs(rows, kept) > width:
        first = [name for name in FIRST_OUT if name in kept[1:]]
        rest = [name for name in kept[1:-2] if name not in KEYS]
        if not first and not rest:
            break
        one = first[0] if first else rest[-1]
        gone = [name for name in kept if name in (one, _other_end(one))]
        left_out += gone
        kept = [name for name in kept if name not in gone]
    return kept, left_out


def _other_end(name: str) -> str:
    """`gain_high` for `gain_low`, and the reverse: half an interval is useless."""
    ends = {"low": "high", "high": "low"}
    return "_".join(ends.get(word, word) for word in name.split("_"))


def _needs(rows: Rows, columns: Sequence[str]) -> int:
    return sum(_widths(rows, columns, wraps=True)) + BETWEEN * (len(columns) - 1)


def _widths(rows: Rows, columns: Sequence[str], *, wraps: bool) -> list[int]:
    """The width that each column needs; the least width if it `wraps`."""
    found = []
    for name in columns:
        lines = [line for row in rows for line in value_text(row[name]).splitlines()]
        longest = max(map(len, lines), default=0)
        least = CASE_WRAPS if name == CASE else WRAPS
        need = longest if _is_number(rows, name) or not wraps else min(longest, least)
        title = max(map(len, _title(name).split())) if wraps else len(_title(name))
        found.append(max(need, title))
    return found


def _grid(rows: Rows, columns: Sequence[str], widths: Sequence[int]) -> Grid:
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    for name, width in zip(columns, widths, strict=True):
        justify: Literal["left", "right"] = "right" if _is_number(rows, name) else "left"
        grid.add_column(screen.shown(_title(name)), justify=justify, overflow="fold", width=width)
    for row in rows:
        grid.add_row(
            *(
                screen.shown(value_text(row[name]), STYLES.get(str(row[name]), ""))
                for name in columns
            )
        )
    return grid


def _title(name: str) -> str:
    for short, unit in SHORT.items():
        name = name.replace(short, unit)
    return name.replace("_", " ")


def _is_number(rows: Rows, name: str) -> bool:
    """True also for numbers formatted as text: `12.3`, `83*`, a dash."""
    values = [row[name] for row in rows]
    written = [value for value in values if isinstance(value, str) and value]
    return any(isinstance(value, int | float) for value in values) or (
        bool(written) and all(re.fullmatch(r"[\d.]+(e\d+)?\*?|-", value) for value in written)
    )


def _is_the_same(rows: Rows, name: str) -> bool:
    """False for numbers: a constant number is still a result."""
    named = name in KEYS or isinstance(rows[0][name], str)
    return named and len({row[name] for row in rows}) == 1
