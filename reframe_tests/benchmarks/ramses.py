# SPDX-License-Identifier: BSD-3-Clause
"""RAMSES dumps as IDRIS measured them in 2011: mesh (amr) and gas (hydro), shared or own files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from math import prod

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from reframe_tests.framework.base import IoBenchmark
from reframe_tests.framework.documented import OverProcesses, processes_of
from reframe_tests.framework.labels import Label
from reframe_tests.machine import calls, scales


@dataclass(frozen=True)
class Scale(scales.Scale):
    """`size`: cells along each edge of the box. `processes`: where it is defined for a number."""

    size: int
    processes: int | None = None


SCALES = {
    "smoke": Scale(16),
    # 47 MiB of mesh and 93 MiB of gas on 2 processes.
    "laptop": Scale(128),
    "node": Scale(256),
    # The 2011 tables' run: 54.9 GiB of gas, at 810 MiB/s at best.
    "paper": Scale(1024, processes=2048, bandwidth=500),
}

# romio_cb_* and romio_ds_* of the 2011 tables of hints; the first is Blue Gene's default.
HINT_SETS = {
    "cb-enable": ("enable", "automatic"),
    "cb-disable": ("disable", "automatic"),
    "cb-automatic": ("automatic", "automatic"),
    "cb-enable-ds-enable": ("enable", "enable"),
    "cb-enable-ds-disable": ("enable", "disable"),
}

OWN_FILES = ["posix", "ioserver:posix"]

# How much slower than the best a RAMSES method was in a table of 2011 (810 MiB/s for
# level-major:write_at_all, 106 for process-major:write_at_all); time limits add a margin of 2.
SLOWER = 4.0
# The same for its tables of hints, relative to the default's 47.4 and 69.9 s.
SLOWER_HINTS = {
    "cb-disable": {"write": 6784.7 / 47.4, "read": 315.2 / 69.9},
    "cb-automatic": {"write": 6273.5 / 47.4, "read": 324.3 / 69.9},
}

BYTES_OF_COMPONENT = 8

# The 2011 tables and charts of sizes and of methods: 128^3 to 2048^3 cells.
PAPER_SIZES = [128, 256, 512, 1024, 2048]
SMOKE_SIZE = 16
PAPER_CALLS = ["posix", "mpiio:collective", "hdf5:collective", "pnetcdf:collective"]

# ---------------------------------------------------------------- how large a dump is


Box = tuple[tuple[int, int], ...]  # along x, y and z: begin and end


def domains(box: Box, processes: int, axis: int = 0) -> Iterator[Box]:
    """A wall across x halves the processes, then one across y in each half, then z."""
    if processes == 1:
        yield box
        return
    (low, high), few = box[axis], processes // 2
    wall = (2 * (low * (processes - few) + high * few) + processes) // (2 * processes)
    for edges, part in (((low, wall), few), ((wall, high), processes - few)):
        yield from domains((*box[:axis], edges, *box[axis + 1 :]), part, (axis + 1) % 3)


def grids_of(box: Box, level: int, levels: int, processes: int) -> int:
    """One process's grids on a level: those that its domain touches, and one more layer; on the
    finest level 26 of the second layer, or half of it if the box has fewer."""
    edge, size = 2**level, 2 ** (levels - 1 - level)
    if any(low >= high for low, high in box):
        return 0
    spans = [min(edge, -(-high // size) - low // size + 2) for low, high in box]
    if processes == 1:
        spans = [edge] * 3
    layer = prod(spans) // min(spans) if size == 1 and min(spans) < edge else 0
    count: int = prod(spans) + min(26, layer // 2)
    return count


@cache
def grids(size: int, processes: int) -> list[int]:
    """Owned and ghost grids of all processes, by level."""
    levels = size.bit_length() - 1
    edge = 2 ** (levels - 1)
    boxes, times = domains(((0, edge),) * 3, processes), 1
    if processes & (processes - 1) == 0 and processes <= edge**3:  # equal parts
        boxes, times = islice(boxes, 1), processes
    sums = [0] * levels
    for box in boxes:
        for level in range(levels):
            sums[level] += times * grids_of(box, level, levels, processes)
    return sums


def shared_bytes(kind: str, size: int, p: int) -> int:
    """Headers, tables with a row for each process, grids."""
    n = size.bit_length() - 1
    if kind == "amr":
        header = 4 * 14 + 8 * 22 + 4 * 10 * n + 128
        return header + p * (4 * 8 + 3 * 4 * p * n) + 156 * sum(grids(size, p))
    return 4 * 5 + 8 + p * (4 * p * n + 4 * 100 * n) + 320 * sum(grids(size, p))


def own_bytes(kind: str, size: int, p: int) -> int:
    """RAMSES's own files without record marks: each has the header and the grids' indices, and a
    hydro file has level and number of grids before each process's block."""
    n = size.bit_length() - 1
    if kind == "amr":
        nodes: int = 2 ** ((p - 1).bit_length() + 1) - 1  # of the tree of walls
        ints, floats = 14 + 8 + 3 * p * n + 10 * n + 3 * nodes, 20 + 2 * n + nodes + 6 * p
        return p * (4 * ints + 8 * floats + 128) + 160 * sum(grids(size, p))
    return p * (4 * 5 + 8 + 8 * p * n) + 320 * sum(grids(size, p))


