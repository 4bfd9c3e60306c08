# SPDX-License-Identifier: BSD-3-Clause
"""Which bytes of a run's files are payload, and whether two runs' are the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py

HDF5 = b"\x89HDF\r\n\x1a\n"  # how such a file begins
Range = tuple[int, int]  # first byte, and the one after the last


@dataclass(frozen=True)
class Regions:
    """The payload of each file of a run. Without offsets of data sets, an HDF5 file itself knows
    where it has put them, and any other file is all payload: raw bytes, and text files."""

    ranges: tuple[Range, ...]

    def of(self, path: Path) -> tuple[Range, ...]:
        if self.ranges and path.suffix != ".txt":
            return self.ranges
        if not path.exists():
            return ()
        return _places(path) if _is_hdf5(path) else ((0, path.stat().st_size),)

    def holds(self, path: Path, offset: int, size: int) -> bool:
        """Is any of these bytes payload?"""
        return any(offset < end and offset + size > begin for begin, end in self.of(path))


def regions(document: dict[str, Any]) -> Regions:
    sets = document["payload"]["datasets"]
    known = [entry for entry in sets if entry["offset"] is not None]
    # What HDF5 has not put in one place is looked at where all others are known, or not at all.
    return Regions(tuple((e["offset"], e["offset"] + e["bytes"]) for e in known if e["bytes"]))


def is_known(path: Path, where: Regions) -> bool:
    """Not in an HDF5 file of chunks: it has bytes between its values which mean nothing, at the
    edge of an array and at the end of what was compressed."""
    return bool(where.ranges) or not _is_hdf5(path)


def _is_hdf5(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(HDF5)) == HDF5


def _datasets(file: h5py.File) -> dict[str, h5py.Dataset]:
    found: dict[str, Any] = {}
    file.visititems(
        lambda name, o: found.update({name: o}) if isinstance(o, h5py.Dataset) else None
    )
    return found


def _places(path: Path) -> tuple[Range, ...]:
    """Of each data set, or of each of its chunks."""
    found = []
    with h5py.File(path) as file:
        for one in _datasets(file).values():
            if one.chunks:
                chunks = [one.id.get_chunk_info(n) for n in range(one.id.get_num_chunks())]
                found += [(c.byte_offset, c.byte_offset + c.size) for c in chunks]
            elif one.id.get_offset() is not None:
                found.append((one.id.get_offset(), one.id.get_offset() + one.nbytes))
    return tuple(found)


def values(path: Path) -> list[tuple[str, str, bytes]]:
    """Each data set's name, type and bytes. A file that cannot be read has none of them."""
    try:
        with h5py.File(path) as file:
            sets = sorted(_datasets(file).items())
            return [(name, f"{one.dtype} {one.shape}", one[()].tobytes()) for name, one in sets]
    except (OSError, RuntimeError, ValueError):
        return []


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _pieces(folder: Path, where: Regions) -> Iterator[tuple[str, list[Any]]]:
    """A file of chunks is read by its library: it puts them elsewhere in every run, and the time
    beside them."""
    for path in files(folder):
        name = str(path.relative_to(folder))
        if is_known(path, where):
            data = path.read_bytes()
            yield name, [data[begin:end] for begin, end in where.of(path)]
        else:
            yield name, values(path)


def same(one: Path, other: Path, where: Regions) -> bool:
    """Do two folders hold the same files with the same payload?"""
    return dict(_pieces(one, where)) == dict(_pieces(other, where))
