# SPDX-License-Identifier: BSD-3-Clause
"""What limited a run: its phases, its slowest process, the layers of its trace, its calls.

Each cause has an upper bound of the time it explains, and evidence. Causes overlap: a straggler's
calls may also be small. Without a trace only the result document is examined.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from iogauge.common.document import STOPPED, BadDocument
from iogauge.common.document import load as load_document
from iogauge.common.run_folder import DOCUMENT
from iogauge.common.text import percent

from ..errors import AnalysisError, MalformedDocumentError, NothingFoundError
from ..ledger.ledger import Side, own_files
from ..ledger.traced import Traced, is_traced
from ..ledger.traced import load as load_traced
from ..ledger.verdict import HOLES, READ_SIEVING, SIEVING
from ..session.model import CEILINGS, DIRECTIONS, Direction
from ..session.peaks import DISTURBED, SHORT, Peaks, SessionPeak

Kind = Literal[
    "sieving", "holes", "small calls", "shared file", "exchange", "straggler", "metadata", "flush",
    "cold reads", "library", "storage",
]  # fmt: skip
METADATA = ("create", "define", "open", "close")
# A cause that explains less of the time is dropped.
LEAST = 0.15
SMALL = 64 * 1024  # bytes of an average call; file systems work in MiB
SLOWER = 1.5  # times the mean of all processes: a straggler
STEADY = 1.5  # times: ceilings that varied by more explain nothing
FULL = 0.8  # of the ceiling: the limit is reached
SHARED = 0.67  # a shared file's speed relative to a file per process; below: sharing is costly


@dataclass(frozen=True)
class Cause:
    """`share`: the most of the direction's time that it explains. `process`: the slowest, if the
    trace names it. The other fields are text, and may be empty."""

    kind: Kind
    direction: Direction
    share: float
    phase: str
    layer: str
    calls: str
    says: str
    process: int | None = None


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
    ceilings: dict[str, float]  # the session's peaks, else the job's; empty where too uneven
    side: Side | None = None
    slowest: dict[str, tuple[float, int]] = field(default_factory=dict)
    mean: dict[str, float] = field(default_factory=dict)
    several: bool = False  # processes wrote one file by POSIX calls
    shortest: float = SHORT  # seconds of a repeat

    def part(self, *names: str) -> float:
        """The slowest process's share of the time in these phases."""
        return sum(self.phases.get(name, (0, 0))[0] for name in names) / self.seconds

    def layer(self, name: str) -> float:
        """The slowest process's share of the time in a layer's data calls; 0 if unknown."""
        return min(self.slowest.get(name, (0.0, 0))[0] / self.seconds, 1.0)

    def rank(self, name: str) -> int | None:
        return self.slowest[name][1] if name in self.slowest else None

    @property
    def of_ceiling(self) -> float | None:
        return self.bandwidth / self.ceilings["fpp"] if self.ceilings.get("fpp") else None


def facts(document: dict[str, Any], traced: Traced | None, peaks: Peaks) -> list[Facts]:
    """For each direction measured. `peaks`: of the run's session, if known."""
    found = []
    for direction in DIRECTIONS:
        samples = [s for s in document["samples"] if s.get(direction)]
        if not samples:
            continue
        phases: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for sample in samples:
            for name, times in (sample[direction].get("phases") or {}).items():
                phases[name][0] += times["max"]
                phases[name][1] += times["mean"]
        shortest = min(s[direction]["seconds"] for s in samples)
        one = Facts(
            direction, document, sum(s[direction]["seconds"] for s in samples),
            {name: (both[0], both[1]) for name, both in phases.items()},
            statistics.median(s[direction]["bandwidth"] for s in samples),
            _ceilings(samples, direction, peaks), shortest=shortest,
        )  # fmt: skip
        if traced:
            _add_trace(one, traced)
        found.append(one)
    return found


def _ceilings(samples: Sequence[Any], direction: Direction, peaks: Peaks) -> dict[str, float]:
    """None that varied, and none while the machine was disturbed."""
    found: dict[str, float] = {}
    for name in CEILINGS:
        given = [((s.get("ceilings") or {}).get(name) or {}).get(direction) for s in samples]
        if own := [value for value in given if value]:
            middle, uneven = statistics.median(own), max(own) / min(own)
            peak = peaks.get((name, direction)) or SessionPeak(middle, "same job", 1, uneven)
            if max(peak.varied, uneven) > STEADY or middle < DISTURBED * peak.value:
                return {}
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
    """What limited this direction, largest share first; nothing where a repeat was too short.
    `reasons`: from the ledger's verdict."""
    if one.shortest < SHORT:
        return []
    found = [cause for ask in _QUESTIONS for cause in ask(one, reasons)]
    found = [cause for cause in found if cause.share >= LEAST]
    return sorted(found, key=lambda cause: -round(cause.share, 2))


def _more_than_asked(one: Facts, reasons: Sequence[str]) -> Iterator[Cause]:
    """Read-modify-write: gaps between the pieces are read and written back."""
    kinds: dict[str, Kind] = (
        {SIEVING: "sieving", HOLES: "holes"}
        if one.direction == "write"
        else {READ_SIEVING: "sieving"}
    )
    for reason in reasons:
        kind = next((kind for start, kind in kinds.items() if reason.startswith(start)), None)
        if kind and one.side:
            locked = kind == "sieving" and one.direction == "write"
            yield Cause(
                kind, one.direction, one.layer("POSIX"), one.direction, "MPI-IO",
                _calls(one, "POSIX"),
                f"{one.side.amplification or 0:.2f} bytes were moved for each byte of data "
                f"({reason}){'; each piece is locked for it' if locked else ''}",
                one.rank("POSIX"),
            )  # fmt: skip


