# SPDX-License-Identifier: BSD-3-Clause
"""What upstream has been told of wrong bytes, with the versions that have it."""

from __future__ import annotations

import re
from dataclasses import dataclass

Version = tuple[int, ...]


@dataclass(frozen=True)
class Report:
    where: str
    says: str
    library: str  # as a version begins that the kernels name: `Open MPI`, `MPICH`
    since: Version  # the first version that has it, as far as the report says
    mended: Version  # the first that has it no more

    def concerns(self, version: str) -> bool:
        """Does a library of this version have it, by the report?"""
        return version.startswith(self.library) and self.since <= numbers(version) < self.mended


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
)  # fmt: skip


def numbers(version: str) -> Version:
    """The first number with dots in a text, such as `Open MPI v5.0.5`."""
    found = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


def of(version: str) -> list[Report]:
    return [report for report in REPORTS if report.concerns(version)]
