# SPDX-License-Identifier: BSD-3-Clause
"""What limited a run: its phases, its slowest process, the layers of its trace, its calls. Each
cause has an upper bound of the time it explains; causes overlap."""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from iogauge.common.text import counted, duration, percent

from ..checks.arithmetic import clients
from ..errors import AnalysisError, NothingFoundError
from ..ledger.ledger import Side, own_files
from ..ledger.traced import Traced, finished, is_traced
from ..ledger.traced import load as load_traced
from ..ledger.verdict import HOLES, READ_SIEVING, SIEVING
from ..session.model import CEILINGS, DIRECTIONS, Direction
from ..session.peaks import SHORT, Peaks, SessionPeak
from . import slow

Kind = Literal[
    "sieving",
    "holes",
    "small calls",
    "slow calls",
    "shared file",
    "exchange",
    "straggler",
    "metadata",
    "flush",
    "cold reads",
    "library",
    "storage",
]
BY_PEAK: tuple[Kind, ...] = ("storage", "shared file")
METADATA = ("create", "define", "open", "close")
# A cause that explains less of the time is dropped.
LEAST = 0.15
SMALL = 64 * 1024  # bytes of an average call; file systems work in MiB
RARE = 10.0  # a slow call takes this many times the median
STEADY = 1.5  # times: ceilings that varied by more explain nothing
FULL = 0.8  # of the ceiling: the limit is reached
SHARED = 0.67  # of a file per process's speed; below, sharing is costly


@dataclass(frozen=True)
class Cause:
    """`share`: the most of the direction's time that it explains. `process`: the slowest, if known.
    `chance`: that equal ones show it, of what is slow. The rest is text, and may be empty."""

    kind: Kind
    direction: Direction
    share: float
    phase: str
    layer: str
    calls: str
    says: str
    process: int | None = None
    host: str = ""
    file: str = ""
    ost: int | None = None
    chance: float | None = None


@dataclass
class Facts:
    """What is known about one direction. Seconds are summed over all repeats. `phases`: by phase,
    the slowest process and the mean. `slowest`: by layer, the slowest process's seconds in data
    calls, and its rank."""

    direction: Direction
    document: dict[str, Any]
    seconds: float
    phases: dict[str, tuple[float, float]]
    bandwidth: float
    ceilings: dict[str, float]  # the session's peaks, else the job's; empty if too uneven
    side: Side | None = None
    slowest: dict[str, tuple[float, int]] = field(default_factory=dict)
    mean: dict[str, float] = field(default_factory=dict)
    several: bool = False  # processes wrote one file by POSIX calls
    shortest: float = SHORT  # seconds of a repeat
    questions: Sequence[slow.Question] = ()  # the most certain first
    latencies: Sequence[dict[str, Any]] = ()  # of single calls
    small: float = 0.0  # accesses of 4 KiB a second, of a peak test

    def part(self, *names: str) -> float:
        """The slowest process's share of the time in these phases."""
        return sum(self.phases.get(name, (0, 0))[0] for name in names) / self.seconds

    def layer(self, name: str) -> float:
        """The slowest process's share of the time in a layer's data calls; 0 if unknown."""
        return min(self.slowest.get(name, (0.0, 0))[0] / self.seconds, 1.0)

    def rank(self, name: str) -> int | None:
        return self.slowest[name][1] if name in self.slowest else None

    def cause(self, kind: Kind, share: float, layer: str, says: str) -> Cause:
        """A cause in the transfers; in the calls of one layer, if it is named."""
        calls, rank = _calls(self, layer), self.rank(layer)
        return Cause(kind, self.direction, share, self.direction, layer, calls, says, rank)

    @property
    def of_ceiling(self) -> float | None:
        return self.bandwidth / self.ceilings["fpp"] if self.ceilings.get("fpp") else None


def facts(doc: dict[str, Any], traced: Traced | None, peaks: Peaks) -> list[Facts]:
    found = []
    asked = slow.questions(doc, traced)
    for direction in DIRECTIONS:
        samples = [s for s in doc["samples"] if s.get(direction)]
        if not samples:
            continue
        phases: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for sample in samples:
            for name, times in (sample[direction].get("phases") or {}).items():
                phases[name][0] += times["max"]
                phases[name][1] += times["mean"]
        shortest = min(s[direction]["seconds"] for s in samples)
        one = Facts(
            direction,
            doc,
            sum(s[direction]["seconds"] for s in samples),
            {name: (both[0], both[1]) for name, both in phases.items()},
            statistics.median(s[direction]["bandwidth"] for s in samples),
            _ceilings(doc, direction, peaks),
            shortest=shortest,
            questions=[one for one in asked if one.direction == direction],
            latencies=slow.latencies(doc, direction, traced),
            small=small.value if (small := peaks.get(("small", direction))) else 0.0,
        )
        if traced:
            _add_trace(one, traced)
        found.append(one)
    return found


