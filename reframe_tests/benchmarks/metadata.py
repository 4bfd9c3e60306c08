# SPDX-License-Identifier: BSD-3-Clause
"""Many small files: creating, listing, looking up, reading and removing (IDRIS 2011; mdtest)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reframe.core.builtins import variable

from iogauge.common.experiments import Point
from reframe_tests.benchmarks.peak import cores_of
from reframe_tests.framework.base import MAX_DEFAULT_PROCESSES, IoBenchmark
from reframe_tests.framework.documented import OverProcesses, processes_of
from reframe_tests.framework.variants import axis, benchmark
from reframe_tests.machine import scales

# Each file's payload: three int64 that name it.
BYTES_PER_FILE = 24

# The 2011 curves' numbers of files.
SERIES = [10**n for n in range(6)]

# What a time limit allows for creating, looking up, reading and removing a file, one after the
# other.
SECONDS_PER_FILE = 0.02


@dataclass(frozen=True)
class Scale(scales.Scale):
    """`most`: the longest series, in files of all processes. `processes`: the largest count."""

    most: int


SCALES = {
    "smoke": Scale(10),
    "laptop": Scale(10_000),
    "node": Scale(100_000),
    # Babel: how many processes is not printed, and one can have any number of files.
    "paper": Scale(100_000, processes=1),
}


def dividing(files: int, most: int) -> int:
    """The largest number of processes, at most `most`, that divides the files evenly."""
    return next(n for n in range(min(files, most), 0, -1) if files % n == 0)


class SmallFiles(IoBenchmark):
    """The common base. `-S Metadata.unique_dir=yes`: a directory per process."""

    pattern = "metadata"
    # The file system's own cost, and each library's. posix-shared and master would repeat posix's
    # calls, and a library's modes do not matter for a file opened by one process.
    call = axis(["posix", "hdf5:independent"])
    scales = SCALES
    unique_dir = variable(bool, value=False, loggable=True)
    fsync = False
    ceilings = False  # of bandwidth, and there is hardly any

    def files_per_process(self) -> int:
        raise NotImplementedError

    def records_to_trace(self) -> int:
        """Each file, and as many again for its data set or a library's auxiliary file."""
        return max(int(self.trace_records), 2 * self.files_per_process() * self.dumps)

    def more_seconds(self) -> float:
        return SECONDS_PER_FILE * self.files_per_process() * self.num_tasks * self.dumps

    def pattern_options(self) -> list[str]:
        unique = ["--unique-dir"] if self.unique_dir else []
        return [f"--files {self.files_per_process()}", *unique]

    def payload_bytes(self) -> int:
        return BYTES_PER_FILE * self.files_per_process() * self.num_tasks * self.dumps


@benchmark
class Metadata(SmallFiles):
    """`files`: of all processes together; each handles an equal share."""

    descr = "many small files"
    scale = axis(SCALES)
    files = axis(map(str, SERIES))
    quick = {"call": "posix", "files": "1000"}

    @classmethod
    def makes_sense(cls, given: Mapping[str, Any]) -> bool:
        return int(given["files"]) <= SCALES[given["scale"]].most

    def scale_processes(self) -> int | None:
        """Unless the user says how many."""
        usual = min(MAX_DEFAULT_PROCESSES, cores_of(self.current_partition))
        return dividing(int(self.files), SCALES[self.scale].processes or usual)

    def shortage(self) -> str | None:
        if int(self.files) % self.num_tasks:
            right = dividing(int(self.files), self.num_tasks)
            return (
                f"{self.files} files do not divide over {self.num_tasks} processes; "
                f"use -S {type(self).__name__}.num_tasks={right}"
            )
        return super().shortage()

    def files_per_process(self) -> int:
        return int(self.files) // self.num_tasks


@benchmark
class FilePerProcess(OverProcesses, SmallFiles):
    """Each process creates one file, empty at first (IDRIS 2011: over files and processes)."""

    descr = "one file for each process"
    call = axis(["posix"])
    scale = axis(["smoke", "paper"])
    processes = axis(processes_of("FilePerProcess"))

    @classmethod
    def is_smoke_point(cls, given: Mapping[str, Any]) -> bool:
        return Point.of(given["processes"]).factor == 1  # creating files needs no features

    def files_per_process(self) -> int:
        return 1

    def pattern_options(self) -> list[str]:
        return [*super().pattern_options(), "--create-empty"]

    def shortage(self) -> str | None:
        if self.num_tasks != self.point.processes:
            return f"{self.processes} processes are the test's name, not {self.num_tasks}"
        return super().shortage()
