# SPDX-License-Identifier: BSD-3-Clause
"""What is benched: which commands are compared, on which stack, with how many processes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.bench.parse import READ, TOTAL, WRITE

IOR, S3D, CGNS = "ior", "s3d_io.x", "benchmark_hdf5"

# IOR's words for each API and call. NCMPI has no -F in IOR; its independent mode is not benched.
IOR_CALLS = {
    "POSIX": ("-a", "POSIX"),
    "POSIX -F": ("-a", "POSIX", "-F"),
    "MPIIO": ("-a", "MPIIO"),
    "MPIIO -c": ("-a", "MPIIO", "-c"),
    "HDF5": ("-a", "HDF5"),
    "HDF5 -c": ("-a", "HDF5", "-c"),
    "NCMPI -c": ("-a", "NCMPI", "-c"),
}
S3D_METHODS = {"blocking": "0", "nonblocking": "1"}
S3D_DUMPS = 5
BYTES_PER_POINT = 128  # 11 + 3 + 1 + 1 float64


@dataclass(frozen=True)
class Case:
    """One comparison. `size`: bytes of a file (of all files with -F, of a dump)."""

    program: str
    call: str
    stack: str
    processes: int
    filesystem: str
    size: int
    transfer: int = 0
    fsync: bool = False
    repeats: int = 1

    @property
    def directions(self) -> tuple[str, ...]:
        return (WRITE, READ) if self.program == IOR else (TOTAL,)

    @property
    def label(self) -> str:
        if self.program == S3D:
            return f"method {S3D_METHODS[self.call]} ({self.call})"
        return f"{self.call}{' -e' if self.fsync else ''}"

    @property
    def transfer_label(self) -> str:
        whole = self.transfer == self.size // self.processes
        return "-" if not self.transfer else "block" if whole else size_text(self.transfer)


def size_text(size: int) -> str:
    for letter, unit in (("g", 2**30), ("m", 2**20), ("k", 2**10)):
        if size and size % unit == 0:
            return f"{size // unit}{letter}"
    return str(size)


def process_grid(processes: int) -> tuple[int, int, int]:
    """The three factors that differ least, the largest one along x."""
    triples = [
        (a, b, processes // a // b)
        for a, b in itertools.product(range(1, processes + 1), repeat=2)
        if processes % (a * b) == 0
    ]
    return min(triples, key=lambda t: (max(t) - min(t), -t[0], -t[1]))


def s3d_grid(size: int, procs: tuple[int, int, int]) -> tuple[int, int, int]:
    """A cube of about `size` bytes, each side a multiple of its processes, as S3D-IO wants it."""
    side = int((size / BYTES_PER_POINT) ** (1 / 3) + 1e-9)
    x, y, z = (max(1, side // p) * p for p in procs)
    return x, y, z


def ior_command(case: Case, program: Path, folder: Path, upstream: bool) -> list[str]:
    """IOR's own letters for both; only how they report differs."""
    block = case.size // case.processes
    command = [str(program), *([] if upstream else ["ior"]), *IOR_CALLS[case.call]]
    command += ["-b", str(block), "-t", str(case.transfer), "-s", "1", "-i", str(case.repeats)]
    command += ["-w", "-r", *(["-e"] if case.fsync else []), "-o", str(folder / "file")]
    summary = str(folder / "summary.json")
    if not upstream:  # IOR makes its one buffer once, ours is filled anew off the clock
        return [*command, "--buffer", "reused", "--json", summary]
    if case.call.startswith("HDF5"):
        command.append("--hdf5.noFill")  # iokernel's data sets have no fill values either
    return [*command, "-O", "summaryFormat=JSON", "-O", f"summaryFile={summary}"]


def s3d_words(
    grid: tuple[int, ...], procs: tuple[int, int, int], method: str, folder: Path
) -> list[str]:
    """S3D-IO's nine arguments."""
    return [*map(str, (*grid, *procs, method)), "F", str(folder)]


def s3d_command(case: Case, program: Path, folder: Path) -> list[str]:
    procs = process_grid(case.processes)
    words = s3d_words(s3d_grid(case.size, procs), procs, S3D_METHODS[case.call], folder)
    return [str(program), *words]


@dataclass(frozen=True)
class Choice:
    """What the command line asked for. `processes`: by stack."""

    processes: dict[str, tuple[int, ...]]
    filesystems: tuple[str, ...]
    transfers: dict[str, tuple[int, ...]]  # by file system; 0: the whole block
    size: int
    repeats: int
    only: str = ""

    def cases(self) -> Iterator[Case]:
        """Each case, those of one program together; `only`: a part of the row's text."""
        for case in itertools.chain(self._ior(), self._s3d()):
            words = f"{case.program} {case.label} {case.stack} {case.filesystem} {case.processes}"
            if self.only in words:
                yield case

    def _places(self) -> Iterator[tuple[str, str, int]]:
        for filesystem in self.filesystems:
            for stack, counts in self.processes.items():
                for processes in counts:
                    yield filesystem, stack, processes

    def _ior(self) -> Iterator[Case]:
        for filesystem, stack, processes in self._places():
            for transfer, call in itertools.product(self.transfers[filesystem], IOR_CALLS):
                block = self.size // processes // (transfer or 2**20) * (transfer or 2**20)
                fsync = filesystem == "disk"
                yield Case(
                    IOR, call, stack, processes, filesystem, block * processes,
                    transfer or block, fsync, self.repeats,
                )  # fmt: skip

    def _s3d(self) -> Iterator[Case]:
        for filesystem, stack, processes in self._places():
            for call in S3D_METHODS:
                yield Case(S3D, call, stack, processes, filesystem, self.size)
