# SPDX-License-Identifier: BSD-3-Clause
"""The traces that the embedded recorder leaves, one per process (kernels/recorder/raw_trace.h)."""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from iogauge.common.text import one_line

from ..errors import AnalysisError

MAGIC, END = b"IOGTRACE", b"IOGT-END"
OLDEST, VERSION = 2, 3
COMPLETE, PARTIAL, FORKED, MPI = 1, 2, 4, 8
READ, WRITE = 0, 1
MODULES = ("POSIX", "MPI-IO")
TRACES = "process-*.trace"  # in a folder

_HEADER = struct.Struct("=8sIIiiqqqqqqdIIIIII64s128s1024s")
_RECORD = struct.Struct("=QQQIIII")
SEGMENT = struct.Struct("=qqdd")
# For each segment: its offset as the caller gave it, its number among all that the process kept,
# and which of the names its call has.
MARK = struct.Struct("=qII")
# File (0: none), two words, start, end, number among all, kind and module.
EVENT = struct.Struct("=QqqddIHH")
NAME = struct.Struct("=48s")
# A data set: file, class, bytes of an element; how many dimensions, of a chunk, filters. Then
# these, and the name.
SET = struct.Struct("=Q5q")
# A selection: elements, dimensions, slabs (-1: unknown). Then these.
PART = struct.Struct("=3q")
VARIABLE_LENGTH = 9  # the class
MOST_DIMS, MOST_SLABS = 32, 4096
(
    OPEN,
    CLOSE,
    SYNC,
    MEET,
    LOCK_READ,
    LOCK_WRITE,
    UNLOCK,
    VIEW,
    ATOMIC,
    MESSAGE,
    SEND,
    RECEIVE,
    WAIT,
    CHANGED,
    LOOKED,
    DATA_SET,
    CUT,
) = range(17)
SENT, HEARD = 1, 2  # of a MESSAGE

ANEW = "copy it again, or trace the program again with this recorder"
# In each dimension: where the first of `count` blocks begins, from one to the next, how many, and
# how many elements each has.
Slab = tuple[tuple[int, ...], ...]


class BrokenTraceError(AnalysisError):
    """A file is not a trace, or is truncated."""

    def __init__(self, what: str, remedy: str = ANEW) -> None:
        super().__init__(f"{what}; {remedy}")


@dataclass
class RawHeat:
    """Bytes moved in each interval of `bin_seconds`, by direction (READ, WRITE)."""

    id: int
    bin_seconds: float
    bins: tuple[list[int], list[int]]


@dataclass
class RawRecord:
    """One file through one module. `sizes`, `strides`: how often each was seen. `segments`: packed
    SEGMENTs, by direction."""

    id: int
    module: str
    path: str
    counters: list[int]
    times: list[float]
    sizes: dict[int, int]
    strides: dict[int, int]
    segments: tuple[bytes, bytes] = (b"", b"")
    marks: tuple[bytes, bytes] = (b"", b"")


@dataclass
class RawView:
    """A file view, in bytes: `pieces` from the displacement on, every `extent`. None: unknown."""

    displacement: int
    extent: int
    size: int
    element: int
    pieces: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class RawDataSet:
    """One of HDF5, whose numbers `kind` (of the type's class) and `filters` are. `bytes`: of an
    element. `chunk`: empty if there are none."""

    file: int
    name: str
    kind: int
    bytes: int
    dims: tuple[int, ...]
    chunk: tuple[int, ...]
    filters: tuple[int, ...]


class RawMove(NamedTuple):
    """A call of HDF5. `slabs`: which elements it moved; None: unknown."""

    data_set: RawDataSet
    elements: int
    slabs: tuple[Slab, ...] | None
    direction: int
    together: bool
    seconds: float


@dataclass
class RawProcess:
    """One process. `start`: Unix time in nanoseconds; all times in records are seconds after it.
    `monotonic`: the same on its node's monotonic clock. `events`: packed EVENTs
    (kernels/recorder/events.h)."""

    rank: int
    processes: int
    pid: int
    uid: int
    start: int
    seconds: float
    flags: int
    host: str
    recorder: str
    command: str
    heat: dict[str, RawHeat] = field(default_factory=dict)
    records: list[RawRecord] = field(default_factory=list)
    monotonic: int = 0
    calls: list[str] = field(default_factory=list)
    events: bytes = b""
    views: list[RawView] = field(default_factory=list)
    moves: list[RawMove] = field(default_factory=list)

    @property
    def of_mpi(self) -> bool:
        """Whether this is an MPI process's trace, not one of a forked child or another program."""
        return self.flags & (MPI | FORKED) == MPI

    @property
    def whole(self) -> bool:
        """Whether the process ended in order and the trace is complete."""
        return bool(self.flags & COMPLETE) and not self.flags & PARTIAL


