# SPDX-License-Identifier: BSD-3-Clause
"""The byte ledger of one run: the bytes to be moved, those that each layer moved, and those in the
files, over all repeats and processes, without the ceilings' files. Pure."""

import os.path
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ..darshan.log import VARIABLES, FileTrace, Log
from ..session.model import DIRECTIONS, Direction
from .phases import BYTES, Phase, divide

Verdict = Literal["balanced", "explained", "unbalanced", "inconclusive"]

# Prefix of the files that the kernels write to measure the ceilings, and the folder of direct
# writing, whose files have the run's own names: as kernels/base/beside.h has them.
CEILINGS, DIRECT = "iogauge-ceiling", "iogauge-direct"

# For each module of Darshan and each direction, the counters of calls. The module nearest to the
# program comes first.
CALLS: dict[str, dict[Direction, tuple[str, ...]]] = {
    "H5D": {"write": ("WRITES",), "read": ("READS",)},
    "PNETCDF_VAR": {
        "write": ("INDEP_WRITES", "COLL_WRITES", "NB_WRITES"),
        "read": ("INDEP_READS", "COLL_READS", "NB_READS"),
    },
    "MPI-IO": {
        "write": ("INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES"),
        "read": ("INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS"),
    },
    "STDIO": {"write": ("WRITES",), "read": ("READS",)},
    "POSIX": {"write": ("WRITES",), "read": ("READS",)},
}
LEFT_OUT = ("DFS", "DAOS")  # modules
# Library names for modules that Darshan names differently.
TITLES = {"H5D": "HDF5", "PNETCDF_VAR": "PnetCDF", "STDIO": "stdio"}

# A process that moved less than this fraction of an even share moved only headers.
A_SHARE = 0.01


@dataclass(frozen=True)
class Layer:
    """What one module (such as POSIX) moved in one direction. `sizes`: the most common access sizes
    with their counts, reads and writes together. `processes`: how many processes moved data; None
    if the log does not say."""

    name: str
    bytes: int
    calls: int
    collective: int
    sizes: dict[int, int] = field(default_factory=dict)
    histogram: dict[str, int] = field(default_factory=dict)
    processes: int | None = None

    @property
    def title(self) -> str:
        return TITLES.get(self.name, self.name)


@dataclass(frozen=True)
class Side:
    """One direction of the run, in bytes. `payload`: what the pattern hands over. `stored`: its
    size in the files, smaller if compressed. `files`: the size of the files, once per repeat.
    `untraced`: the part of `files` that no traced call wrote, such as a text file beside the
    data."""

    direction: Direction
    repeats: int
    payload: int
    stored: int
    files: int | None
    untraced: int
    layers: tuple[Layer, ...]

    def layer(self, name: str) -> Layer | None:
        return next((layer for layer in self.layers if layer.name == name), None)

    @property
    def posix(self) -> int:
        found = self.layer("POSIX")
        return found.bytes if found else 0

    @property
    def mpiio(self) -> int | None:
        """None if the run made no MPI-IO calls in this direction."""
        found = self.layer("MPI-IO")
        return found.bytes if found and found.calls else None

    @property
    def amplification(self) -> float | None:
        return self.posix / self.payload if self.payload else None

    @property
    def format_overhead(self) -> int | None:
        """Bytes in the files besides the data."""
        return None if self.files is None else self.files - self.stored


@dataclass(frozen=True)
class Ledger:
    """The byte ledger of one run. `hints`: for each hint, the value asked for and the value in
    force, or None. `all_read`: bytes read by POSIX calls, including reads that prepare a write.
    `other_files`: bytes moved in each file that is not the run's own. `phases_from`: which part of
    the trace gave the phases, or why there are none. `mode`: the method's, or empty."""

    recorder: str
    processes: int
    sides: tuple[Side, ...]
    partial: tuple[str, ...]
    notes: tuple[str, ...]
    hints: dict[str, tuple[str | None, str | None]]
    all_read: int
    other_files: dict[str, int]
    phases: tuple[Phase, ...] = ()
    phases_from: str = ""
    mode: str = ""

    def side(self, direction: Direction) -> Side | None:
        return next((side for side in self.sides if side.direction == direction), None)

    def as_json(self) -> dict[str, Any]:
        """The content of ledger.json, which has other names for two keys."""
        data = {_JSON.get(name, name): value for name, value in asdict(self).items()}
        for entry, side in zip(data["sides"], self.sides, strict=True):
            entry["otherwise"] = entry.pop("untraced")
            entry["amplification"] = side.amplification
            entry["format_overhead"] = side.format_overhead
        return data


# Names in JSON that differ from those here.
_JSON = {"other_files": "beside"}


