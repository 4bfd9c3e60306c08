# SPDX-License-Identifier: BSD-3-Clause
"""What unordered pairs mean: which read-modify-write covered whose bytes, who overwrote whom."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import AnalysisError
from . import clock, order, sweep
from .accesses import LAYERS, MPIIO, NOT_KNOWN, POSIX, READ, WRITE, Traced, of_log, of_recorder
from .order import Flags, Numbers, Order

COVERED, MAY_COVER, OVERWROTE, ESCAPED, READ_BESIDE, NO_ORDER_SEEN = range(6)
KINDS = (
    "covered: a read-modify-write read, another process wrote, then it wrote back",
    "may have covered: a read-modify-write met another process's write",
    "overwrote: two processes wrote the same bytes",
    "escaped: a read-modify-write and another's write, apart in time by chance alone",
    "read beside: a process read what another wrote",
    "no order seen: messages between two accesses may order them",
)


@dataclass(frozen=True)
class Races:
    """Every unordered pair: its kind (KINDS), its two accesses and the bytes they share (from `low`
    to before `high`). `a` is the one that covers, writes last, or reads; `read`: the read of its
    read-modify-write, or -1. Worst first, each kind by time."""

    kind: NDArray[np.uint8]
    a: Numbers
    b: Numbers
    read: Numbers
    low: Numbers
    high: Numbers

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, which: Flags | Numbers) -> "Races":
        return Races(*(getattr(self, one.name)[which] for one in fields(self)))


@dataclass
class Blame:
    """`order`: what ordered the accesses. `whole`: False if not all races were examined."""

    traced: Traced
    order: Order
    races: Races
    whole: bool

    def at(self, file: int, low: int, high: int) -> Races:
        """Those that share a byte of a range of a file."""
        races, rows = self.races, self.traced.accesses
        return races.take((rows["file"][races.a] == file) & (races.low < high) & (races.high > low))

    def touched(self, file: int, low: int, high: int) -> Numbers:
        """All accesses to a range, by time."""
        rows = self.traced.accesses
        here = (rows["file"] == file) & (rows["offset"] < high)
        found = np.flatnonzero(here & (rows["offset"] + rows["length"] > low))
        return found[np.lexsort((rows["end"][found], rows["start"][found]))]

    @property
    def certain(self) -> Races:
        """Those between which there was no order."""
        return self.races.take(self.races.kind != NO_ORDER_SEEN)

    def file(self, path: str) -> int:
        """A file's number, by its path or its name. Raises AnalysisError."""
        files = self.traced.files
        if path in files:
            return files.index(path)
        same = [i for i, name in enumerate(files) if Path(name).name == Path(path).name]
        if len(same) != 1:
            raise AnalysisError(f"{self.traced.path}: has no access to {path}")
        return same[0]


def find(source: Path, most: int = sweep.MOST_KEPT) -> Blame:
    if source.is_dir():
        traced = of_recorder(source)
        clock.share(traced)
        kept = order.of_events(traced)
    else:
        traced, phases = of_log(source)
        kept = order.of_phases(traced, phases)
    return judge(traced, kept, most)


def judge(traced: Traced, kept: Order, most: int = sweep.MOST_KEPT) -> Blame:
    found = sweep.pairs(traced, kept, most)
    races = _name(traced, read_modify_writes(traced, kept), found, kept)
    return Blame(traced, kept, races, found.whole)


def read_modify_writes(traced: Traced, kept: Order) -> Numbers:
    """For each POSIX write, the read before it whose bytes it writes back: the process's previous
    access to the file, covering the same place (a read at the end of a file may come back short),
    with no lock held over both; else -1."""
    rows = traced.accesses
    found = np.full(len(rows), NOT_KNOWN)
    mine = np.flatnonzero(rows["layer"] == POSIX)
    mine = mine[np.lexsort((rows["sequence"][mine], rows["file"][mine], rows["process"][mine]))]
    if len(mine) < 2:
        return found
    one, two = mine[:-1], mine[1:]
    end = rows["offset"] + rows["length"]
    same = (rows["process"][one] == rows["process"][two]) & (rows["file"][one] == rows["file"][two])
    same &= (rows["write"][one] == READ) & (rows["write"][two] == WRITE)
    around = (rows["offset"][one] <= rows["offset"][two]) & (end[two] <= end[one])
    same &= around | (rows["offset"][one] == rows["offset"][two])
    same &= kept.first[one] == kept.first[two]
    same &= (kept.hold[one] < 0) | (kept.hold[one] != kept.hold[two])
    found[two[same]] = one[same]
    return found


