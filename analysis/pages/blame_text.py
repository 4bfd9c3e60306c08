# SPDX-License-Identifier: BSD-3-Clause
"""The races that `blame` found, as text for the terminal."""

from rich.console import Console

from iogauge.common.text import counted

from ..blame.accesses import LAYERS, MPIIO, WRITE
from ..blame.races import (
    COVERED,
    ESCAPED,
    KINDS,
    MAY_COVER,
    READ_BESIDE,
    Blame,
    Races,
    WrongByte,
    groups,
    of_library,
)
from . import screen
from .screen import shown

MOST_LINES = 24  # accesses printed for a wrong byte


def show(blame: Blame, wrong: WrongByte | None, examples: int) -> None:
    console = screen.console(10_000)  # sentences: a pipe gets each in one line
    traced = blame.traced
    nodes = len(set(traced.hosts))
    size = f"{len(traced.accesses)} accesses of {traced.processes} processes"
    console.print(shown(f"{size} on {counted(nodes, 'host')}: {traced.path}", "bold"))
    if wrong:
        _show_wrong(blame, wrong)
    more = "" if blame.whole else "at least "
    certain, unseen = len(blame.certain), len(blame.races) - len(blame.certain)
    perhaps = f", {counted(unseen, 'pair')} with no order seen" if unseen else ""
    console.print(shown(f"{more}{counted(certain, 'race')}{perhaps}", "bold"))
    for kind, file, layer, some in groups(blame, blame.races):
        title = f"{len(some)} of {LAYERS[layer]}: {KINDS[kind]}: {traced.files[file]}"
        _line(console, title, 2)
        for i in range(min(examples, len(some))):
            _line(console, sentence(blame, some, i), 4)
    console.print(shown(verdict(blame)))
    for text in traced.notes:
        console.print(shown(text, "yellow"))


def _line(console: Console, text: str, indent: int) -> None:
    """One race or access per line: never folded in a pipe."""
    console.print(shown(" " * indent + text), soft_wrap=True)


def verdict(blame: Blame) -> str:
    if not len(blame.races):
        return "no races: all accesses of several processes to the same bytes are ordered"
    if not len(blame.certain):
        return (
            "no order seen: messages between these accesses may order them, but which calls match "
            "is not recorded"
        )
    library = of_library(blame)
    if library is None:
        return (
            "the program or its library is to blame: the trace does not show which bytes the "
            "program's own calls moved"
        )
    if library:
        return (
            "the program is correct: under MPI's rules its own MPI-IO calls do not race; the "
            "library below does"
        )
    return "the program's own MPI-IO calls race: MPI does not define what these bytes become"


def sentence(blame: Blame, races: Races, i: int) -> str:
    kind, a, b, low, high = (
        int(column[i]) for column in (races.kind, races.a, races.b, races.low, races.high)
    )
    where = f"bytes {low} to {high - 1}"
    one = f"{who(blame, a)}'s {call(blame, a)} at {when(blame, a)}"
    other, then = f"{who(blame, b)}'s {call(blame, b)}", when(blame, b)
    if kind in (COVERED, MAY_COVER):
        verb = "covered" if kind == COVERED else "may have covered"
        read = int(races.read[i])
        rows = blame.traced.accesses
        return (
            f"{who(blame, a)}'s read-modify-write ({call(blame, read)} at "
            f"{rows['start'][read]:.6f} s gave {rows['length'][read]} bytes, {call(blame, a)} at "
            f"{when(blame, a)}) {verb} what {other} wrote at {then}: {where}"
        )
    if kind == READ_BESIDE:
        return f"{one} read what {other} wrote at {then}: {where}"
    after = "" if kind == ESCAPED else f", {_apart(blame, a, b)}"
    return f"{one} wrote over {other} at {then}{after}: {where}"


def _apart(blame: Blame, a: int, b: int) -> str:
    rows = blame.traced.accesses
    gap = float(rows["start"][a] - rows["end"][b])
    return "both at once" if gap < 0 else f"{gap:.6f} s later, by chance"


def who(blame: Blame, i: int) -> str:
    process = int(blame.traced.accesses["process"][i])
    return f"process {process} on {blame.traced.hosts[process]}"


def call(blame: Blame, i: int) -> str:
    return blame.traced.call(i) or "a call"


def when(blame: Blame, i: int) -> str:
    rows = blame.traced.accesses
    return f"{rows['start'][i]:.6f} s to {rows['end'][i]:.6f} s"


def _show_wrong(blame: Blame, wrong: WrongByte) -> None:
    console = screen.console()
    console.print(shown(wrong.says, "red"))
    if wrong.file is None:
        return
    rows = blame.traced.accesses
    console.print(shown("what touched it, by time:"))
    left = len(wrong.touched) - MOST_LINES
    for i in wrong.touched[:MOST_LINES]:
        own = "  the program's own" if rows["layer"][i] == MPIIO else ""
        verb = "wrote" if rows["write"][i] == WRITE else "read"
        low = int(rows["offset"][i])
        line = (
            f"{rows['start'][i]:.6f} .. {rows['end'][i]:.6f} s  {who(blame, i)}  "
            f"{call(blame, i)} #{rows['sequence'][i]} {verb} {low} to "
            f"{low + int(rows['length'][i]) - 1}{own}"
        )
        _line(console, line, 2)
    if left > 0:
        _line(console, f"and {left} more", 2)
    console.print(shown("which of them raced:" if len(wrong.races) else "none of them raced"))
    for i in range(min(MOST_LINES, len(wrong.races))):
        text = sentence(blame, wrong.races, i)
        _line(console, text, 2)
