# SPDX-License-Identifier: BSD-3-Clause
"""A session on one screen: what failed, the fastest call of each pattern, and the answers."""

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rich.console import Console

from iogauge.common import tables
from iogauge.common.text import percent, plain, plain_lines

from ..judge import findings, share_of_peak
from ..judge.advice import DEFAULT, of_kind
from ..judge.findings import Place
from ..session.rows import Row, Table, rank
from ..store.database import Where
from . import answers, footer, screen
from .words import DISTURBED, NOTHING, bandwidth_text, outcome_text

Answers = list[tuple[str, str]]  # what each is about

COLUMNS = ("pattern", "default", "fastest", "method, stack", "gain", "peak", "verified")
CALL = COLUMNS[3]
NUMBERS = ("default", "fastest", "gain", "peak")
FAILED = 4  # rows printed first; the rest are counted
PER_SECOND = {"files/s": "/s"}
INDENT = 8  # of the answers
MORE = "iogauge summary --all"


class Line(NamedTuple):
    """A line of the table, below the heading `where`."""

    where: str
    cells: Sequence[str]
    style: str = ""


@dataclass(frozen=True)
class Found:
    """The findings of a session, as analysis/judge made them."""

    places: list[Place]
    shares: dict[int, float | None]  # of the peak, by the place's `id`; None: disturbed
    answers: Answers


def ask(table: Table, db: Any) -> Found:
    """`db`: a store with the session."""
    where = Where().key("session", [table.session.uuid])
    places = findings.places(db, where, DEFAULT)
    several, order = answers.several(places), tables.names("patterns")
    places.sort(key=lambda place: (answers.where(place, several), rank(place.pattern, order)))
    peaks = findings.ceilings(share_of_peak.of_cases(db, where), places)
    remarks = [*_counts(table), *findings.answers(db, where, places, peaks)]
    remarks += [("noise", text) for text in answers.troubles(db, where)]
    return Found(places, {id(place): row["efficiency"] for place, row in peaks}, remarks)


def show(table: Table, found: Found, ends: Answers) -> None:
    """Print it. `ends`: the last lines."""
    several = answers.several(found.places)
    wrong = [_wrong(row) for row in table.ran if row.outcome == "failed"]
    right = [_right(place, table, _share(found.shares, place), several) for place in found.places]
    _print([*wrong[:FAILED], *right], [*found.answers, *ends])


def as_json(found: Found) -> dict[str, Any]:
    return {
        "fastest": [
            {
                "pattern": place.pattern,
                "file_system": place.fs,
                **{name: place.best[name] for name in ("call", "variant", "stack", "processes")},
                "value": place.speeds[-1],
                "unit": place.unit,
                **(
                    {"over": DEFAULT, "gain": place.gain.value}
                    | {name: getattr(place.gain, name) for name in ("low", "high", "verdict")}
                    if place.gain
                    else {}
                ),
                "share": found.shares.get(id(place)),
                "kinds": list(map(of_kind, place.steps)),
            }
            for place in found.places
        ],
        "answers": {about: text for about, text in found.answers if text},
    }


def _counts(table: Table) -> Answers:
    remarks = [("failed", line) for line in footer.failure_lines(table)]
    parts = [footer.interruption(table), footer.counts_text(table)]
    parts += [why for why, _ in footer.skip_reasons(table)[:1]]
    return [*remarks, ("rows", "; ".join(filter(None, parts)))]


def _wrong(row: Row) -> Line:
    run = row.run
    how = " ".join(filter(None, [run.call, run.stack, _variant(row.label, [])]))
    cells = (run.pattern, NOTHING, NOTHING, how, NOTHING, NOTHING, outcome_text(row))
    return Line(run.fs, cells, "bold red")


def _right(place: Place, table: Table, share: str, several: Sequence[str]) -> Line:
    best = place.best
    own = [row for row in table.rows if (row.run.pattern, row.run.fs) == (place.pattern, place.fs)]
    moved = [row for row in own if row.outcome != "nothing moved"]
    good = sum(row.outcome == "verified" for row in moved)
    variant = _variant(best["variant"], [row.run.variant for row in own])
    return Line(
        answers.where(place, several),
        (
            place.pattern,
            bandwidth_text(place.speeds[0]) if place.base else NOTHING,
            bandwidth_text(place.speeds[-1]) + PER_SECOND.get(place.unit, ""),
            " ".join(filter(None, [best["call"], best["stack"], variant])),
            _gain(place),
            share,
            "yes" if good == len(moved) else f"{good} of {len(moved)}",
        ),
    )


