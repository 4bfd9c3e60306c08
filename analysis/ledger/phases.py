# SPDX-License-Identifier: BSD-3-Clause
"""Assigns a trace's accesses to the run's phases, by the time spans in the result document. Pure.

With single accesses (DXT) this is exact; a heat map shows only phases longer than its bins. Spans
and traces are in Unix time. An access belongs to the last phase that had begun.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..darshan.dxt import SEGMENT
from ..darshan.log import Log
from ..session.model import DIRECTIONS, Direction

OUTSIDE = "between phases"
MIXED = "not told apart"
LAYERS = ("MPI-IO", "POSIX")
HEAT_ORDER: tuple[Direction, ...] = ("read", "write")
SLACK = 0.05  # seconds: accuracy of the times of Darshan's runtime
NEEDS = "needs -S dxt=true"
BYTES: dict[Direction, str] = {"write": "BYTES_WRITTEN", "read": "BYTES_READ"}

ACCESS = np.dtype(
    [
        ("phase", "<i4"),
        ("call", "<i4"),
        ("file", "<i4"),
        ("process", "<i8"),
        ("bytes", "<i8"),
        ("begin", "<f8"),
        ("seconds", "<f8"),
    ]
)


@dataclass
class Moved:
    """Bytes and calls in each direction; `calls` is None if the trace does not count them."""

    bytes: dict[Direction, int] = field(default_factory=lambda: dict.fromkeys(DIRECTIONS, 0))
    calls: dict[Direction, int] | None = None

    def add(self, direction: Direction, size: int, calls: int = 0) -> None:
        self.bytes[direction] += int(size)
        if calls:
            self.calls = self.calls or dict.fromkeys(DIRECTIONS, 0)
            self.calls[direction] += calls


@dataclass
class Phase:
    """One phase, such as `write: create`, summed over repeats and steps. `direction`: empty for
    accesses outside all phases. `seconds`: from the first process's begin to the last one's end."""

    direction: str
    name: str
    seconds: float = 0.0
    layers: dict[str, Moved] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.direction}: {self.name}" if self.direction else self.name


@dataclass(frozen=True)
class Span:
    begin: float
    end: float
    phase: Phase


@dataclass(frozen=True)
class Singly:
    """Each access of a trace (ACCESS), in the clock of the document's spans, of a log alone in the
    log's; by the numbers of `phases`, the last of which is outside all, `calls`, `files`."""

    rows: NDArray[np.void]
    phases: list[Phase]
    calls: list[tuple[str, Direction]]
    files: list[str]

    def of(self, layer: str, direction: Direction) -> NDArray[np.void]:
        known = (layer, direction) in self.calls
        number = self.calls.index((layer, direction)) if known else -1
        rows: NDArray[np.void] = self.rows[self.rows["call"] == number]
        return rows


def divide(
    doc: dict[str, Any], log: Log, own: Callable[[str], bool]
) -> tuple[tuple[Phase, ...], str]:
    """The phases with what each moved, and which part of the trace shows it. If there are no
    phases, the text says why. `own`: whether a path is one of the run's own files."""
    phases, spans = _spans(doc)
    if not spans:
        return (), "no phases: the result document has no spans"
    others = {name: Phase("", name) for name in (OUTSIDE, MIXED)}
    if log.segments:
        found = singly(log, doc, own)
        *phases, others[OUTSIDE] = found.phases
        source = _accesses(log, own, found)
    elif log.heat:
        latest = max(_lags(log, spans, own).values(), default=0.0)
        source = _bins(log, spans, log.start - latest, others)
    else:
        return (), f"no phases: the trace has no times of accesses: {NEEDS}"
    if not any(phase.layers for phase in phases):
        return (), f"no phases ({NEEDS}): there is only {source}"
    if others[MIXED].layers:
        source += f"; the rest {NEEDS}"
    return (*phases, *(phase for phase in others.values() if phase.layers)), source


def _spans(doc: dict[str, Any]) -> tuple[list[Phase], list[Span]]:
    """The phases and their spans, by time. Old documents and real ior: none."""
    phases: dict[tuple[str, str], Phase] = {}
    spans: list[Span] = []
    for sample in doc["samples"]:
        for direction in DIRECTIONS:
            for entry in (sample.get(direction) or {}).get("spans") or []:
                name = entry["phase"]
                phase = phases.setdefault((direction, name), Phase(direction, name))
                phase.seconds += entry["end"] - entry["begin"]
                spans.append(Span(entry["begin"], entry["end"], phase))
    return list(phases.values()), sorted(spans, key=lambda span: span.begin)