def make_ledger(doc: dict[str, Any], log: Log) -> Ledger:
    """The ledger of a run. `doc`: of a run that ended well."""
    own = own_files(doc)
    payload_files = [file for file in log.files if own(_file_of(file))]
    others = [file for file in log.files if not own(_file_of(file))]
    phases, phases_from = divide(doc, log, own)
    sides = [
        side
        for direction in DIRECTIONS
        if (side := _side(doc, log, payload_files, direction)) is not None
    ]
    left_out = [f"what {name} moved is in no row" for name in LEFT_OUT if name in log.modules]
    return Ledger(
        recorder=log.recorder,
        processes=log.processes,
        sides=tuple(sides),
        partial=log.partial,
        notes=(*log.notes, *left_out),
        hints=_hints(doc),
        all_read=sum(f.count("BYTES_READ") for f in payload_files if f.module == "POSIX"),
        other_files={f.path: f.count(*BYTES.values()) for f in others if f.module == "POSIX"},
        phases=phases,
        phases_from=phases_from,
        mode=doc["asked"].get("mode") or "",
    )


def stored_bytes(doc: dict[str, Any]) -> int:
    """The size of a repeat's payload in the files: smaller if the mode compresses."""
    payload = doc["payload"]
    stored = payload.get("stored")
    return int(payload["bytes"] if stored is None else stored)


def _plain(path: str) -> str:
    """A path of the trace without a file system's prefix, such as `ufs:`."""
    head, colon, tail = path.partition(":")
    return os.path.normpath(tail if colon and "/" not in head and len(head) > 1 else path)


def _file_of(file: FileTrace) -> str:
    """The path of the file. A record of a variable is named `file:variable`."""
    return file.path.partition(":")[0] if file.module in VARIABLES else file.path


def own_files(doc: dict[str, Any]) -> Callable[[str], bool]:
    """A predicate for paths of the run's own files, as opposed to files of the ceilings, of
    measurements beside it, or of a library. The document lists a limited number of files; if it
    leaves some out, all files except for ceilings and direct writing count as the run's own."""
    listed = {_plain(entry["path"]) for entry in doc.get("files") or []}
    if listed and doc.get("file_count") == len(listed):
        return listed.__contains__
    return lambda path: not (is_ceiling(path) or is_direct(path))


def is_ceiling(path: str) -> bool:
    return os.path.basename(path).startswith(CEILINGS)  # noqa: PTH119


def is_direct(path: str) -> bool:
    """For the inner method alone, beside a method with servers."""
    return f"/{DIRECT}/" in path


def _side(
    doc: dict[str, Any], log: Log, files: list[FileTrace], direction: Direction
) -> Side | None:
    repeats = sum(1 for sample in doc["samples"] if sample.get(direction))
    if not repeats:
        return None
    moved = doc["verification"]["verdict"] != "nothing moved"
    size = doc.get("file_bytes")
    return Side(
        direction=direction,
        repeats=repeats,
        payload=doc["payload"]["bytes"] * repeats if moved else 0,
        stored=stored_bytes(doc) * repeats if moved else 0,
        files=None if size is None else (size * repeats if moved else 0),
        untraced=repeats * _untraced(doc, files) if moved else 0,
        layers=tuple(
            _layer(name, [file for file in files if file.module == name], direction)
            for name in CALLS
            if any(file.module == name for file in files)
        ),
    )


def _untraced(doc: dict[str, Any], files: list[FileTrace]) -> int:
    """Bytes in files that no POSIX call wrote."""
    written = {f.path for f in files if f.module == "POSIX" and f.count("BYTES_WRITTEN")}
    listed = doc.get("files") or []
    if doc.get("file_count") != len(listed):
        # The list is truncated: use its files that the trace knows.
        listed = [entry for entry in listed if _plain(entry["path"]) in {f.path for f in files}]
    return sum(entry["bytes"] for entry in listed if _plain(entry["path"]) not in written)


def _layer(name: str, files: list[FileTrace], direction: Direction) -> Layer:
    sizes: Counter[int] = Counter()
    histogram: Counter[str] = Counter()
    word = f"SIZE_{direction.upper()}_"
    for file in files:
        sizes.update(file.sizes)
        for counter, value in file.values.items():
            if counter.startswith(word) and value > 0:
                histogram[counter.removeprefix(word).removeprefix("AGG_")] += int(value)
    calls = CALLS[name][direction]
    return Layer(
        name=name,
        bytes=sum(file.count(BYTES[direction]) for file in files),
        calls=sum(file.count(*calls) for file in files),
        collective=sum(file.count(*(c for c in calls if c.startswith("COLL"))) for file in files),
        sizes=dict(sizes.most_common(4)),
        histogram=dict(histogram),
        processes=_processes(files, direction),
    )


def _processes(files: list[FileTrace], direction: Direction) -> int | None:
    """How many processes moved data, not just headers; None if the log does not say."""
    by_rank: Counter[int] = Counter()
    for file in files:
        if not file.ranks and file.count(BYTES[direction]):
            return None
        for work in file.ranks:
            by_rank[work.rank] += work.written if direction == "write" else work.read
    total = by_rank.total()
    least = A_SHARE * total / len(by_rank) if by_rank else 0
    return sum(1 for moved in by_rank.values() if moved > least)


def _hints(doc: dict[str, Any]) -> dict[str, tuple[str | None, str | None]]:
    """Each hint asked for, and each hint of collective buffering in force."""
    asked, used = doc["asked"].get("hints") or {}, doc["used"].get("hints") or {}
    wanted = [*asked, *(k for k in used if k.startswith(("cb_", "romio_cb_", "romio_ds_")))]
    return {key: (asked.get(key), used.get(key)) for key in dict.fromkeys(wanted)}