class _Cursor:
    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data, self.at = path, data, 0

    def take(self, size: int) -> bytes:
        part = self.data[self.at : self.at + size]
        if len(part) < size:
            raise BrokenTraceError(f"{self.path}: cut off at byte {len(self.data)}")
        self.at += size
        return part

    def numbers(self, letter: str, count: int) -> tuple[int, ...]:
        return struct.unpack(f"={count}{letter}", self.take(8 * count))

    def pairs(self, count: int) -> dict[int, int]:
        values = self.numbers("q", 2 * count)
        return dict(zip(values[::2], values[1::2], strict=True))


def read_trace(path: Path) -> RawProcess:
    """One process's trace. `BrokenTraceError` if it is not one, or incomplete."""
    if not path.is_file():
        raise BrokenTraceError(f"{path}: not a file")
    cursor = _Cursor(path, path.read_bytes())
    magic, version, flags, rank, processes, pid, uid, seconds, nanoseconds, *rest = _HEADER.unpack(
        cursor.take(_HEADER.size)
    )
    if magic != MAGIC or version < OLDEST:
        raise BrokenTraceError(f"{path}: expected a trace of version {OLDEST} to {VERSION}")
    if version > VERSION:
        what = f"{path}: a trace of version {version}; this reads {OLDEST} to {VERSION}"
        raise BrokenTraceError(what, "use the iogauge that its recorder came with")
    since, after, duration, *rest = rest
    records, posix, mpiio, times, bins, modules, host, recorder, command = rest
    if not 0 <= rank < processes:
        raise BrokenTraceError(f"{path}: damaged: process {rank} of {processes}")
    if modules != len(MODULES):
        raise BrokenTraceError(f"{path}: expected {len(MODULES)} modules, found {modules}")
    process = RawProcess(
        rank,
        processes,
        pid,
        uid,
        seconds * 10**9 + nanoseconds,
        duration,
        flags,
        _text(host),
        _text(recorder),
        _text(command),
        monotonic=since * 10**9 + after,
    )
    for module in MODULES:
        (heat_id,) = cursor.numbers("Q", 1)
        (width,) = cursor.numbers("d", 1)
        both = (list(cursor.numbers("q", bins)), list(cursor.numbers("q", bins)))
        process.heat[module] = RawHeat(heat_id, width, both)
    for _ in range(records):
        process.records.append(_record(cursor, (posix, mpiio), times))
    _read_events(cursor, process)
    if version > OLDEST:
        _read_moves(cursor, process)
    if cursor.take(len(END)) != END:
        raise BrokenTraceError(f"{path}: its records do not add up")
    return process


def _read_events(cursor: _Cursor, process: RawProcess) -> None:
    (names,) = cursor.numbers("Q", 1)
    process.calls = [_text(cursor.take(NAME.size)) for _ in range(names)]
    (events,) = cursor.numbers("Q", 1)
    process.events = cursor.take(EVENT.size * events)
    (views,) = cursor.numbers("Q", 1)
    for _ in range(views):
        place, extent, size, element = cursor.numbers("q", 4)
        (pieces,) = cursor.numbers("Q", 1)
        numbers = cursor.numbers("q", 2 * pieces)
        both = tuple(zip(numbers[::2], numbers[1::2], strict=True))
        process.views.append(RawView(place, extent, size, element, both))
    set_ = (row[1] for row in EVENT.iter_unpack(process.events) if row[6] == VIEW)
    if lost := [number for number in set_ if not 0 <= number < views]:
        raise BrokenTraceError(f"{cursor.path}: damaged: file view {lost[0]} of {views}")


