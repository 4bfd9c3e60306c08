# SPDX-License-Identifier: BSD-3-Clause
"""Defects that write wrong bytes, as reported upstream, with the versions they affect."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .certificate import IO, NONE, WRONG, Stack, factors

Version = tuple[int, ...]


@dataclass(frozen=True)
class Seen:
    """How many of some runs were bad; `again`: repeats of a bad one with other seeds."""

    bad: int
    runs: int
    again_bad: int
    again: int


@dataclass(frozen=True)
class Report:
    where: str
    says: str
    library: str  # prefix of the version that the kernels report: `Open MPI`, `MPICH`
    # The first affected version of a series, and the first fixed one; none if it is open.
    series: tuple[tuple[Version, Version], ...]
    kind: str = WRONG  # how a run fails with it; empty if no run of a certificate can show it
    io: str = ""  # prefix of the MPI-IO's name, if it is not Open MPI's default
    pattern: str = ""  # the only pattern that shows it, and shows nothing else
    tried: str = ""  # what was tried here outside of a certificate

    def concerns(self, version: str) -> bool:
        """Does the report cover this version?"""
        its = numbers(version)
        return version.startswith(self.library) and any(
            since <= its and (not mended or its < mended) for since, mended in self.series
        )

    def seen(self, stack: Stack) -> Seen:
        """What a stack's runs through that MPI-IO show."""
        counts = [
            count
            for fault in stack.faults
            if fault.kind == self.kind and self._its(fault.setting)
            for pattern, count in fault.patterns.items()
            if self._shown_by(pattern)
        ]
        bad, again_bad, again = map(sum, zip(*counts, strict=True)) if counts else (0, 0, 0)
        runs = sum(one.own for one in stack.tried if self._its(one.setting))
        return Seen(bad, runs, again_bad, again)

    def _shown_by(self, pattern: str) -> bool:
        if self.pattern:
            return pattern == self.pattern
        return pattern not in {one.pattern for one in REPORTS if one.kind == self.kind}

    def _its(self, setting: str) -> bool:
        if setting == NONE:
            return False
        io = factors(setting).get(IO, "")
        return io.startswith(self.io) if self.io else not io


# Tried by hand, outside of a certificate: one program, only its MPI library replaced.
LOCKS = """\
Tried on 2026-11-23, one `iokernel` with each library in turn (4.1.4: its own), on ext4, 2 cores at
a load of 5 to 17, `OMPI_MCA_io_ompio_num_aggregators=2 mpiexec -n 16 iokernel ramses-amr --size 64
--method mpiio --mode collective --repeat 2`: wrong in 7 of 10 with 4.1.4, 8 of 10 with 5.0.5, 0 of
10 with 5.0.6 and with 5.0.8. The locks make the difference: 5.0.6 without them
(fs_ufs_lock_algorithm=1) was wrong in 5 of 10, 5.0.5 with them (fs_ufs_lock_algorithm=3) in 0 of
10, as without data sieving. On 4 processes, `--size 32`, in the same order: 5, 5, 0, 0, 4,
0, 0 of 15"""
COPIES = """\
It is no loss of data: an `MPI_Info` that is copied twice loses its keys. Tried on 2026-11-23: of 2
keys the copy's copy has 0 with 5.0.5, 2 with 4.1.4 and 5.0.6. So a hint may not arrive"""
HOLES = """\
Tried on 2026-11-23 without `iokernel`, blocks of 256 bytes, 4,000 apart, written into a file of 200
MiB: wrong with 5.0.5 too, with 5.0.6 at 400 MiB; right with 4.1.4, with another `fcoll`, and at 60
MiB"""


REPORTS = (
    Report(
        "Open MPI issue 12718; darshan issue 1064 and pull request 1070",
        "collective and independent writes lose data: one process reads, changes and writes back a "
        "range in which another writes. Without data sieving (fbtl_posix_write_datasieving=0) it "
        "was right; 4.1.7 and 5.0.6 lock the ranges (fs_ufs_lock_algorithm), and darshan's test "
        "failed with 5.0.5, not with 5.0.6",
        "Open MPI", (((4, 1), (4, 1, 7)), ((5,), (5, 0, 6))), tried=LOCKS,
    ),
    Report(
        "HDF5 pull request 5151",
        "a defect of 5.0.5 fails a parallel test of HDF5, which skips that version; 5.0.6 has it "
        "mended",
        "Open MPI", (((5,), (5, 0, 6)),), "", tried=COPIES,
    ),
    Report(
        "No report found",
        "with vulcan, the default of 4 processes, data sieving reads the first 64 MiB of an "
        "aggregator's range and not the next ones (`total_bytes` is not set back in "
        "fbtl_posix_pwritev.c), so what lies between the pieces of a call is overwritten with "
        "other bytes of the file: `iokernel extents --columns 52428x3744x256 --method mpiio --mode "
        "collective`, with no setting. Without data sieving it is right",
        "Open MPI", (((5,), ()),), pattern="extents", tried=HOLES,
    ),
    Report(
        "Open MPI issue 9432 (open)",
        "nonblocking collective calls crash in ROMIO within Open MPI, which has no such function",
        "Open MPI", (((4, 1), ()),), "crash", "romio",
    ),
)  # fmt: skip


def numbers(version: str) -> Version:
    """The first dotted number in a text such as `Open MPI v5.0.5`."""
    found = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()
