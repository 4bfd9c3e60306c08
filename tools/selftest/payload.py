# SPDX-License-Identifier: BSD-3-Clause
"""Which bytes of a run's files are payload, and whether two runs' are the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HDF5 = b"\x89HDF\r\n\x1a\n"  # how such a file begins
Range = tuple[int, int]  # first byte, and the one after the last


@dataclass(frozen=True)
class Regions:
    """The payload of each file of a run. A file without offsets of data sets is all payload: raw
    bytes, and text files."""

    ranges: tuple[Range, ...]

    def of(self, path: Path) -> tuple[Range, ...]:
        if self.ranges and path.suffix != ".txt":
            return self.ranges
        return ((0, path.stat().st_size),) if path.exists() else ()

    def holds(self, path: Path, offset: int, size: int) -> bool:
        """Is any of these bytes payload?"""
        return any(offset < end and offset + size > begin for begin, end in self.of(path))


def regions(document: dict[str, Any]) -> Regions:
    sets = document["payload"]["datasets"]
    known = [entry for entry in sets if entry["offset"] is not None]
    # What HDF5 has not put in one place is looked at where all others are known, or not at all.
    return Regions(tuple((e["offset"], e["offset"] + e["bytes"]) for e in known if e["bytes"]))


def is_known(path: Path, where: Regions) -> bool:
    """Not in an HDF5 file of chunks: only the library knows where they are, and that file has bytes
    of its own, which mean nothing."""
    with path.open("rb") as file:
        return bool(where.ranges) or file.read(len(HDF5)) != HDF5


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _pieces(folder: Path, where: Regions) -> Iterator[tuple[str, list[bytes]]]:
    for path in files(folder):
        data = path.read_bytes()
        yield (
            str(path.relative_to(folder)),
            [data[begin:end] for begin, end in where.of(path)],
        )


def same(one: Path, other: Path, where: Regions) -> bool:
    """Do two folders hold the same files with the same payload?"""
    return dict(_pieces(one, where)) == dict(_pieces(other, where))
