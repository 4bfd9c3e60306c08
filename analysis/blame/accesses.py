# SPDX-License-Identifier: BSD-3-Clause
"""Every access of a trace in one table, from any kind of trace."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..darshan import raw, views
from ..darshan.dxt import SEGMENT
from ..darshan.header import MOST_BYTE, MOST_SECONDS
from ..darshan.raw import RawProcess
from ..darshan.views import MARK
from ..replay.phases import GAP, Phases, find
from ..replay.trace import DATA_SETS, Choice, Trace, load, only_counters
from ..replay.trace import POSIX as POSIX_CALLS

POSIX, MPIIO = 0, 1
LAYERS = ("POSIX", "MPI-IO")
READ, WRITE = 0, 1
# `row`: the same for all pieces of one call. `sequence`: within its process. `at`: where the call
# begins; a piece may start later.
ACCESS = np.dtype(
    [
        ("file", "<i4"),
        ("process", "<i4"),
        ("layer", "u1"),
        ("write", "u1"),
        ("call", "<i4"),
        ("row", "<i8"),
        ("sequence", "<i8"),
        ("offset", "<i8"),
        ("length", "<i8"),
        ("start", "<f8"),
        ("end", "<f8"),
    ]
)
EVENT = np.dtype(
    [
        ("file", "<i8"),
        ("a", "<i8"),
        ("b", "<i8"),
        ("start", "<f8"),
        ("end", "<f8"),
        ("sequence", "<u4"),
        ("kind", "<u2"),
        ("module", "<u2"),
    ]
)
NOT_KNOWN, TRUNCATION = -1, -2  # instead of a call's number
BELOW = "replayed as the POSIX calls of its MPI library: "
Rows = NDArray[np.void]


@dataclass
class Traced:
    """`accesses`: unordered; times in seconds on one clock. `events`: per process, by sequence,
    with files numbered as in `files` (-1: none); None if the trace has none. `hosts`: per process.
    `unsure`: seconds by which two nodes' clocks may differ; None: unknown. `notes`: what is missing
    or inferred."""

    path: Path
    files: list[str]
    calls: list[str]
    hosts: list[str]
    accesses: Rows
    events: list[Rows] | None
    unsure: float | None = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def processes(self) -> int:
        return len(self.hosts)

    def call(self, access: int) -> str | None:
        number = int(self.accesses["call"][access])
        return "truncation" if number == TRUNCATION else self.calls[number] if number >= 0 else None


def of_recorder(folder: Path) -> Traced:
    found = raw.read_folder(folder)
    records = [record for process in found for record in process.records]
    if not any(any(record.segments) for record in records):
        raise only_counters(folder, any(record.sizes for record in records), by_runtime=False)
    hosts = [found[0].host] * (found[-1].rank + 1)
    traced = Traced(folder, [], [], hosts, np.empty(0, ACCESS), [], notes=raw.lost(found))
    number, of = dict[str, int](), dict[int, int]()
    tables, began = [], min(process.start for process in found)
    events: list[list[Rows]] = [[] for _ in hosts]
    for process in found:
        traced.hosts[process.rank] = process.host
        later = (process.start - began) / 1e9
        for record in process.records:
            of[record.id] = number.setdefault(record.path, len(number))
        one = np.frombuffer(process.events, EVENT).copy()
        one["file"] = [of.get(identity % 2**64, NOT_KNOWN) for identity in one["file"].tolist()]
        one["start"] += later
        one["end"] += later
        events[process.rank].append(one)
        tables += [_of_process(process, number, later, traced), _cut(one, process.rank)]
    traced.files = list(number)
    none = np.empty(0, EVENT)
    joined = [np.concatenate([*some, none]) for some in events]
    traced.events = [rows[np.argsort(rows["sequence"], kind="stable")] for rows in joined]
    # A process and those that it started number apart from each other what they do.
    for rank in {one.rank for one in found if one.flags & raw.FORKED or not one.flags & raw.MPI}:
        some, mine = traced.events[rank], [rows for rows in tables if rank in rows["process"]]
        times = np.concatenate([some["start"], *(rows["end"] for rows in mine)])
        place = np.argsort(np.argsort(times, kind="stable"))
        ends = np.cumsum([len(some), *map(len, mine)])[:-1]
        for rows, at in zip((some, *mine), np.split(place, ends), strict=True):
            rows["sequence"] = at
        traced.events[rank] = np.sort(some, order="sequence")
    traced.accesses = np.concatenate(tables)
    return traced


def _cut(events: Rows, process: int) -> Rows:
    """Truncations: they count as writes of all bytes from the new size on."""
    cuts = events[events["kind"] == raw.CUT]
    rows, same = np.zeros(len(cuts), ACCESS), ["file", "sequence", "start", "end"]
    rows["process"], rows["write"], rows["call"] = process, WRITE, TRUNCATION
    rows["row"], rows["offset"], rows["length"] = cuts["sequence"], cuts["a"], MOST_BYTE - cuts["a"]
    rows[same] = cuts[same]
    return rows


def _of_process(process: RawProcess, number: dict[str, int], later: float, traced: Traced) -> Rows:
    traced.calls += [name for name in dict.fromkeys(process.calls) if name not in traced.calls]
    calls = [traced.calls.index(name) for name in process.calls]
    found = []
    for record in process.records:
        layer = LAYERS.index(record.module)
        for direction in (READ, WRITE):
            segments = np.frombuffer(record.segments[direction], SEGMENT)
            marks = np.frombuffer(record.marks[direction], MARK)
            if not len(segments):
                continue
            rows = np.empty(len(segments), ACCESS)
            rows["file"], rows["process"] = number[record.path], process.rank
            rows["layer"], rows["write"] = layer, direction
            rows["call"] = np.append(calls, NOT_KNOWN)[np.minimum(marks["call"], len(calls))]
            rows["row"] = rows["sequence"] = marks["sequence"]
            rows["offset"], rows["length"] = segments["offset"], segments["length"]
            rows["start"], rows["end"] = segments["start"] + later, segments["end"] + later
            right = (rows["start"] <= rows["end"]) & (np.abs(rows["end"]) < MOST_SECONDS)
            if not (right & (rows["length"] >= 0) & (rows["offset"] <= MOST_BYTE)).all():
                raise raw.BrokenTraceError(
                    f"{traced.path}: process {process.rank}: an access at an invalid time or place "
                    f"of {record.path}"
                )
            if layer == MPIIO:
                rows, notes = views.places(rows, marks["at"], process, record.id)
                traced.notes += [f"{text}: {record.path}" for text in notes]
            found.append(rows)
    return np.concatenate([*found, np.empty(0, ACCESS)])


def of_log(path: Path) -> tuple[Traced, Phases]:
    """The accesses, and the pauses common to all processes: a log has no other order."""
    below, above = load(path, Choice(posix=True)), load(path)
    hosts = [below.hosts.get(rank) or "?" for rank in range(below.processes)]
    files = sorted({one.path for trace in (below, above) for one in trace.files})
    traced = Traced(
        path,
        files,
        ["read", "write"],
        hosts,
        np.concatenate((_table(below, POSIX, files), _table(above, MPIIO, files))),
        None,
        unsure=None,
        notes=[text for text in below.notes if not text.startswith((BELOW, DATA_SETS))],
    )
    traced.notes += [
        f"only the POSIX calls are judged: {text.removeprefix(BELOW)}"
        for text in above.notes
        if text.startswith(BELOW)
    ]
    phases = find(below)
    traced.notes += phases.notes(GAP)
    traced.notes.append(
        "a log keeps no barrier, lock or sync: accesses of different phases are taken as ordered "
        "and accesses of one phase as not, from time alone"
    )
    if len(set(traced.hosts)) > 1:
        traced.notes.append("times of different hosts are from their own clocks, as logged")
    else:
        traced.unsure = 0.0 if below.log.by_runtime is False else None
    return traced, phases


def _table(trace: Trace, layer: int, files: list[str]) -> Rows:
    number = np.array([files.index(one.path) for one in trace.files])
    level = np.array([POSIX if one.level == POSIX_CALLS else MPIIO for one in trace.files])
    found = []
    for rank, rows in enumerate(trace.accesses):
        rows = rows[level[rows["file"]] == layer]
        made = np.empty(len(rows), ACCESS)
        made["file"], made["process"], made["layer"] = number[rows["file"]], rank, layer
        made["write"], made["call"] = rows["write"], np.where(rows["write"] == WRITE, 1, 0)
        made["sequence"] = made["row"] = np.arange(len(rows))
        for name in ("offset", "length", "start", "end"):
            made[name] = rows[name]
        found.append(made)
    return np.concatenate([*found, np.empty(0, ACCESS)])
