# SPDX-License-Identifier: BSD-3-Clause
"""Parallel CGNS: structured grids (2005), The HDF Group's mesh, and collective metadata."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from iogauge.common.experiments import Point
from reframe_tests.framework import labels
from reframe_tests.framework.base import IoBenchmark
from reframe_tests.framework.documented import OverProcesses, processes_of
from reframe_tests.framework.labels import Label
from reframe_tests.framework.variants import axis, benchmark
from reframe_tests.machine import calls, scales

COORDINATES = 3

# CGNS is compared with the libraries below and beside it, and with a file per process.
WITHOUT = ["null", "posix-shared", "master", "mpiio:nonblocking", "mpiio:ordered"]
WITHOUT += ["pnetcdf:independent", "pnetcdf:nonblocking"]
CALLS = calls.names(without=WITHOUT, mesh=True)
# What CgnsMetadata runs on the structured zones, at more numbers of processes.
WITH_METADATA = ["hdf5:collective-metadata", "cgns:collective-metadata"]
ZONE_CALLS = calls.names(without=[*WITHOUT, *WITH_METADATA], mesh=True)


@dataclass(frozen=True)
class Grid(scales.Scale):
    """`edge`: vertices of a zone along x, y, z. `by_coordinate`: coordinates moved one by one, if a
    node has no room for all three."""

    edge: tuple[int, int, int]
    by_coordinate: bool = False

    @property
    def vertices(self) -> int:
        return prod(self.edge)

    @property
    def word(self) -> str:
        return "x".join(map(str, self.edge))

    def scaled_down(self, factor: int) -> "Grid":
        return replace(self, edge=tuple(max(2, round(n / factor ** (1 / 3))) for n in self.edge))


# The paper's writing, 16 processes with a zone each (23 MB, 618 MB, 2.8 GB).
ZONES = {
    "smoke": Grid((9, 8, 7)),
    # 48 MiB on 2 processes.
    "laptop": Grid((128, 128, 128)),
    "node": Grid((150, 150, 150)),
    "paper": Grid((250, 250, 250), processes=16),
    "paper-50": Grid((50, 50, 50), processes=16),
    "paper-150": Grid((150, 150, 150), processes=16),
}

# The paper's reading: files of 8.2, 57 and 417 MB; 24 (n + 7)^3 fits, for its n of 64, 128, 256.
BLOCKS = {
    "smoke": Grid((9, 8, 7)),
    "laptop": Grid((135, 135, 135)),
    "node": Grid((263, 263, 263)),
    # One node of FAUST has 256 MB, and read it alone too.
    "paper": Grid((263, 263, 263), processes=50, by_coordinate=True, buffer="reused"),
    "paper-64": Grid((71, 71, 71), processes=50),
    "paper-128": Grid((135, 135, 135), processes=50),
}


@dataclass(frozen=True)
class Mesh(scales.Scale):
    elements: int
    per_process: bool = False


MESHES = {
    "smoke": Mesh(1001),
    # 82 MiB.
    "laptop": Mesh(200_000),
    "node": Mesh(65_536, per_process=True),
    # "~33.5 million elements with ~201 million nodes": 13.5 GiB.
    # The page prints no number of processes; 4,096 is the benchmark's own header's.
    "paper": Mesh(33_554_432, processes=4096, bandwidth=500),
    # The benchmark's own header, Cetus: 3.375 TiB and 431 GiB; it frees arrays once written.
    "paper-cetus": Mesh(8_589_934_592, processes=4096, bandwidth=2000, buffer="reused"),
    "paper-cetus-256": Mesh(1_073_741_824, processes=256, bandwidth=500, buffer="reused"),
}

NODES_PER_ELEMENT = 6
# Three coordinates, three fields and two arrays at each node, and an element's node numbers.
VALUES_PER_ELEMENT = NODES_PER_ELEMENT * (3 + 3 + 2) + NODES_PER_ELEMENT
BYTES_PER_VALUE = 8
ARRAYS_OF_CALL = 3


@benchmark
class CgnsStructured(IoBenchmark):
    """A zone per process; creating the data sets is timed apart (2005: 20 % of the total)."""

    descr = "CGNS, a structured zone for each process"
    pattern = "cgns-structured"
    call = axis(ZONE_CALLS)
    scales: Mapping[str, Grid] = ZONES
    scale = axis(ZONES)
    quick: Mapping[str, str] | None = {"call": "cgns:independent"}

    @property
    def grid(self) -> Grid:
        return self.scales[self.scale]

    def pattern_options(self) -> list[str]:
        return [f"--zone {self.grid.word}"]

    def payload_bytes(self) -> int:
        return self.grid.vertices * COORDINATES * 4 * self.clients * self.dumps


@benchmark
class CgnsBlock(CgnsStructured):
    """One block split over the processes (2005: what was read)."""

    descr = "CGNS, one structured block"
    scales = BLOCKS
    scale = axis(BLOCKS)
    quick: Mapping[str, str] | None = None

    @property
    def grid(self) -> Grid:
        return super().grid.scaled_down(self.factor)

    def pattern_options(self) -> list[str]:
        one_by_one = ["--by-coordinate"] if self.grid.by_coordinate else []
        return [f"--one-block {self.grid.word} --real float64", *one_by_one]

    def payload_bytes(self) -> int:
        return self.grid.vertices * COORDINATES * 8 * self.dumps

    def call_bytes(self) -> int:
        return self.share_of_a_dump() // (COORDINATES if self.grid.by_coordinate else 1)


@benchmark
class CgnsZoneProcesses(OverProcesses, CgnsStructured):
    """2005: a zone per process, so that the file grows with their number."""

    descr = "CGNS, zones over processes"
    call = axis(["cgns:independent"])
    scale = axis(["smoke", "laptop", "paper-50", "paper-150", "paper"])
    processes = axis(processes_of("CgnsZoneProcesses"))


@benchmark
class CgnsReadProcesses(OverProcesses, CgnsBlock):
    """2005: a block read by growing numbers of processes; a single one reads with serial CGNS."""

    descr = "CGNS, a block over processes"
    call = axis(["cgns:serial", "cgns:independent"])
    scale = axis(["smoke", "laptop", "paper-64", "paper-128", "paper"])
    processes = axis(processes_of("CgnsReadProcesses"))

    @classmethod
    def makes_sense(cls, given: Mapping[str, Any]) -> bool:
        alone = calls.BY_NAME[given["call"]].processes == 1
        one = Point.of(given["processes"]).processes == 1
        return alone == one and super().makes_sense(given)


@benchmark
class CgnsUnstructured(IoBenchmark):
    """The HDF Group's mesh: coordinates, elements, fields and arrays are timed one by one."""

    descr = "CGNS, an unstructured mesh"
    pattern = "cgns-unstructured"
    call = axis(CALLS)
    scales = MESHES
    scale = axis(MESHES)
    quick = {"call": "cgns:collective"}

    def elements(self) -> int:
        mesh = MESHES[self.scale]
        whole = mesh.elements * (self.clients if mesh.per_process else 1)
        return int(whole // self.factor)

    def pattern_options(self) -> list[str]:
        return [f"--elements {self.elements()}"]

    def payload_bytes(self) -> int:
        return self.elements() * VALUES_PER_ELEMENT * BYTES_PER_VALUE * self.dumps

    def call_bytes(self) -> int:
        """Three coordinates or three fields of a process's nodes."""
        most = -(-self.elements() // self.clients)
        return most * NODES_PER_ELEMENT * ARRAYS_OF_CALL * BYTES_PER_VALUE


# Small zones: the smoke scale's, at more processes than a laptop has for `paper`.
METADATA_ZONES = dict.fromkeys(("smoke", "paper"), ZONES["smoke"])
METADATA_PROCESSES = (1, 2, 4, 8)

HINT = "hdf5_coll_metadata"


@dataclass(frozen=True)
class Metadata:
    """`hint`: the value given; `in_use`: what the library must report, if known."""

    mode: str
    hint: str | None = None
    in_use: str | None = None


# The hint for HDF5's metadata; `library`: none, so what the method's library sets.
COLLECTIVE_METADATA = {
    "library": Metadata("collective"),
    "on": Metadata("collective-metadata", in_use="true"),
    "off": Metadata("collective", hint="false", in_use="false"),
}


@benchmark
class CgnsMetadata(OverProcesses, CgnsStructured):
    """Opening and closing with and without collective metadata (The HDF Group: 100 to 1000 times
    faster with it), of small zones. `call` is a method alone: `metadata` says the mode."""

    descr = "CGNS, collective metadata"
    call = axis(["cgns", "hdf5"])
    scales = METADATA_ZONES
    scale = axis(METADATA_ZONES)
    metadata = axis(COLLECTIVE_METADATA)
    processes = axis(processes_of("CgnsMetadata", *METADATA_PROCESSES))

    @classmethod
    def is_smoke_point(cls, given: Mapping[str, Any]) -> bool:
        return given["processes"] in map(str, METADATA_PROCESSES)

    @property
    def the_call(self) -> calls.Call:
        return calls.BY_NAME[f"{self.call}:{COLLECTIVE_METADATA[self.metadata].mode}"]

    has_label = True

    def more_seconds(self) -> float:
        """The page: a job of five minutes ended before all of >1024 processes had opened it."""
        return 600.0 if self.metadata == "off" and self.num_tasks > 1024 else 0.0

    def label_hints(self) -> Label:
        return {HINT: COLLECTIVE_METADATA[self.metadata].hint}

    def label_in_use(self, used: dict[str, Any]) -> tuple[list[str], list[str]]:
        """A mode that asks for it needs no hint."""
        wanted = COLLECTIVE_METADATA[self.metadata].in_use
        return labels.hints_in_use(used["hints"], {HINT: wanted})
