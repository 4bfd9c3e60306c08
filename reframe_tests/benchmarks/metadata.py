# SPDX-License-Identifier: BSD-3-Clause
"""Many small files: how long creating, looking up, reading and removing them takes (IDRIS 2011: one
file for each process, and series of up to 10^5 files, on Babel; mdtest's operations)."""

from __future__ import annotations

from dataclasses import dataclass

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from reframe_tests.framework.base import IoBenchmark

# Of each file's payload: three int64 that name it.
BYTES_PER_FILE = 24

# The 2011 curves' numbers of files.
SERIES = [10**n for n in range(6)]
QUICK = ("posix", "1000")


@dataclass(frozen=True)
class Scale:
    """`most`: the longest series, in files of all processes. `processes`: where it is defined for a
    number."""

    most: int
    processes: int | None = None


SCALES = {
    "smoke": Scale(10),
    "laptop": Scale(10_000),
    "node": Scale(100_000),
    # Babel: 2048 processes are the count of the document's other tables.
    "paper": Scale(100_000, processes=2048),
}


@rfm.simple_test
class Metadata(IoBenchmark):
    """`files`: of all processes together; each handles an equal share of them, at least one.
    `-S Metadata.unique_dir=yes`: a directory for each process, not one for all."""

    descr = "many small files"
    pattern = "metadata"
    # The file system's own cost, and one library's. With posix-shared and master the calls would be
    # those of posix, and a library's modes are all the same to a file that one process opens.
    call = parameter(["posix", "hdf5:independent"], type=str, loggable=True)
    scale = parameter(SCALES, type=str, loggable=True)
    files = parameter(map(str, SERIES), type=str, loggable=True)
    unique_dir = variable(bool, value=False, loggable=True)
    fsync = False
    ceilings = False  # of bandwidth, and there is next to none

    @run_after("init")
    def leave_out_what_the_scale_has_not(self) -> None:
        if int(self.files) > SCALES[self.scale].most:
            self.valid_systems = []

    def is_quick(self) -> bool:
        return (self.call, self.files) == QUICK

    def scale_processes(self) -> int | None:
        return SCALES[self.scale].processes

    def files_per_process(self) -> int:
        return max(1, int(self.files) // self.num_tasks)

    def records_to_trace(self) -> int:
        """Each file, and as many again for its data set or what a library puts beside."""
        return max(int(self.trace_records), 2 * self.files_per_process() * self.dumps)

    def pattern_options(self) -> list[str]:
        unique = ["--unique-dir"] if self.unique_dir else []
        return [f"--files {self.files_per_process()}", *unique]

    def payload_bytes(self) -> int:
        return BYTES_PER_FILE * self.files_per_process() * self.num_tasks * self.dumps
