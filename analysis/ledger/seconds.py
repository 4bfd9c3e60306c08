# SPDX-License-Identifier: BSD-3-Clause
"""Where the seconds of a log went, by layer (with those below it) and process."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from ..darshan.log import VARIABLES, FileTrace, Log
from .ledger import CALLS

# Top down (DFS: files of DAOS); PnetCDF's and HDF5's objects, then their files.
LAYERS = (
    "PNETCDF_VAR",
    "PNETCDF_FILE",
    "H5D",
    "H5F",
    "MPI-IO",
    "DFS",
    "DAOS",
    "POSIX",
    "STDIO",
)
TIMES = ("F_READ_TIME", "F_WRITE_TIME", "F_META_TIME")


@dataclass(frozen=True)
class Together:
    """A file with one record for all processes. It names two: (process, seconds)."""

    path: str
    slowest: tuple[int, float]
    fastest: tuple[int, float]


@dataclass(frozen=True)
class Layer:
    """Bytes, and seconds of all processes together: in reading, in writing, and in opening, closing
    and similar calls. `ranks`: process -> seconds, if the log has a record or single accesses (DXT)
    of each; `shared`: the remaining seconds, known only as a sum over all processes; `together`:
    the file among those whose slowest process took longest."""

    name: str
    files: int
    read: int
    written: int
    reading: float
    writing: float
    other: float
    ranks: dict[int, float]
    shared: float
    together: Together | None = None

    @property
    def slowest(self) -> tuple[int, float] | None:
        if not self.ranks:
            return None
        rank = max(self.ranks, key=lambda one: self.ranks[one])
        return rank, self.ranks[rank]

    @property
    def seconds(self) -> float:
        return self.reading + self.writing + self.other


def layers(log: Log) -> list[Layer]:
    found = [_layer(name, [f for f in log.files if f.module == name], log) for name in LAYERS]
    return [one for one in found if one.files]


def _layer(name: str, files: list[FileTrace], log: Log) -> Layer:
    ranks: dict[int, float] = defaultdict(float)
    for file in files:
        for work in file.ranks:
            ranks[work.rank] += work.seconds
    whole = {file.path: file for file in files if not file.ranks}
    moved = 0.0
    for one in log.segments:
        if one.module == name and one.path in whole:
            seconds = sum(end - start for *_, start, end in (*one.writes, *one.reads))
            ranks[one.rank] += seconds
            moved += seconds

    def total(counter: str) -> float:
        return sum(_seconds(file, counter) for file in files)

    return Layer(
        name,
        len({file.path for file in files}),
        sum(file.count("BYTES_READ") for file in files),
        sum(file.count("BYTES_WRITTEN") for file in files),
        total("F_READ_TIME"),
        total("F_WRITE_TIME"),
        total("F_META_TIME"),
        dict(ranks),
        max(0.0, sum(_seconds(one, of) for one in whole.values() for of in TIMES) - moved),
        max(
            filter(None, map(_together, whole.values())),
            key=lambda one: one.slowest[1],
            default=None,
        ),
    )


def _together(file: FileTrace) -> Together | None:
    """The processes named by the record; None if the module has no such counters, or no time."""

    def named(which: str) -> tuple[int, float]:
        return int(file.values[f"{which}_RANK"]), _seconds(file, f"F_{which}_RANK_TIME")

    if not _seconds(file, "F_SLOWEST_RANK_TIME"):
        return None
    return Together(file.path, named("SLOWEST"), named("FASTEST"))


def data_sets(log: Log) -> list[dict[str, Any]]:
    """What the log has of each data set of HDF5 and each variable of PnetCDF; the slowest first.
    `collective`: some calls were. `chunk`: of a log, its last dimensions, at most five."""
    found = list(log.data_sets)
    for one in (file for file in log.files if file.module in VARIABLES):
        path, _, name = one.path.partition(":")
        get = one.count
        found.append(
            {
                "file": path,
                "name": name,
                "dimensions": get("DATASPACE_NDIMS", "NDIMS"),
                "elements": get("DATASPACE_NPOINTS", "NPOINTS"),
                "element_bytes": get("DATATYPE_SIZE"),
                "chunk": [n for d in range(5, 0, -1) if (n := get(f"CHUNK_SIZE_D{d}"))],
                "read": get("BYTES_READ"),
                "written": get("BYTES_WRITTEN"),
                "calls": sum(get(*names) for names in CALLS[one.module].values()),
                "collective": get("USE_MPIIO_COLLECTIVE", "COLL_READS", "COLL_WRITES") > 0,
                "seconds": sum(_seconds(one, counter) for counter in TIMES),
                "sizes": one.sizes,
            }
        )
    return sorted(found, key=lambda row: -float(row["seconds"]))


def _seconds(file: FileTrace, counter: str) -> float:
    return max(0.0, file.values.get(counter, 0.0))
