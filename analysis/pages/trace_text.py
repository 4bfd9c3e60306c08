# SPDX-License-Identifier: BSD-3-Clause
"""A traced run, or a log alone, as tables and sentences, for terminal and page."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from iogauge.common.text import counted, duration, three

from ..darshan.log import Log
from ..judge import slow
from ..ledger import calls, seconds
from ..ledger.ledger import Ledger, Side
from ..ledger.phases import Singly
from ..ledger.traced import Traced
from ..ledger.verdict import Judgement
from ..session.model import DIRECTIONS
from . import grid, screen
from .screen import shown

WIDTH = 140
MIB = 2**20
STYLES = {"balanced": "green", "explained": "green", "unbalanced": "bold red"}
SIDE = (
    "",
    "bytes",
    "of payload",
    "calls",
    "collective",
    "processes",
    "commonest sizes, read or written",
)
PHASE = ("phase", "time", "layer", "written", "calls", "read", "calls")
HINT = ("hint", "asked", "effective")
LAYER = (
    "layer",
    "files",
    "MiB read",
    "MiB written",
    "reading",
    "writing",
    "opening, closing, ...",
    "processes",
    "the slowest",
)
CALLS = ("phase", "call", "calls", *calls.TITLES.values(), "process", "its p50", "its p99")
DATA_SET = (
    "data set",
    "elements",
    "chunk",
    "MiB read",
    "MiB written",
    "calls",
    "time",
    "commonest sizes",
)
SHOWN = 12  # data sets
EXPLAINED = (
    "Times are summed over all processes, in calls of that layer; they include the layers below it"
)
PERCENTILES = "The process is the one that spent the most time in these calls"
NO_OSTS = (
    "Which OST is slow is not known: no two of them have separate files that moved as much in as "
    "many POSIX calls"
)


class Part(NamedTuple):
    """A title, tables, and sentences below them."""

    title: str
    tables: Sequence[grid.Texts]
    lines: Sequence[str]


def heading(traced: Traced) -> str:
    asked = traced.document["asked"]
    words = (asked["pattern"], asked["method"], asked.get("mode") or "")
    return f"{' '.join(filter(None, words))}, {counted(traced.ledger.processes, 'process')}"


def of_run(traced: Traced) -> list[Part]:
    ledger = traced.ledger
    sides = [
        grid.Texts(
            f"{side.direction}, {counted(side.repeats, 'repeat')}",
            SIDE,
            _side_rows(side),
            (0, 6),
        )
        for side in ledger.sides
    ]
    phases = grid.Texts(f"by phase from {ledger.phases_from}", PHASE, _phase_rows(ledger), (0, 2))
    others = [
        f"{Path(path).name} ({moved:,} bytes)"
        for path, moved in ledger.other_files.items()
        if moved
    ]
    notes = [] if ledger.phases else [ledger.phases_from]
    notes += [f"not in the ledger: {', '.join(others)}"] if others else []
    hints = [
        (key, asked or "-", used or "-") for key, (asked, used) in sorted(ledger.hints.items())
    ]
    parts = [
        Part("Byte ledger", sides, [_writers(ledger)]),
        Part("Phases", [phases] if ledger.phases else [], [*notes, *ledger.notes]),
        *of_calls(traced.singly, traced.log),
    ]
    if hints:
        parts.append(Part("Hints", [grid.Texts("", HINT, hints, (0, 1, 2))], []))
    return parts


def heading_of_log(log: Log) -> str:
    command = log.command.split()
    name = Path(command[0]).name if command else log.path.name
    return f"{name}, {counted(log.processes, 'process')}"


def of_calls(singly: Singly, log: Log) -> Iterator[Part]:
    rows = [
        (
            one["phase"],
            one["call"],
            f"{one['calls']:,}",
            *(duration(one[q]) for q in calls.QUANTILES),
            str(worst["process"]),
            duration(worst["p50"]),
            duration(worst["p99"]),
        )
        for one, worst in calls.by_phase(singly)
    ]
    flows = [
        "{}: median {} MiB/s ({} to {}) over {} active intervals of {}".format(
            flow.direction,
            *(three(of(flow.rates) / MIB) for of in (statistics.median, min, max)),
            len(flow.rates),
            duration(flow.seconds),
        )
        for flow in calls.flows(singly, log)
    ]
    sets = seconds.data_sets(log)
    named = grid.Texts("", DATA_SET, [_data_set(one) for one in sets[:SHOWN]], (0, 1, 2, 7))
    more = [f"and {len(sets) - SHOWN:,} more: --json has all"] if len(sets) > SHOWN else []
    if sets:
        yield Part("Data sets", [named], more)
    if rows:
        yield Part("Times of single calls", [grid.Texts("", CALLS, rows, (0, 1))], [PERCENTILES])
    if flows:
        yield Part("Throughput", [], flows)
    if log.osts:
        alone = sum(len(set(osts)) == 1 for osts in log.osts.values())
        known = len(set().union(*log.osts.values()))
        asked = list(slow.of_osts(log))
        lines = [f"{one.direction}: {replace(one, asked=len(asked))}" for one in asked]
        lie = f"OSTs with files: {known:,}; files on one OST each: {alone:,} of {len(log.osts):,}"
        yield Part("Lustre", [], [lie, *(lines or [NO_OSTS])])


def of_log(log: Log, singly: Singly) -> list[Part]:
    rows = [_layer_row(layer) for layer in seconds.layers(log)]
    table = grid.Texts("", LAYER, rows, (0, 8))
    went = Part("Where the seconds went", [table], [EXPLAINED, *log.notes])
    return [went, *of_calls(singly, log)]


def show(title: str, log: Log, parts: Sequence[Part], judgement: Judgement | None = None) -> None:
    console = screen.console(WIDTH)
    console.print(shown(f"{title}; recorded by {log.recorder}, {duration(log.seconds)}"))
    if judgement:
        console.print(shown(str(judgement), STYLES.get(judgement.verdict, "yellow")))
    for part in parts:
        for table in part.tables:
            console.print(grid.of_texts(table))
        for line in part.lines:
            console.print(shown(line))


def _side_rows(side: Side) -> list[tuple[str, ...]]:
    """One direction: payload, each layer, the files. Cells as SIDE says."""
    lines: list[tuple[str, ...]] = [
        ("payload", f"{side.payload:,}", _share(side.payload, side), "", "", "", "")
    ]
    lines += [
        (
            layer.title,
            f"{layer.bytes:,}",
            _share(layer.bytes, side),
            f"{layer.calls:,}",
            f"{layer.collective:,}" if layer.collective else "",
            "?" if layer.processes is None else str(layer.processes),
            _sizes(layer.sizes),
        )
        for layer in side.layers
        if layer.calls  # a run may not use a layer, such as stdio
    ]
    if side.files is not None:
        lines.append(("files", f"{side.files:,}", _share(side.files, side), "", "", "", ""))
    return lines


def _data_set(one: dict[str, Any]) -> tuple[str, ...]:
    where = f"{Path(one['file']).name}:{one['name']}"
    return (
        where,
        f"{one['elements']:,} of {one['element_bytes']} bytes, {one['dimensions']}-D",
        "x".join(map(str, one["chunk"])),
        f"{one['read'] / MIB:,.4g}",
        f"{one['written'] / MIB:,.4g}",
        f"{one['calls']:,}{' collective' * one['collective']}",
        duration(one["seconds"]),
        _sizes(one["sizes"]),
    )


def _sizes(sizes: Mapping[int, int]) -> str:
    return ", ".join(f"{size:,} x {count:,}" for size, count in sizes.items())


def _share(value: int, side: Side) -> str:
    return f"{value / side.payload:.4g}" if side.payload else ""


def _phase_rows(ledger: Ledger) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    for phase in ledger.phases:
        named = (phase.title, duration(phase.seconds) if phase.direction else "")
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
        ] or [(*named, "-", *[""] * (len(PHASE) - 3))]
    return lines


def _writers(ledger: Ledger) -> str:
    side = ledger.side("write")
    layers = {layer.name: layer for layer in side.layers} if side else {}
    posix = layers.get("POSIX")
    if posix is None or posix.processes is None:
        return "how many processes wrote: not in this log (it holds one record of all of them)"
    wrote = f"{posix.processes} of {ledger.processes} processes wrote data"
    if "MPI-IO" not in layers:
        return wrote
    asked, used = ledger.hints.get("cb_nodes", (None, None))
    hint = f"cb_nodes was {f'set to {asked}' if asked else 'not set'}"
    hint += f"; the library used {used}" if used else "; the library does not report what it used"
    return f"{wrote}; {hint}"


def _layer_row(layer: seconds.Layer) -> tuple[str, ...]:
    return (
        layer.name,
        f"{layer.files:,}",
        f"{layer.read / MIB:,.4g}",
        f"{layer.written / MIB:,.4g}",
        *map(duration, (layer.reading, layer.writing, layer.other)),
        str(len(layer.ranks)) if layer.ranks else "?",
        _slowest(layer),
    )


def _slowest(layer: seconds.Layer) -> str:
    own, one = layer.slowest, layer.together
    if one and (own is None or own[1] < one.slowest[1]):
        (slow, most), (fast, least) = one.slowest, one.fastest
        return (
            f"process {slow}: {duration(most)} in {Path(one.path).name}, of which the log has one "
            f"record of all (the fastest, process {fast}: {duration(least)})"
        )
    if own:
        return f"process {own[0]}: {duration(own[1])}"
    return "not in this log: it holds one record of all processes, which names none"