def _read_moves(cursor: _Cursor, process: RawProcess) -> None:
    """HDF5's calls. Their data sets and selections are here once each."""
    (count,) = cursor.numbers("Q", 1)
    shapes = [cursor.take(*cursor.numbers("Q", 1)) for _ in range(count)]
    files = {record.id for record in process.records}
    known: dict[tuple[int, int], tuple[RawDataSet, int, tuple[Slab, ...] | None]] = {}
    for _, a, part, start, end, _, kind, _ in EVENT.iter_unpack(process.events):
        if kind != DATA_SET:
            continue
        key = (a // 4, part)
        if key not in known:
            try:
                if not 0 <= min(key) <= max(key) < count:
                    raise ValueError(f"it is none of {count} shapes")
                one = _data_set(shapes[key[0]], files)
                known[key] = (one, *_part(shapes[part], one.dims))
            except (ValueError, struct.error) as error:
                what = f"{cursor.path}: selection {part} of data set {a // 4}: {error}"
                raise BrokenTraceError(what) from None
        process.moves.append(RawMove(*known[key], a & 1, a & 2 > 0, end - start))


def _data_set(data: bytes, files: set[int]) -> RawDataSet:
    file, kind, size, *lengths = SET.unpack_from(data)
    if file not in files or size < 1 or not all(0 <= n <= MOST_DIMS for n in lengths):
        raise ValueError("of no file, or of an impossible type or shape")
    rest = data[SET.size :]
    numbers = iter(struct.unpack_from(f"={sum(lengths)}q", rest))
    dims, chunk, filters = (tuple(islice(numbers, n)) for n in lengths)
    if min((*dims, *chunk), default=0) < 0 or math.prod(dims) * size >= 2**62:
        raise ValueError(f"{dims} elements of {size} bytes")
    name = rest[8 * sum(lengths) :].decode(errors="replace")
    return RawDataSet(file, name, kind, size, dims, chunk, filters)


def _part(data: bytes, dims: tuple[int, ...]) -> tuple[int, tuple[Slab, ...] | None]:
    """How many elements, and which."""
    elements, n, count = PART.unpack_from(data)
    if count < 0:
        return max(0, elements), None
    if n != len(dims) or count > MOST_SLABS:
        raise ValueError(f"{count} parts in {n} dimensions")
    numbers = struct.unpack_from(f"={4 * n * count}q", data, PART.size)
    rows = [numbers[i * n : (i + 1) * n] for i in range(4 * count)]
    slabs = tuple(tuple(rows[i : i + 4]) for i in range(0, 4 * count, 4))
    for slab in slabs:
        for start, stride, times, block, length in zip(*slab, dims, strict=True):
            end = start + stride * (times - 1) + block
            if min(start, times - 1, block - 1) < 0 or end > length or stride < block * (times > 1):
                raise ValueError(f"{slab} outside of {dims}")
    return sum(math.prod(map(math.prod, slab[2:])) for slab in slabs), slabs


def _text(padded: bytes) -> str:
    return padded.split(b"\0", 1)[0].decode(errors="replace")


def _record(cursor: _Cursor, counters: Sequence[int], times: int) -> RawRecord:
    identity, reads, writes, module, length, sizes, strides = _RECORD.unpack(
        cursor.take(_RECORD.size)
    )
    if module >= len(MODULES):
        raise BrokenTraceError(f"{cursor.path}: damaged: a record of unknown module {module}")
    return RawRecord(
        id=identity,
        module=MODULES[module],
        path=cursor.take(length).decode(errors="replace"),
        counters=list(cursor.numbers("q", counters[module])),
        times=list(cursor.numbers("d", times)),
        sizes=cursor.pairs(sizes),
        strides=cursor.pairs(strides),
        segments=(cursor.take(SEGMENT.size * reads), cursor.take(SEGMENT.size * writes)),
        marks=(cursor.take(MARK.size * reads), cursor.take(MARK.size * writes)),
    )


def holds_traces(path: Path) -> bool:
    return any(path.glob(TRACES))


def read_folder(folder: Path) -> list[RawProcess]:
    """All traces in a folder, by rank. `BrokenTraceError` if there is none, or one is broken;
    `AnalysisError` if they are of several runs."""
    found = [read_trace(path) for path in sorted(folder.glob(TRACES))]
    if not found:
        raise BrokenTraceError(f"{folder}: no process left a trace")
    first: dict[str, RawProcess] = {}
    for process in found:  # a node's processes share its monotonic clock
        one = first.setdefault(process.host, process)
        process.start = one.start + process.monotonic - one.monotonic
    ranks = [one.rank for one in found if one.of_mpi]
    if len(set(ranks)) < len(ranks):
        raise AnalysisError(f"{folder}: traces of several runs; expected a folder for each run")
    return sorted(found, key=lambda process: (process.rank, process.start))


def lost(found: Sequence[RawProcess]) -> list[str]:
    """What the traces of a run lack."""
    ranks = {one.rank for one in found if one.of_mpi} or {one.rank for one in found}
    of_run = range(max(one.processes for one in found))  # a program that one of them started says 1
    lacks = {
        "left out: processes without a trace": set(of_run) - ranks,
        "processes with an incomplete trace": {one.rank for one in found if not one.whole},
    }
    return [one_line(f"{what}: {str(sorted(some))[1:-1]}") for what, some in lacks.items() if some]