def _name(traced: Traced, modified: Numbers, found: sweep.Pairs, kept: Order) -> Races:
    rows = traced.accesses
    a, b = found.a, found.b
    end = rows["offset"] + rows["length"]
    low = np.maximum(rows["offset"][a], rows["offset"][b])
    high = np.minimum(end[a], end[b])
    both = (rows["write"][a] == WRITE) & (rows["write"][b] == WRITE)
    # `a` is the one that reads or ends last; but first of all the read-modify-write around the
    # other.
    swap = np.where(both, rows["end"][b] > rows["end"][a], rows["write"][a] == WRITE)
    a_around, b_around = _around(traced, modified, a, b), _around(traced, modified, b, a)
    swap = np.where(both & (a_around != b_around), b_around > a_around, swap)
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    around = np.where(both, np.maximum(a_around, b_around), 0)
    modifies = (modified[a] >= 0) | (modified[b] >= 0)
    kind = np.select(
        [around == 2, around == 1, both & modifies, both],
        [COVERED, MAY_COVER, ESCAPED, OVERWROTE],
        READ_BESIDE,
    ).astype(np.uint8)
    kind[(around == 0) & kept.perhaps(a, b)] = NO_ORDER_SEEN
    read = np.where(around > 0, modified[a], NOT_KNOWN)
    # The read of a read-modify-write is reported with its write.
    ends = np.zeros(len(rows), bool)
    ends[modified[modified >= 0]] = True
    keep = ((kind != READ_BESIDE) & ((kind != NO_ORDER_SEEN) | both)) | ~ends[a]
    races = Races(kind, a, b, read, low, high).take(keep)
    return races.take(np.lexsort((rows["start"][races.a], races.kind)))


def _around(traced: Traced, modified: Numbers, a: Numbers, b: Numbers) -> Numbers:
    """2: a's read-modify-write read before b wrote and wrote after it; 1: they overlap in time; 0:
    neither, or a is none. Between nodes, within the uncertainty of their clocks."""
    rows, read = traced.accesses, modified[a]
    hosts = np.array([traced.hosts.index(host) for host in traced.hosts])
    apart = hosts[rows["process"][a]] != hosts[rows["process"][b]]
    unsure = np.where(apart, np.inf if traced.unsure is None else traced.unsure, 0.0)
    began, ended = rows["start"][read], rows["end"][a]
    meets = (began < rows["end"][b] + unsure) & (rows["start"][b] < ended + unsure)
    # Bytes that the read did not return were not written yet.
    short = rows["offset"][read] + rows["length"][read] <= np.maximum(
        rows["offset"][a], rows["offset"][b]
    )
    sure = short | (rows["end"][read] + unsure <= rows["start"][b])
    sure &= rows["end"][b] + unsure <= rows["start"][a]
    return np.where(read < 0, 0, np.where(sure, 2, np.where(meets, 1, 0)))


def of_library(blame: Blame) -> bool | None:
    """Is every race below MPI-IO, with the program's own calls ordered? None: unknown."""
    rows = blame.traced.accesses
    above = blame.races.take(rows["layer"][blame.races.a] == MPIIO)
    if len(above):
        return False if (above.kind != NO_ORDER_SEEN).any() else None
    below = blame.races.take(rows["layer"][blame.races.a] == POSIX)
    files = set(rows["file"][below.a].tolist())
    known = set(rows["file"][rows["layer"] == MPIIO].tolist())
    left_out = any("left out" in text for text in blame.traced.notes)
    return (bool(files) and files <= known and not left_out) or None


def groups(blame: Blame, races: Races) -> list[tuple[int, int, int, Races]]:
    """Races by kind, file and layer; the worst kind first."""
    rows = blame.traced.accesses
    shape = len(KINDS), len(blame.traced.files), len(LAYERS)
    key = np.ravel_multi_index((races.kind, rows["file"][races.a], rows["layer"][races.a]), shape)
    by = np.argsort(key, kind="stable")
    keys, first = np.unique(key[by], return_index=True)
    parts = zip(*np.unravel_index(keys, shape), np.split(by, first[1:]), strict=False)
    return [
        (int(kind), int(file), int(layer), races.take(part)) for kind, file, layer, part in parts
    ]


LARGEST_ELEMENT = 8  # bytes


@dataclass(frozen=True)
class WrongByte:
    """`file`: None if the byte's place is unknown."""

    says: str
    file: int | None
    touched: Numbers
    races: Races


def of_document(blame: Blame, document: dict[str, Any]) -> WrongByte | None:
    """The first wrong element of a run; None if all were right."""
    first = document.get("verification", {}).get("first")
    if not first:
        return None
    what = f"{first['dataset']}{first['index']}"
    says = (
        f"wrong: {document['verification']['mismatches']} elements; first {what}, expected "
        f"{first['expected']}, found {first['found']} (read by process {first['process']})"
    )
    if first["offset"] is None:
        none = blame.races.take(blame.races.a < 0)
        return WrongByte(f"{says}; where in the file is not known", None, none.a, none)
    return at(blame, first["file"], int(first["offset"]), LARGEST_ELEMENT, says)


def at(blame: Blame, path: str, byte: int, length: int = 1, says: str = "") -> WrongByte:
    """What touched so many bytes of a file. `AnalysisError`: the trace does not have it."""
    file = blame.file(path)
    place = f"byte {byte} of {blame.traced.files[file]}"
    touched = blame.touched(file, byte, byte + length)
    # Repeats rewrite a file: the wrong byte is from the last one verified.
    return WrongByte(
        f"{says}: {place}" if says else place, file, touched, blame.at(file, byte, byte + length)
    )
