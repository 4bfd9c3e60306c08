# SPDX-License-Identifier: BSD-3-Clause
"""RAMSES dumps as IDRIS measured them in 2011: mesh (amr) and gas (hydro), shared or own files."""

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reframe.core.builtins import run_after, variable

from iogauge.common.experiments import SMOKE
from reframe_tests.framework.base import IoBenchmark
from reframe_tests.framework.documented import OverProcesses, processes_of
from reframe_tests.framework.labels import Label
from reframe_tests.framework.ramses_sizes import grids, own_bytes, shared_bytes
from reframe_tests.framework.variants import axis, benchmark
from reframe_tests.machine import calls, scales


@dataclass(frozen=True)
class Scale(scales.Scale):
    """`size`: cells along each edge of the box."""

    size: int


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


class RamsesBenchmark(IoBenchmark):
    """The common base; `contents`: which of a dump's files."""

    contents = axis(["amr", "hydro"])
    family = ("ramses",)
    packs = True
    quick: Mapping[str, str] | None = None
    scales = SCALES
    scale = axis(SCALES)
    # `physical`: a tree and a blast wave that RAMSES's readers can read (docs/iokernel.md).
    values = variable(str, value="hash", loggable=True)

    @run_after("init")
    def set_systems(self) -> None:
        super().set_systems()
        self.pattern = f"ramses-{self.contents}"

    def size_in_name(self) -> int:
        return SCALES[self.scale].size

    def cells(self) -> int:
        """Along each edge of the box: a power of two."""
        halvings = round(math.log2(self.factor) / 3)
        return max(self.size_in_name() >> halvings, SMOKE_SIZE)

    def pattern_options(self) -> list[str]:
        values = [f"--values {shlex.quote(self.values)}"] if self.values != "hash" else []
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


@benchmark
class RamsesOwnFiles(RamsesBenchmark):
    """RAMSES as it is: a file per process. `-S RamsesOwnFiles.io_group=N`: tokens, so that one
    process of N writes at a time. `-S RamsesOwnFiles.local_dir=DIR`: `io_processes` I/O processes
    write there, on their nodes, and move the files later ($VARIABLES are the job's). Where the run
    is scaled down, so is their number; at scale smoke it is one."""

    descr = "RAMSES, a file for each process"
    call = axis(OWN_FILES)
    quick = {"contents": "hydro", "call": "posix"}
    io_group = variable(int, value=0, loggable=True)
    io_processes = variable(int, value=1, loggable=True)
    local_dir = variable(str, value="", loggable=True)

    def servers(self) -> int:
        if not self.the_call.servers:
            return 0
        return 1 if self.scale == SMOKE else max(1, int(self.io_processes) // self.factor)

    def run_options(self) -> list[str]:
        group = [f"--io-group {self.io_group}"] if self.io_group else []
        if not self.the_call.servers:
            return super().run_options() + group
        local = f' --local "{self.local_dir}"' if self.local_dir else ""
        return [*super().run_options(), *group, f"--io-processes {self.servers()}{local}"]

    def buffer_must_be_whole(self) -> bool:
        return bool(self.io_group) or super().buffer_must_be_whole()


@benchmark
class RamsesShared(RamsesBenchmark):
    """One shared file: the order of its bytes x the call that moves them (2011: 810 MiB/s for
    level-major:write_at_all, 106 for process-major:write_at_all)."""

    descr = "RAMSES, one shared file"
    layout = axis(["level-major", "process-major"])
    call = axis(calls.names(without=OWN_FILES))
    quick = {"contents": "hydro", "layout": "level-major", "call": "mpiio:collective"}
    merge_levels = variable(bool, value=False, loggable=True)

    def merges_levels(self) -> bool:
        return bool(self.merge_levels)

    def pattern_options(self) -> list[str]:
        merge = ["--merge-levels"] if self.merges_levels() else []
        return [*super().pattern_options(), f"--layout {self.layout}", *merge]


@benchmark
class RamsesSizes(OverProcesses, RamsesBenchmark):
    """The 2011 tables and charts of methods: sizes and numbers of processes, each of the four."""

    descr = "RAMSES, sizes and processes of 2011"
    scale = axis(["smoke", "paper"])
    size = axis(map(str, [SMOKE_SIZE, *PAPER_SIZES]))
    call = axis(PAPER_CALLS)
    processes = axis(processes_of("RamsesSizes"))

    @classmethod
    def is_smoke_point(cls, given: Mapping[str, Any]) -> bool:
        return given["size"] == str(SMOKE_SIZE) and super().is_smoke_point(given)

    def size_in_name(self) -> int:
        return int(self.size)


@benchmark
class RamsesHints(RamsesBenchmark):
    """The 2011 tables of ROMIO hints: a mesh file through HDF5, level after level, write and read
    (47 s with collective buffering, 6785 s without)."""

    descr = "RAMSES through HDF5, ROMIO hints"
    contents = axis(["amr"])
    call = axis(["hdf5:collective"])
    hint_set = axis(HINT_SETS)

    features = "+romio"
    has_label = True

    def slower(self, direction: str) -> float:
        return SLOWER_HINTS.get(self.hint_set, {}).get(direction, 1.0)

    def label_hints(self) -> Label:
        buffering, sieving = HINT_SETS[self.hint_set]
        ours = {f"romio_cb_{direction}": buffering for direction in ("write", "read")}
        return {**ours, **{f"romio_ds_{direction}": sieving for direction in ("write", "read")}}