def _small(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    layer = one.side.layer("POSIX") if one.side else None
    if layer and layer.calls and layer.bytes / layer.calls < SMALL:
        size = layer.bytes / layer.calls
        yield Cause(
            "small calls", one.direction, one.layer("POSIX"), one.direction, "POSIX",
            _calls(one, "POSIX"),
            f"{layer.calls:,} calls moved {size:,.0f} bytes each; a file system is fast from "
            f"{SMALL // 1024} KiB on",
            one.rank("POSIX"),
        )  # fmt: skip


def _shared(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    """The cost of one shared file on this file system, such as locks."""
    ratio = one.ceilings.get("shared", 0) / one.ceilings.get("fpp", 1)
    if one.several and 0 < ratio < SHARED:
        yield Cause(
            "shared file", one.direction, one.layer("POSIX") * (1 - ratio), one.direction, "POSIX",
            _calls(one, "POSIX"),
            f"several processes share a file, and a shared file is {percent(ratio)} as fast here "
            "as a file for each process (the peaks): locks of the file system",
            one.rank("POSIX"),
        )  # fmt: skip


def _exchange(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    layer = one.side.layer("MPI-IO") if one.side else None
    if layer and layer.collective:
        share = one.layer("MPI-IO") - one.layer("POSIX")
        yield Cause(
            "exchange", one.direction, share, one.direction, "MPI-IO", _calls(one, "MPI-IO"),
            f"collective calls took {percent(one.layer('MPI-IO'))} of the time, and the POSIX "
            f"calls below them {percent(one.layer('POSIX'))}: processes exchange data, and wait "
            "for each other",
            one.rank("MPI-IO"),
        )  # fmt: skip


def _straggler(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    """From the document's phases; the trace says which process."""
    for name, (most, mean) in one.phases.items():
        if most > SLOWER * mean > 0:
            by_trace = max(
                (layer for layer in one.slowest if one.mean[layer] > 0),
                key=lambda layer: one.slowest[layer][0] / one.mean[layer],
                default="",
            )
            yield Cause(
                "straggler", one.direction, (most - mean) / one.seconds, name, by_trace, "",
                f"the slowest process was {most / mean:.1f} times as long in {name} as the mean "
                f"of all ({most:.3g} s to {mean:.3g} s); the others wait",
                one.rank(by_trace),
            )  # fmt: skip


def _metadata(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    count = one.document.get("file_count") or 0
    parts = {name: part for name in METADATA if (part := one.part(name)) > 0.01}
    named = ", ".join(f"{name} {percent(part)}" for name, part in parts.items())
    yield Cause(
        "metadata", one.direction, one.part(*METADATA), named, "",
        f"{count} file{'s' * (count != 1)}",
        f"opening, defining and closing took {percent(one.part(*METADATA))} of the time, moving "
        f"data {percent(one.part(one.direction))}",
    )  # fmt: skip


def _flush(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    yield Cause(
        "flush", one.direction, one.part("flush"), "flush", "", "",
        f"waiting for the storage (fsync) took {percent(one.part('flush'))} of the time",
    )  # fmt: skip


def _cold(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    if one.direction == "read" and one.document["used"].get("caches") == "dropped":
        share = one.layer("POSIX") if one.slowest else one.part("read")
        yield Cause(
            "cold reads", "read", share, "read", "POSIX" if one.slowest else "",
            _calls(one, "POSIX"),
            "the data was not in memory (caches were dropped before reading): it came from the "
            "storage",
            one.rank("POSIX"),
        )  # fmt: skip


def _library(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    """Time not spent in calls below the library."""
    top = "MPI-IO" if one.side and one.side.mpiio is not None else "POSIX"
    method = one.document["asked"]["method"]
    if top in one.slowest and method != "posix":
        yield Cause(
            "library", one.direction, one.part(one.direction) - one.layer(top), one.direction,
            method, "",
            f"moving data took {percent(one.part(one.direction))} of the time, and the {top} calls "
            f"in it {percent(one.layer(top))}: the rest is work of {method} and of the kernel "
            "itself",
        )  # fmt: skip


def _storage(one: Facts, _: Sequence[str]) -> Iterator[Cause]:
    if one.of_ceiling is not None and one.of_ceiling >= FULL:
        yield Cause(
            "storage", one.direction, min(one.of_ceiling, 1.0), one.direction, "", "",
            f"it reached {percent(one.of_ceiling)} of the peak, a file for each process: the file "
            "system is the limit",
        )  # fmt: skip


# Breaks ties between equal shares: direct evidence first.
_QUESTIONS: tuple[Callable[[Facts, Sequence[str]], Iterator[Cause]], ...] = (
    _storage, _more_than_asked, _small, _shared, _exchange, _straggler, _metadata, _flush, _cold,
    _library,
)  # fmt: skip


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
        """What limited each direction, largest share first."""
        reasons = self.trace.judgement.reasons if self.trace else ()
        found = facts(self.document, self.trace, peaks)
        return [(one, causes(one, reasons)) for one in found]


def load(folder: Path) -> Loaded:
    """The document, and the trace if there is one. Raises AnalysisError for a run without
    results."""
    try:
        document = load_document(folder / DOCUMENT)
    except BadDocument as problem:
        raise MalformedDocumentError(f"{folder / DOCUMENT}{problem}") from None
    if document["status"] in STOPPED or not document["samples"]:
        raise NothingFoundError(f"{folder}: expected a run that ended well: {document['error']}")
    if not is_traced(folder):
        return Loaded(document, None, "not traced: which process, layer and calls is unknown")
    try:
        return Loaded(document, load_traced(folder), "")
    except AnalysisError as error:
        return Loaded(document, None, f"its trace cannot be used: {error}")