# ---------------------------------------------------------------- tests


class RamsesBenchmark(IoBenchmark):
    """The common base; `contents`: which of a dump's files."""

    contents = parameter(["amr", "hydro"], type=str, loggable=True)
    family = ("ramses",)
    packs = True
    scales = SCALES
    scale = parameter(SCALES, type=str, loggable=True)
    # `physical`: a tree and a blast wave that RAMSES's readers can read (docs/iokernel.md).
    values = variable(str, value="hash", loggable=True)

    @run_after("init")
    def set_where_it_runs(self) -> None:
        super().set_where_it_runs()
        self.pattern = f"ramses-{self.contents}"

    def scale_processes(self) -> int | None:
        return SCALES[self.scale].processes

    def size_in_name(self) -> int:
        return SCALES[self.scale].size

    def cells(self) -> int:
        """Along each edge of the box: a power of two."""
        halvings = round(math.log2(self.factor) / 3)
        return max(self.size_in_name() >> halvings, SMOKE_SIZE)

    def pattern_options(self) -> list[str]:
        values = [f"--values {self.values}"] if self.values != "hash" else []
        return [f"--size {self.cells()}", *values]

    def payload_bytes(self) -> int:
        of = own_bytes if self.call in OWN_FILES else shared_bytes
        return of(self.contents, self.cells(), self.clients) * self.dumps

    def call_bytes(self) -> int:
        """A component of the finest level: 8 bytes per grid."""
        if self.merges_levels():
            return super().call_bytes()
        on_finest = grids(self.cells(), self.clients)[-1]
        return BYTES_OF_COMPONENT * -(-on_finest // self.clients)

    def merges_levels(self) -> bool:
        """All levels of a component in one call."""
        return False

    def slower(self, direction: str) -> float:
        return SLOWER

    def is_quick(self) -> bool:
        """Part of the suite that `iogauge run` runs."""
        return False


@rfm.simple_test
class RamsesOwnFiles(RamsesBenchmark):
    """RAMSES as it is: a file per process. `-S RamsesOwnFiles.io_group=N`: tokens, so that one
    process of N writes at a time."""

    descr = "RAMSES, a file for each process"
    call = parameter(OWN_FILES, type=str, loggable=True)
    io_group = variable(int, value=0, loggable=True)

    def run_options(self) -> list[str]:
        return super().run_options() + ([f"--io-group {self.io_group}"] if self.io_group else [])

    def buffer_must_be_whole(self) -> bool:
        return bool(self.io_group) or super().buffer_must_be_whole()

    def is_quick(self) -> bool:
        return (self.contents, self.call) == ("hydro", "posix")


@rfm.simple_test
class RamsesShared(RamsesBenchmark):
    """One shared file: the order of its bytes x the call that moves them (2011: 810 MiB/s for
    level-major:write_at_all, 106 for process-major:write_at_all)."""

    descr = "RAMSES, one shared file"
    layout = parameter(["level-major", "process-major"], type=str, loggable=True)
    call = parameter(calls.names(without=OWN_FILES), type=str, loggable=True)
    merge_levels = variable(bool, value=False, loggable=True)

    def merges_levels(self) -> bool:
        return bool(self.merge_levels)

    def pattern_options(self) -> list[str]:
        merge = ["--merge-levels"] if self.merges_levels() else []
        return [*super().pattern_options(), f"--layout {self.layout}", *merge]

    def is_quick(self) -> bool:
        asked = (self.contents, self.layout, self.call)
        return asked == ("hydro", "level-major", "mpiio:collective")


@rfm.simple_test
class RamsesSizes(OverProcesses, RamsesBenchmark):
    """The 2011 tables and charts of methods: sizes and numbers of processes, each of the four."""

    descr = "RAMSES, sizes and processes of 2011"
    scale = parameter(["smoke", "paper"], type=str, loggable=True)
    size = parameter(map(str, [SMOKE_SIZE, *PAPER_SIZES]), type=str, loggable=True)
    call = parameter(PAPER_CALLS, type=str, loggable=True)
    processes = parameter(processes_of("RamsesSizes"), type=str, loggable=True)

    def is_smoke_point(self) -> bool:
        return self.size_in_name() == SMOKE_SIZE and super().is_smoke_point()

    def size_in_name(self) -> int:
        return int(self.size)


@rfm.simple_test
class RamsesHints(RamsesBenchmark):
    """The 2011 tables of ROMIO hints: a mesh file through HDF5, level after level, write and read
    (47 s with collective buffering, 6785 s without)."""

    descr = "RAMSES through HDF5, ROMIO hints"
    contents = parameter(["amr"], type=str, loggable=True)
    call = parameter(["hdf5:collective"], type=str, loggable=True)
    hint_set = parameter(HINT_SETS, type=str, loggable=True)

    def environs(self) -> list[str]:
        return [f"{environ} +romio" for environ in super().environs()]

    has_label = True

    def slower(self, direction: str) -> float:
        return SLOWER_HINTS.get(self.hint_set, {}).get(direction, 1.0)

    def label_hints(self) -> Label:
        buffering, sieving = HINT_SETS[self.hint_set]
        ours = {f"romio_cb_{way}": buffering for way in ("write", "read")}
        return {**ours, **{f"romio_ds_{way}": sieving for way in ("write", "read")}}