def _lags(log: Log, spans: list[Span], own: Callable[[str], bool]) -> dict[int, float]:
    """For each process, the seconds by which the job start recorded by Darshan's runtime is later
    than the zero of the process's own times. (The runtime clears its memory in between.) A process
    closes its last file within a phase: the lag is the smallest for which that holds."""
    end = max(span.end for span in spans)
    found: dict[int, float] = {}
    for file in log.files if log.by_runtime else ():
        if file.module == "POSIX" and own(file.path):
            for work in file.ranks:
                lag = log.start + work.closed - end
                found[work.rank] = max(found.get(work.rank, 0.0), lag)
    return found


def _accesses(log: Log, own: Callable[[str], bool], found: Singly) -> str:
    """Add each access to its phase; returns the source of the phases."""
    kept = dict.fromkeys(DIRECTIONS, 0)
    for layer, direction in found.calls:
        rows = found.of(layer, direction)
        for at in np.unique(rows["phase"]):
            moved = found.phases[at].layers.setdefault(layer, Moved())
            moved.add(direction, (some := rows["bytes"][rows["phase"] == at]).sum(), len(some))
        kept[direction] += int(rows["bytes"].sum()) if layer == "POSIX" else 0
    counted = {
        direction: sum(
            f.count(BYTES[direction]) for f in log.files if f.module == "POSIX" and own(f.path)
        )
        for direction in DIRECTIONS
    }
    lost = [f"{kept[d]} of {counted[d]} bytes of {d}" for d in DIRECTIONS if kept[d] != counted[d]]
    known = f", whose times Darshan gives to within {SLACK:g} s" if log.by_runtime else ""
    return f"each access (DXT){known}" + (f", which has {', '.join(lost)}" if lost else "")


def singly(log: Log, doc: dict[str, Any], own: Callable[[str], bool]) -> Singly:
    """Each access to the run's own files. `doc`: empty for a log alone."""
    phases, spans = _spans(doc) if doc else ([], [])
    lags = _lags(log, spans, own) if spans else {}
    slack = SLACK if log.by_runtime else 0.0
    begins = np.array([-np.inf, *(span.begin for span in spans)])
    ends = np.array([-np.inf, *(span.end + slack for span in spans)])
    numbers = np.array([len(phases), *(phases.index(span.phase) for span in spans)])
    calls: dict[tuple[str, Direction], int] = {}
    files: dict[str, int] = {}
    kept = [np.empty(0, ACCESS)]
    for one in log.segments:
        both: tuple[tuple[Direction, Any], ...] = (("write", one.writes), ("read", one.reads))
        for direction, entries in both if own(one.path) else ():
            known, rows = np.array(entries, SEGMENT), np.zeros(len(entries), ACCESS)
            zero = (log.start - lags.get(one.rank, 0.0)) * bool(doc)
            rows["begin"], rows["bytes"] = known["start"] + zero, known["length"]
            rows["seconds"] = known["end"] - known["start"]
            at = np.searchsorted(begins, rows["begin"], side="right") - 1
            rows["phase"] = np.where(rows["begin"] <= ends[at], numbers[at], len(phases))
            rows["call"] = calls.setdefault((one.module, direction), len(calls))
            rows["file"] = files.setdefault(one.path, len(files))
            rows["process"] = one.rank
            kept.append(rows)
    outside = Phase("", OUTSIDE * bool(spans))
    return Singly(np.concatenate(kept), [*phases, outside], list(calls), list(files))


def _bins(log: Log, spans: list[Span], start: float, others: dict[str, Phase]) -> str:
    """Add each bin of the heat map to a phase; returns the source of the phases. A bin belongs to a
    phase if its neighbours do too: processes count from their own starts."""
    width = 0.0
    for layer in LAYERS:
        heat = log.heat.get(layer)
        if heat is None:
            continue
        width = heat.bin_seconds
        bins = max((len(one) for both in heat.ranks.values() for one in both), default=0)
        for i in range(bins):
            begin = start + i * width
            phase = _phase_of_bin(spans, begin - width, begin + 2 * width, others)
            for d, direction in enumerate(HEAT_ORDER):
                size = sum(both[d][i] for both in heat.ranks.values() if i < len(both[d]))
                if size:
                    phase.layers.setdefault(layer, Moved()).add(direction, size)
    return f"the heat map, in bins of {width:g} s; bytes of all files"


def _phase_of_bin(spans: list[Span], begin: float, end: float, others: dict[str, Phase]) -> Phase:
    touched = [span for span in spans if span.begin < end and span.end > begin]
    if not touched:
        return others[OUTSIDE]
    if len(touched) != 1 or touched[0].begin > begin or end > touched[0].end:
        return others[MIXED]
    return touched[0].phase
