# SPDX-License-Identifier: BSD-3-Clause
"""The ledger of a run as text: on the terminal, and the same rows for the page."""

from __future__ import annotations

from rich.table import Table as Grid

from ..ledger.ledger import Ledger, Side
from ..ledger.traced import Traced
from ..session.model import DIRECTIONS
from . import screen
from .screen import shown

WIDTH = 120
STYLES = {"balanced": "green", "explained": "green", "unbalanced": "bold red"}

HEAD = (
    "",
    "bytes",
    "of payload",
    "calls",
    "collective",
    "processes",
    "commonest sizes, read or written",
)
PHASE_HEAD = ("phase", "seconds", "layer", "written", "calls", "read", "calls")


def rows(side: Side) -> list[tuple[str, ...]]:
    """One direction: payload, each layer, the files. Cells as HEAD says."""
    lines: list[tuple[str, ...]] = [
        ("payload", f"{side.payload:,}", share(side.payload, side), "", "", "", "")
    ]
    for layer in side.layers:
        if not layer.calls:
            continue  # a layer that this run has nothing to do with, such as stdio
        sizes = ", ".join(f"{size:,} x {count:,}" for size, count in layer.sizes.items())
        lines.append(
            (
                layer.title,
                f"{layer.bytes:,}",
                share(layer.bytes, side),
                f"{layer.calls:,}",
                f"{layer.collective:,}" if layer.collective else "",
                "?" if layer.processes is None else str(layer.processes),
                sizes,
            )
        )
    if side.files is not None:
        lines.append(("files", f"{side.files:,}", share(side.files, side), "", "", "", ""))
    return lines


def share(value: int, side: Side) -> str:
    return f"{value / side.payload:.4g}" if side.payload else ""


def title(side: Side) -> str:
    return f"{side.direction}, {side.repeats} repeat{'s' * (side.repeats != 1)}"


def phase_rows(ledger: Ledger) -> list[tuple[str, ...]]:
    """What each phase moved at each layer. Cells as PHASE_HEAD says."""
    lines: list[tuple[str, ...]] = []
    for phase in ledger.phases:
        named = (phase.title, f"{phase.seconds:.4f}" if phase.direction else "")
        lines += [
            (
                *(named if i == 0 else ("", "")),
                layer,
                *(
                    f"{value:,}" if value is not None else ""
                    for d in DIRECTIONS
                    for value in (moved.bytes[d], moved.calls[d] if moved.calls else None)
                ),
            )
            for i, (layer, moved) in enumerate(sorted(phase.layers.items()))
        ] or [(*named, "-", *[""] * (len(PHASE_HEAD) - 3))]
    return lines


def hint_rows(ledger: Ledger) -> list[tuple[str, str, str]]:
    """Name, asked, effective."""
    return [(key, asked or "-", used or "-") for key, (asked, used) in sorted(ledger.hints.items())]


def phases_from(ledger: Ledger) -> str:
    return f"by phase from {ledger.phases_from}" if ledger.phases else ledger.phases_from


def writers(ledger: Ledger) -> str:
    """How many processes wrote, against the number that collective buffering was to use."""
    side = ledger.side("write")
    posix = side.layer("POSIX") if side else None
    if posix is None or posix.processes is None:
        return "how many processes wrote: not in this log (it holds one record of all of them)"
    asked, used = ledger.hints.get("cb_nodes", (None, None))
    hint = f"cb_nodes was {f'set to {asked}' if asked else 'not set'}"
    hint += f"; the library used {used}" if used else "; the library does not report what it used"
    return f"{posix.processes} of {ledger.processes} processes wrote data; {hint}"


def heading(traced: Traced) -> str:
    asked = traced.document["asked"]
    words = (asked["pattern"], asked["method"], asked.get("mode") or "")
    return f"{' '.join(filter(None, words))}, {traced.ledger.processes} processes"


def print_ledger(traced: Traced) -> None:
    ledger, judgement = traced.ledger, traced.judgement
    console = screen.console(WIDTH)
    console.print(shown(f"{heading(traced)}; recorded by {ledger.recorder}"))
    console.print(shown(str(judgement), STYLES.get(judgement.verdict, "yellow")))
    for side in ledger.sides:
        grid = Grid(title=title(side), title_justify="left", box=None, pad_edge=False)
        for i, word in enumerate(HEAD):
            grid.add_column(word, justify="right" if 0 < i < 6 else "left")
        for row in rows(side):
            grid.add_row(*map(shown, row))
        console.print(grid)
    console.print(shown(writers(ledger)))
    if ledger.phases:
        grid = Grid(title=phases_from(ledger), title_justify="left", box=None, pad_edge=False)
        for i, word in enumerate(PHASE_HEAD):
            grid.add_column(word, justify="left" if i in (0, 2) else "right")
        for row in phase_rows(ledger):
            grid.add_row(*map(shown, row))
        console.print(grid)
    else:
        console.print(shown(phases_from(ledger)))
    if ledger.hints:
        hints = Grid("hint", "asked", "effective", box=None, pad_edge=False)
        for row in hint_rows(ledger):
            hints.add_row(*map(shown, row))
        console.print(hints)
    for note in ledger.notes:
        console.print(shown(f"note: {note}"))