def _ceilings(doc: dict[str, Any], direction: Direction, peaks: Peaks) -> dict[str, float]:
    """None of files a second or of `null`, none that varied, and none while the machine was
    disturbed, which the ceilings of clients alone do not say."""
    found: dict[str, float] = {}
    samples = [s for s in doc["samples"] if s.get(direction)]
    if doc["asked"]["method"] == "null" or any(s.get("series") for s in samples):
        return {}
    tells = not doc.get("system", {}).get("io_processes")
    for name in CEILINGS:
        given = [((s.get("ceilings") or {}).get(name) or {}).get(direction) for s in samples]
        own, peak, uneven = list(filter(None, given)), peaks.get((name, direction)), 1.0
        if own:
            middle, uneven = statistics.median(own), max(own) / min(own)
            peak = peak or SessionPeak(middle, "same job", 1, uneven, middle)
            if name == "fpp" and tells and peak.disturbed(middle):
                return {}
        if peak and max(peak.varied, uneven) <= STEADY:
            found[name] = peak.value
    return found


def _add_trace(one: Facts, traced: Traced) -> None:
    one.side = traced.ledger.side(one.direction)
    own = own_files(traced.document)
    spent: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for file in traced.log.files:
        if file.module in ("POSIX", "MPI-IO") and own(file.path):
            movers = 0
            for work in file.ranks:
                writes = one.direction == "write"
                spent[file.module][work.rank] += work.writing if writes else work.reading
                movers += bool(work.written if writes else work.read)
            one.several |= file.module == "POSIX" and movers > 1
    for name, by_rank in spent.items():
        rank = max(by_rank, key=by_rank.__getitem__)
        one.slowest[name] = (by_rank[rank], rank)
        one.mean[name] = sum(by_rank.values()) / traced.log.processes


def causes(one: Facts, reasons: Sequence[str] = ()) -> list[Cause]:
    """Members that a test found slow, then the largest share first; if a repeat was too short, only
    the former. `reasons`: of the ledger's verdict."""
    least = LEAST if one.shortest >= SHORT else math.inf
    found = [cause for ask in _QUESTIONS for cause in ask(one, reasons)]
    found = [cause for cause in found if cause.share >= least or cause.chance is not None]
    return sorted(found, key=lambda c: (c.chance is None or c.share < LEAST, -round(c.share, 2)))


def _more_than_asked(one: Facts, reasons: Sequence[str]) -> Iterator[Cause]:
    """Read-modify-write: gaps between the pieces are read and written back."""
    writes = one.direction == "write"
    kinds: dict[str, Kind] = {SIEVING: "sieving", HOLES: "holes"}
    kinds = kinds if writes else {READ_SIEVING: "sieving"}
    for reason in reasons:
        kind = next((kind for start, kind in kinds.items() if reason.startswith(start)), None)
        if kind and one.side:
            locked = "; each piece is locked meanwhile" * (kind == "sieving" and writes)
            says = f"{one.side.amplification or 0:.2f} bytes were moved for each byte of data "
            says += f"({reason}){locked}"
            yield replace(one.cause(kind, one.layer("POSIX"), "POSIX", says), layer="MPI-IO")