def _share(shares: dict[int, float | None], place: Place) -> str:
    if id(place) not in shares:
        return NOTHING
    share = shares[id(place)]
    return DISTURBED if share is None else percent(share)


def _variant(variant: str, others: Sequence[str]) -> str:
    """The row's parameters that differ from some of `others`."""
    sets = [set(other.split(", ")) for other in others]
    same = set.intersection(*sets) if sets else set()
    return " ".join(word for word in variant.split(", ") if word not in same)


def _gain(place: Place) -> str:
    if place.base is place.best:
        return "default"
    if place.gain is None:
        return NOTHING
    if place.gain.low is None or place.gain.high is None:
        return "undecided"
    ends = "-".join(map(_end, (place.gain.low, place.gain.high)))
    if place.gain.lacks:
        return f"undecided ({ends})"
    return f"{place.gain.value:.{0 if place.gain.value >= 100 else 1}f}x ({ends})"


def _end(value: float) -> str:
    """1.02 is no 1.0: that would leave open which is faster."""
    return f"{value:.{0 if value >= 10 else 2 if abs(value - 1) < 0.05 else 1}f}"


def _print(lines: Sequence[Line], remarks: Answers) -> None:
    """Print the table; on a terminal, only as many lines as leave room for the rest."""
    console = screen.console()
    terminal = sys.stdout.isatty()
    below = [line for about, text in remarks if text for line in _wrapped(about, text, console)]
    room = console.height - len(below) - 1 if terminal else sys.maxsize
    shown, rest = _table(lines, console), len(lines)
    while len(shown) > max(room, 4):
        rest -= 1
        shown = [*_table(lines[:rest], console), f"{len(lines) - rest} more: {MORE}"]
    console.file.writelines(f"{line}\n" for line in [*shown, *below])


def _wrapped(about: str, text: str, console: Console) -> list[str]:
    text = plain_lines(text)
    if not sys.stdout.isatty():
        return [f"{about:<{INDENT}}{text}"]
    found = textwrap.wrap(
        text, console.width - INDENT, max_lines=2, placeholder=" ...", break_on_hyphens=False
    )
    return [f"{about if not number else '':<{INDENT}}{line}" for number, line in enumerate(found)]


def _table(lines: Sequence[Line], console: Console) -> list[str]:
    """Two blanks between columns, one if that is too wide; then the calls are cut."""
    names = list(COLUMNS)
    for name, same in (("verified", "yes"), ("default", NOTHING), ("peak", NOTHING)):
        if all(line.cells[COLUMNS.index(name)] == same for line in lines):
            names.remove(name)
    cells = [[line.cells[COLUMNS.index(name)] for name in names] for line in lines]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    gap = 2 if sum(widths) + 2 * len(widths) <= console.width else 1
    call = names.index(CALL)
    room = console.width - sum(widths) - gap * (len(widths) - 1) + widths[call]
    widths[call] = min(widths[call], max(room, len(CALL)))
    found, before = [], ""
    files = "; metadata: files/s" if any("/s" in line.cells[2] for line in lines) else ""
    for line, row in zip([Line("", names, "bold"), *lines], [names, *cells], strict=True):
        if line.where != before:
            units = "" if before else f" (MiB/s{files})"
            found.append(screen.shown(line.where + units, "bold"))
        before = line.where
        fitted = (_fit(*of) for of in zip(names, row, widths, strict=True))
        found.append(screen.shown((" " * gap).join(fitted).rstrip(), line.style))
    with console.capture() as made:
        for text in found:
            console.print(text, no_wrap=True, overflow="ignore", crop=False)
    return made.get().splitlines()


def _fit(name: str, text: str, width: int) -> str:
    text = plain(text)
    if len(text) > width:
        text = text[: width - 1] + "…"
    return text.rjust(width) if name in NUMBERS else text.ljust(width)
