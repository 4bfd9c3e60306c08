# SPDX-License-Identifier: BSD-3-Clause
"""Assigns a trace's accesses to the run's phases, by the time spans in the result document. Pure.

With single accesses (DXT) this is exact; a heat map shows only phases longer than its bins. Spans
and traces are in Unix time. An access belongs to the last phase that had begun.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..darshan.log import Log
from ..session.model import DIRECTIONS, Direction

OUTSIDE = "between phases"
MIXED = "not told apart"
LAYERS = ("MPI-IO", "POSIX")
# The names of the layers in heat maps.
HEAT = {"MPI-IO": "MPIIO", "POSIX": "POSIX"}
HEAT_ORDER: tuple[Direction, ...] = ("read", "write")
SLACK = 0.05  # seconds: accuracy of the times of Darshan's runtime
NEEDS = "needs -S dxt=true"
BYTES: dict[Direction, str] = {"write": "BYTES_WRITTEN", "read": "BYTES_READ"}

# Layer, direction, bytes, Unix time of its beginning, seconds, process, path.
Access = tuple[str, Direction, int, float, float, int, str]


@dataclass
class Moved:
    """Bytes and calls in each direction; `calls` is None if the trace does not count them."""

    bytes: dict[Direction, int] = field(default_factory=lambda: dict.fromkeys(DIRECTIONS, 0))
    calls: dict[Direction, int] | None = None

    def add(self, direction: Direction, size: int, *, a_call: bool) -> None:
        self.bytes[direction] += size
        if a_call:
            self.calls = self.calls or dict.fromkeys(DIRECTIONS, 0)
            self.calls[direction] += 1


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


def divide(
    document: dict[str, Any], log: Log, own: Callable[[str], bool]
) -> tuple[tuple[Phase, ...], str]:
    """The phases with what each moved, and which part of the trace shows it. If there are no
    phases, the text says why. `own`: whether a path is one of the run's own files."""
    phases, spans = _spans(document)
    if not spans:
        return (), "no phases: the result document has no spans"
    others = {name: Phase("", name) for name in (OUTSIDE, MIXED)}
    if log.segments:
        source = _accesses(log, spans, own, accesses(document, log, own), others[OUTSIDE])
    elif log.heat:
        latest = max(_lags(log, spans, own).values(), default=0.0)
        source = _bins(log, spans, log.start - latest, others)
    else:
        return (), f"no phases: the trace has no times of accesses: {NEEDS}"
    if not any(phase.layers for phase in phases):
        return (), f"no phases: {source}: {NEEDS}"
    if others[MIXED].layers:
        source += f"; the rest {NEEDS}"
    return (*phases, *(phase for phase in others.values() if phase.layers)), source


def _spans(document: dict[str, Any]) -> tuple[list[Phase], list[Span]]:
    """The phases and their spans, by time. Documents from before 2026-11-21 have none, nor has the
    real ior."""
    phases: dict[tuple[str, str], Phase] = {}
    spans: list[Span] = []
    for sample in document["samples"]:
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


def _accesses(
    log: Log, spans: list[Span], own: Callable[[str], bool], moved: Iterator[Access], outside: Phase
) -> str:
    """Add each access to the phase in which it began; returns the source of the phases."""
    begins = [span.begin for span in spans]
    slack = SLACK if log.by_runtime else 0.0
    kept = dict.fromkeys(DIRECTIONS, 0)
    for layer, direction, size, when, *_ in moved:
        at = bisect_right(begins, when) - 1
        phase = spans[at].phase if at >= 0 and when <= spans[at].end + slack else outside
        phase.layers.setdefault(layer, Moved()).add(direction, size, a_call=True)
        kept[direction] += size if layer == "POSIX" else 0
    counted = {
        direction: sum(
            f.count(BYTES[direction]) for f in log.files if f.module == "POSIX" and own(f.path)
        )
        for direction in DIRECTIONS
    }
    lost = [f"{kept[d]} of {counted[d]} bytes of {d}" for d in DIRECTIONS if kept[d] != counted[d]]
    known = f", whose times Darshan gives within {SLACK:g} s" if log.by_runtime else ""
    return f"each access (DXT){known}" + (f", which has {', '.join(lost)}" if lost else "")


def accesses(document: dict[str, Any], log: Log, own: Callable[[str], bool]) -> Iterator[Access]:
    """Of a trace that has them singly, in the clock of the document's spans."""
    _, spans = _spans(document)
    lags = _lags(log, spans, own) if spans else {}
    for one in log.segments:
        if own(one.path):
            zero = log.start - lags.get(one.rank, 0.0)
            for _, size, when, end in one.writes:
                yield one.module, "write", size, zero + when, end - when, one.rank, one.path
            for _, size, when, end in one.reads:
                yield one.module, "read", size, zero + when, end - when, one.rank, one.path


def _bins(log: Log, spans: list[Span], start: float, others: dict[str, Phase]) -> str:
    """Add each bin of the heat map to a phase; returns the source of the phases.

    A bin belongs to a phase if its neighbours lie in that phase too: each process counts from its
    own start, so bins of two processes may be off by one. A heat map does not separate files."""
    width = 0.0
    for layer in LAYERS:
        heat = log.heat.get(HEAT[layer])
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
                    phase.layers.setdefault(layer, Moved()).add(direction, size, a_call=False)
    return f"the heat map, in bins of {width:g} s; bytes of all files"


def _phase_of_bin(spans: list[Span], begin: float, end: float, others: dict[str, Phase]) -> Phase:
    touched = [span for span in spans if span.begin < end and span.end > begin]
    if not touched:
        return others[OUTSIDE]
    if len(touched) != 1 or touched[0].begin > begin or end > touched[0].end:
        return others[MIXED]
    return touched[0].phase
