# SPDX-License-Identifier: BSD-3-Clause
"""Where the seconds of a log went, by layer and by process: for a log of which nothing else is
known. A layer's seconds hold those of the layers below it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ..darshan.log import FileTrace, Log

# From the top down; PnetCDF's and HDF5's objects, then their files.
LAYERS = (
    "PNETCDF_VAR", "PNETCDF_FILE", "H5D", "H5F", "MPI-IO", "POSIX", "STDIO",
)  # fmt: skip


@dataclass(frozen=True)
class Layer:
    """Bytes, and seconds of all processes together: in reading, in writing, in opening, closing and
    the like. `ranks`: process -> seconds, of the files that have a record for each; `shared`:
    seconds of those that have one of all processes."""

    name: str
    files: int
    read: int
    written: int
    reading: float
    writing: float
    other: float
    ranks: dict[int, float]
    shared: float

    @property
    def slowest(self) -> tuple[int, float] | None:
        """A process and its seconds; None where the log has none of its own."""
        if not self.ranks:
            return None
        rank = max(self.ranks, key=lambda one: self.ranks[one])
        return rank, self.ranks[rank]

    @property
    def seconds(self) -> float:
        return self.reading + self.writing + self.other


def layers(log: Log) -> list[Layer]:
    """Those of which the log has something."""
    found = [_layer(name, [f for f in log.files if f.module == name]) for name in LAYERS]
    return [one for one in found if one.files]


def _layer(name: str, files: list[FileTrace]) -> Layer:
    ranks: dict[int, float] = defaultdict(float)
    for file in files:
        for work in file.ranks:
            ranks[work.rank] += work.seconds

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
        sum(_all_seconds(file) for file in files if not file.ranks),
    )


def _seconds(file: FileTrace, counter: str) -> float:
    return max(0.0, file.values.get(counter, 0.0))


def _all_seconds(file: FileTrace) -> float:
    return sum(_seconds(file, name) for name in ("F_READ_TIME", "F_WRITE_TIME", "F_META_TIME"))
