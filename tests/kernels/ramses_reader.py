# SPDX-License-Identifier: BSD-3-Clause
"""Reads RAMSES's own files as its readers do: record after record, without any library.

Followed are the record lists of backup_amr, backup_hydro and output_info in RAMSES's trunk/ramses,
and what yt's RAMSES frontend expects of them: counts, then for each level and each cpu that has
grids there its blocks of records.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from pathlib import Path

NDIM, CELLS, NVAR = 3, 8, 5
AMR_HEADER = [
    ("ncpu", "i", 1), ("ndim", "i", 1), ("nx", "i", 3), ("nlevelmax", "i", 1), ("ngridmax", "i", 1),
    ("nboundary", "i", 1), ("ngrid_current", "i", 1), ("boxlen", "d", 1), ("nout", "i", 3),
    ("tout", "d", 1), ("aout", "d", 1), ("t", "d", 1), ("dtold", "d", -1), ("dtnew", "d", -1),
    ("nstep", "i", 2), ("stat", "d", 3), ("cosm", "d", 7), ("timing", "d", 5), ("mass_sph", "d", 1),
]  # fmt: skip
HYDRO_HEADER = ["ncpu", "nvar", "ndim", "nlevelmax", "nboundary"]
# The records of a block of grids in an amr file: name, kind, how many.
AMR_BLOCK = [
    ("ind_grid", "i", 1), ("next", "i", 1), ("prev", "i", 1), ("xg", "d", 3), ("father", "i", 1),
    ("nbor", "i", 6), ("son", "i", 8), ("cpu_map", "i", 8), ("flag1", "i", 8),
]  # fmt: skip
VARIABLES = ["density", "velocity_x", "velocity_y", "velocity_z", "pressure"]

Numbers = tuple[float, ...]


class Records:
    """The records of a Fortran unformatted file, one by one."""

    def __init__(self, path: Path) -> None:
        self.data, self.at = path.read_bytes(), 0

    def raw(self) -> bytes:
        (length,) = struct.unpack_from("<i", self.data, self.at)
        begin = self.at + 4
        assert struct.unpack_from("<i", self.data, begin + length) == (length,), self.at
        self.at = begin + length + 4
        return self.data[begin : begin + length]

    def numbers(self, kind: str, count: int) -> Numbers:
        data = self.raw()
        assert len(data) == count * struct.calcsize(kind), (self.at, len(data), count)
        return struct.unpack(f"<{count}{kind}", data)

    @property
    def ended(self) -> bool:
        return self.at == len(self.data)


@dataclass
class File:
    """`blocks`: by (level, cpu) and data set name a list of components, each the values of the
    block's grids; `places`: where each block begins in the file."""

    header: dict[str, Numbers] = field(default_factory=dict)
    numbl: dict[tuple[int, int], int] = field(default_factory=dict)
    ordering: str = ""
    blocks: dict[tuple[int, int], dict[str, list[Numbers]]] = field(default_factory=dict)
    places: dict[tuple[int, int], int] = field(default_factory=dict)

    def value(self, name: str) -> int:
        return int(self.header[name][0])


def read_amr(path: Path) -> File:
    records, file = Records(path), File()
    for name, kind, count in AMR_HEADER:
        levels = file.value("nlevelmax") if count < 0 else 0
        file.header[name] = records.numbers(kind, levels or count)
    ncpu, levels = file.value("ncpu"), file.value("nlevelmax")
    for name in ("headl", "taill", "numbl"):
        file.header[name] = records.numbers("i", ncpu * levels)
    file.header["numbtot"] = records.numbers("i", 10 * levels)
    assert file.value("nboundary") == 0
    file.header["free_mem"] = records.numbers("i", 5)
    file.ordering = records.raw().decode().rstrip()
    assert file.ordering == "bisection"
    nodes = 2 ** (math.ceil(math.log2(ncpu)) + 1) - 1
    for name, kind, count in (("wall", "d", nodes), ("next", "i", 2 * nodes), ("indx", "i", nodes),
                              ("box_min", "d", 3 * ncpu), ("box_max", "d", 3 * ncpu)):  # fmt: skip
        file.header[name] = records.numbers(kind, count)
    for name in ("coarse_son", "coarse_flag1", "coarse_cpu"):
        file.header[name] = records.numbers("i", 1)
    for level in range(levels):
        for cpu in range(ncpu):
            count = int(file.header["numbl"][level * ncpu + cpu])
            file.numbl[level, cpu] = count
            if count:
                file.places[level, cpu] = records.at
                file.blocks[level, cpu] = {
                    name: [records.numbers(kind, count) for _ in range(n)]
                    for name, kind, n in AMR_BLOCK
                }
    assert records.ended
    return file


def read_hydro(path: Path) -> File:
    records, file = Records(path), File()
    for name in HYDRO_HEADER:
        file.header[name] = records.numbers("i", 1)
    file.header["gamma"] = records.numbers("d", 1)
    for level in range(file.value("nlevelmax")):
        for cpu in range(file.value("ncpu")):
            assert records.numbers("i", 1) == (level + 1,)
            (count,) = map(int, records.numbers("i", 1))
            file.numbl[level, cpu] = count
            if count:
                file.places[level, cpu] = records.at
                block: dict[str, list[Numbers]] = {name: [] for name in VARIABLES}
                for _ in range(CELLS):
                    for name in VARIABLES:
                        block[name].append(records.numbers("d", count))
                file.blocks[level, cpu] = block
    assert records.ended
    return file


def read_info(path: Path) -> tuple[dict[str, str], list[float]]:
    """The values of info_NNNNN.txt, and its numbers of domains: corners and work of each."""
    values, domains = {}, []
    for line in path.read_text().splitlines():
        if "=" in line:
            name, value = line.split("=", 1)
            values[name.strip()] = value.strip()
        elif line.strip():
            domains.append(float(line))
    return values, domains