def _small(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    layer = one.side.layer("POSIX") if one.side else None
    if layer and layer.calls and layer.bytes / layer.calls < SMALL:
        says = f"{layer.calls:,} calls moved {layer.bytes / layer.calls:,.0f} bytes each"
        if one.small:
            says += f", {layer.calls / one.seconds:,.0f} a second (accesses of 4 KiB at random "
            says += f"places reach {one.small:,.0f})"
        says += f"; file systems are fast from {SMALL // 1024} KiB upwards"
        yield one.cause("small calls", one.layer("POSIX"), "POSIX", says)


def _slow_calls(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    """A few calls that take much of the busiest process's time."""
    if found := one.latencies:
        calls = found[0]["calls"] / clients(one.document)
        by_name = [[each["slowest"][name] for each in found] for name in ("p50", "p99", "seconds")]
        p50, p99, seconds = map(statistics.median, by_name)
        if calls >= 100 and p99 >= RARE * p50 and calls / 100 * p99 >= LEAST * seconds:
            share = (seconds - calls * p50) * len(found) / one.seconds
            says = f"one call in 100 took {duration(p99)} or more; the median call {duration(p50)}"
            yield one.cause("slow calls", share, "", says)


def _shared(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    """The cost of one shared file on this file system, such as locks."""
    ratio = one.ceilings.get("shared", math.inf) / one.ceilings.get("fpp", 1)
    if one.several and "fpp" in one.ceilings and ratio < SHARED:
        says = f"several processes share a file, which here reaches {percent(ratio)} of the "
        says += "bandwidth of a file per process (the peaks): file system locks"
        yield one.cause("shared file", one.layer("POSIX") * (1 - ratio), "POSIX", says)


def _exchange(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    layer = one.side.layer("MPI-IO") if one.side else None
    if layer and layer.collective:
        above, below = one.layer("MPI-IO"), one.layer("POSIX")
        says = f"collective calls took {percent(above)} of the time, and the POSIX calls below "
        says += f"them {percent(below)}: the processes exchange data and wait for each other"
        yield one.cause("exchange", above - below, "MPI-IO", says)


def _straggler(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    """Members slower than by chance, of each equally certain kind; else from the phases."""
    found = [question for question in one.questions if question.is_slow]
    for question in found:
        if question.chance == found[0].chance:
            lost = sum(each.seconds - each.mean for each in question.slowest_in) / one.seconds
            if question.kind == "file":  # its seconds are of all processes
                lost /= one.document["system"]["processes"]
            if question.kind == "ost":  # several processes at the same time
                lost /= len(question.slowest_in)
            cause = one.cause("straggler", min(lost, 1.0), "", str(question))
            named = {
                "host": question.slowest_in[0].host,
                question.kind: question.slowest_in[0].member,
            }
            yield replace(cause, chance=question.chance, **named)
    measured = [each["slowest"] for each in one.latencies]
    slowest = max(measured, key=lambda each: each["seconds"], default={"process": None})
    for name, (most, mean) in one.phases.items():
        moves = name == one.direction
        if most > slow.SLOWER * mean > 0 and not (found and moves):
            layers = [layer for layer in one.slowest if moves and one.mean[layer] > 0]
            layer = max(layers, key=lambda by: one.slowest[by][0] / one.mean[by], default="")
            asked = [f"; {each}" for each in one.questions if moves and each.kind == "process"]
            says = f"the slowest process spent {most / mean:.1f} times the mean in {name} "
            says += f"({duration(most)} to {duration(mean)}); the others wait{''.join(asked)}"
            cause = one.cause("straggler", (most - mean) / one.seconds, layer, says)
            process = one.rank(layer) if layer or not moves else slowest["process"]
            yield replace(cause, phase=name, calls="", process=process)


def _metadata(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    count = one.document.get("file_count") or 0
    parts = {name: part for name in METADATA if (part := one.part(name)) > 0.01}
    named = ", ".join(f"{name} {percent(part)}" for name, part in parts.items())
    share, files = one.part(*METADATA), counted(count, "file")
    says = f"opening, defining and closing took {percent(share)} of the time, moving data "
    says += percent(one.part(one.direction))
    yield replace(one.cause("metadata", share, "", says), phase=named, calls=files)


def _flush(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    says = f"waiting for the storage (fsync) took {percent(one.part('flush'))} of the time"
    yield replace(one.cause("flush", one.part("flush"), "", says), phase="flush")


def _cold(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    if one.direction == "read" and one.document["used"].get("caches") == "dropped":
        share = one.layer("POSIX") if one.slowest else one.part("read")
        says = "the data came from the storage: caches were dropped before reading"
        yield one.cause("cold reads", share, "POSIX" if one.slowest else "", says)


def _library(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    """Time not spent in calls below the library."""
    top = "MPI-IO" if one.side and one.side.mpiio is not None else "POSIX"
    method, moving = one.document["asked"]["method"], one.part(one.direction)
    if top in one.slowest and method != "posix":
        says = f"moving data took {percent(moving)} of the time, and the {top} calls in it "
        says += f"{percent(one.layer(top))}: {method} and the kernel itself take the rest"
        yield replace(one.cause("library", moving - one.layer(top), "", says), layer=method)


def _storage(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    if one.of_ceiling is not None and one.of_ceiling >= FULL:
        says = f"it reached {percent(one.of_ceiling)} of the peak (a file per process): "
        says += "the file system is the limit"
        yield one.cause("storage", min(one.of_ceiling, 1.0), "", says)


# Breaks ties between equal shares: direct evidence first.
_QUESTIONS: tuple[Callable[[Facts, Sequence[str]], Iterator[Cause]], ...] = (
    _storage,
    _more_than_asked,
    _small,
    _slow_calls,
    _shared,
    _exchange,
    _straggler,
    _metadata,
    _flush,
    _cold,
    _library,
)


def _calls(one: Facts, name: str) -> str:
    """`24 calls of 4,096 bytes, 2 processes`."""
    layer = one.side.layer(name) if one.side else None
    if not layer or not layer.calls:
        return ""
    collective = f", {layer.collective:,} collective" if layer.collective else ""
    by = f", by {layer.processes} processes" if layer.processes is not None else ""
    return f"{layer.calls:,} calls of {layer.bytes / layer.calls:,.0f} bytes{collective}{by}"


@dataclass(frozen=True)
class Loaded:
    """`trace` is None where no trace is usable, and `note` says why."""

    document: dict[str, Any]
    trace: Traced | None
    note: str

    def causes(self, peaks: Peaks) -> list[tuple[Facts, list[Cause]]]:
        reasons = self.trace.judgement.reasons if self.trace else ()
        found = facts(self.document, self.trace, peaks)
        return [(one, causes(one, reasons)) for one in found]


def load(folder: Path) -> Loaded:
    """The document, and the trace if there is one. Raises AnalysisError."""
    doc = finished(folder)
    if not doc["samples"]:
        why = doc["error"] or doc["status"]
        raise NothingFoundError(f"{folder}: expected a run with results: {why}")
    if not is_traced(folder):
        return Loaded(doc, None, "not traced: which process, layer and calls is unknown")
    try:
        return Loaded(doc, load_traced(folder), "")
    except AnalysisError as error:
        return Loaded(doc, None, f"its trace cannot be used: {error}")
