# SPDX-License-Identifier: BSD-3-Clause
"""What upstream has been told of wrong bytes, with the versions that have it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .certificate import IO, NONE, WRONG, Stack, factors

Version = tuple[int, ...]


@dataclass(frozen=True)
class Report:
    where: str
    says: str
    library: str  # as a version begins that the kernels name: `Open MPI`, `MPICH`
    since: Version  # the first version that has it, as far as the report says
    mended: Version  # the first that has it no more; none where it is open
    kind: str = WRONG  # what a run with it is
    io: str = ""  # how the name of Open MPI's other MPI-IO begins, where it is in that one

    def concerns(self, version: str) -> bool:
        """Does a library of this version have it, by the report?"""
        if not version.startswith(self.library) or numbers(version) < self.since:
            return False
        return not self.mended or numbers(version) < self.mended

    def seen(self, stack: Stack) -> tuple[int, int]:
        """How many runs of a stack, through that MPI-IO, were of its kind; and of how many."""
        bad = sum(
            fault.bad
            for fault in stack.faults
            if fault.kind == self.kind and self._its(fault.setting)
        )
        return bad, sum(one.own for one in stack.tried if self._its(one.setting))

    def _its(self, setting: str) -> bool:
        if setting == NONE:
            return False
        io = factors(setting).get(IO, "")
        return io.startswith(self.io) if self.io else not io


REPORTS = (
    Report(
        "Open MPI issue 12718; darshan issue 1064 and pull request 1070",
        "collective and independent writes lose data: one process reads, changes and writes back a "
        "range in which another writes. Without data sieving (fbtl_posix_write_datasieving=0) it "
        "was right; 5.0.6 has another locking protocol, and darshan's test failed with 5.0.5 only",
        "Open MPI", (4, 1), (5, 0, 6),
    ),
    Report(
        "HDF5 pull request 5151",
        "a defect of 5.0.5 fails some of HDF5's parallel tests, which skip that version; 5.0.6 has "
        "it mended",
        "Open MPI", (5, 0, 5), (5, 0, 6),
    ),
    Report(
        "Open MPI issue 9432 (open)",
        "nonblocking collective calls crash in ROMIO within Open MPI, which has no such function",
        "Open MPI", (4, 1), (), "crash", "romio",
    ),
)  # fmt: skip


def numbers(version: str) -> Version:
    """The first number with dots in a text, such as `Open MPI v5.0.5`."""
    found = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def of(version: str) -> list[Report]:
    return [report for report in REPORTS if report.concerns(version)]
