# SPDX-License-Identifier: BSD-3-Clause
"""A Darshan log of which nothing else is known: where its seconds went, on the terminal and as a
page with pictures."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup
from rich.table import Table as Grid

from ..darshan.log import Log
from ..darshan.others import Others
from ..ledger.seconds import Layer, layers
from . import screen, trace_chart
from .page import load_template, save
from .screen import shown
from .words import of_processes

TEMPLATE = "log.html.j2"
WIDTH = 140
MIB = 2**20
HEAD = (
    "layer", "files", "MiB read", "MiB written", "s reading", "s writing",
    "s opening, closing, ...", "processes", "the slowest",
)  # fmt: skip
EXPLAINED = (
    "Seconds are those of all processes together, in calls of that layer; they hold those of the "
    "layers below it"
)


def heading(log: Log) -> str:
    command = log.command.split()
    return f"{Path(command[0]).name if command else log.path.name}, {of_processes(log.processes)}"


def rows(log: Log) -> list[tuple[str, ...]]:
    """Cells as HEAD says."""
    return [_row(layer) for layer in layers(log)]


def _row(layer: Layer) -> tuple[str, ...]:
    return (
        layer.name,
        f"{layer.files:,}",
        f"{layer.read / MIB:,.4g}",
        f"{layer.written / MIB:,.4g}",
        *(f"{seconds:.4g}" for seconds in (layer.reading, layer.writing, layer.other)),
        str(len(layer.ranks)) if layer.ranks else "?",
        _slowest(layer),
    )


def _slowest(layer: Layer) -> str:
    """Who took longest: of those whose seconds are known, or in a file of which the log has the sum
    of all and names the slowest."""
    own, one = layer.slowest, layer.together
    if one and (own is None or own[1] < one.slowest[1]):
        (slow, most), (fast, least) = one.slowest, one.fastest
        return (
            f"process {slow}: {most:.4g} s in {Path(one.path).name}, of which the log has one "
            f"record of all (the fastest, process {fast}: {least:.4g} s)"
        )
    if own:
        return f"process {own[0]}: {own[1]:.4g} s"
    return "not in this log: it holds one record of all processes, which names none"


def notes(log: Log) -> list[str]:
    lost = [f"{name}: the recorder had no room for all of it" for name in log.partial]
    return [*lost, *log.notes]


def print_log(log: Log) -> None:
    console = screen.console(WIDTH)
    console.print(shown(f"{heading(log)}; recorded by {log.recorder}, {log.seconds:.4g} s"))
    grid = Grid(box=None, pad_edge=False)
    for i, word in enumerate(HEAD):
        grid.add_column(word, justify="left" if i in (0, len(HEAD) - 1) else "right")
    for row in rows(log):
        grid.add_row(*map(shown, row))
    console.print(grid)
    console.print(shown(f"{EXPLAINED}."))
    for note in notes(log):
        console.print(shown(f"note: {note}"))


def write(log: Log, others: Others, page: Path) -> None:
    """`OutputError` where the page cannot be written."""
    pictures = [
        ("Time line of the processes", trace_chart.timeline(log)),
        ("Processes and time", trace_chart.heatmap(log)),
    ]
    text = load_template(TEMPLATE).render(
        title=heading(log),
        log=log,
        head=HEAD,
        rows=rows(log),
        explained=EXPLAINED,
        notes=notes(log),
        advice=others.advice,
        summary=others.summary.name if others.summary else None,
        pictures=[(name, Markup(trace_chart.to_svg(one))) for name, one in pictures if one],
    )
    save(page, text.encode())
