# SPDX-License-Identifier: BSD-3-Clause
"""IOR: every process moves blocks of one size in transfers of one size."""

import functools
import re
import shlex
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reframe.core.builtins import run_after, run_before, variable

from iogauge.analysis.checks.result_file import Wrong, load
from iogauge.common.mounts import mount_of
from reframe_tests.framework.base import IoBenchmark
from reframe_tests.framework.build import mpi_problem
from reframe_tests.framework.documented import OverProcesses, processes_of
from reframe_tests.framework.ior_document import Asked, convert_files
from reframe_tests.framework.variants import axis, benchmark
from reframe_tests.machine import calls, scales, stacks

KIB, MIB, GIB = 2**10, 2**20, 2**30


@dataclass(frozen=True)
class Scale(scales.Scale):
    """`block`: contiguous bytes of a process in a segment; `transfer`: bytes per call; `segments`:
    repetitions in the file; `total`: instead of `block`, the bytes of all processes, whatever their
    number."""

    transfer: int
    block: int = 0
    segments: int = 1
    total: int = 0

    def block_of(self, processes: int, factor: int = 1) -> int:
        """Whole transfers, at least one; a remainder of the total is left out."""
        if not self.total:
            return self.block
        return max(self.total // factor // (processes * self.transfer), 1) * self.transfer


SCALES = {
    "smoke": Scale(block=256 * KIB, transfer=64 * KIB, segments=2),
    # 32 MiB per process: 64 to 128 MiB in all on 2 to 4 processes.
    "laptop": Scale(block=8 * MIB, transfer=1 * MIB, segments=4),
    "node": Scale(block=64 * MIB, transfer=1 * MIB, segments=2),
    # IDRIS 2011: 256 GiB in all, transfers of 2 MiB, 256 to 32768 processes (32 to 1024 on Power6).
    # IOR has one transfer in memory.
    "paper": Scale(
        total=256 * GIB, transfer=2 * MIB, processes=256, bandwidth=500, buffer="reused"
    ),
}

# The real ior's options for a call; it has no others.
REAL_IOR = {
    "posix": ["-a", "POSIX", "-F"],
    "posix-shared": ["-a", "POSIX"],
    "mpiio:collective": ["-a", "MPIIO", "-c"],
    "mpiio:independent": ["-a", "MPIIO"],
    "hdf5:collective": ["-a", "HDF5", "-c"],
    "hdf5:independent": ["-a", "HDF5"],
    "pnetcdf:collective": ["-a", "NCMPI", "-c"],
    "pnetcdf:independent": ["-a", "NCMPI"],
}

APIS = re.compile(r"API for I/O \[([^\]]*)\]")


def output_of(*command: str) -> str:
    """What a command prints on stdout; nothing if it cannot be run or takes half a minute."""
    with suppress(OSError, subprocess.TimeoutExpired):
        how: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 30}
        return str(subprocess.run(command, check=False, **how).stdout)
    return ""


@functools.cache
def apis_of(ior: str, mpi_library: str, *inside: str) -> frozenset[str]:
    """The APIs of an `ior`; none if it is linked to another MPI. `inside`: as `stacks.inside`."""
    if mpi_problem(output_of(*inside, "ldd", ior), mpi_library):
        return frozenset()
    match = APIS.search(output_of(*inside, ior, "-h"))
    return frozenset(match[1].split("|")) if match else frozenset()


def find_ior(wanted: str, environ: Any, api: str) -> str | None:
    stack, inside = stacks.extras(environ), stacks.inside(environ)
    for candidate in (wanted, stack.get("ior"), shutil.which("ior")):
        if candidate and api in apis_of(candidate, stack["mpi_library"], *inside):
            return str(candidate)
    return None


@benchmark
class Ior(IoBenchmark):
    """IOR's pattern, by the stack's own `ior` where it has one (or `-S Ior.ior_program=PATH`), else
    by `iokernel` (always with `none`)."""

    descr = "IOR"
    pattern = "ior"
    call = axis(calls.names())
    scales = SCALES
    scale = axis(SCALES)
    ior_program = variable(str, value="", loggable=True)
    keep_files = [*IoBenchmark.keep_files, "ior.json"]

    def pattern_options(self) -> list[str]:
        scale = SCALES[self.scale]
        block = scale.block_of(self.clients, self.factor)
        return [f"-b {block}", f"-t {scale.transfer}", f"-s {scale.segments}", "-C"]

    def payload_bytes(self) -> int:
        scale = SCALES[self.scale]
        block = scale.block_of(self.clients, self.factor)
        return block * scale.segments * self.clients * self.dumps

    def call_bytes(self) -> int:
        return SCALES[self.scale].transfer

    def reuses_buffer(self) -> bool:
        """The real ior always does."""
        return bool(self.ior_program) or super().reuses_buffer()

    def runs_the_kernel(self) -> bool:
        return not self.ior_program

    @run_after("setup")
    def choose_program(self) -> None:
        """IOR has no dumps, and no hints for one direction: such runs use `iokernel`."""
        wanted, self.ior_program = self.ior_program, ""
        directed = any(":" in key for key in self.all_hints())
        if self.call in REAL_IOR and wanted != "none" and self.dumps == 1 and not directed:
            _, api, *_ = REAL_IOR[self.call]
            self.ior_program = find_ior(wanted, self.current_environ, api) or ""
        if self.ior_program:
            self.hints_form = "ior"

    def programs(self) -> list[dict[str, Any]]:
        """The programs of a job. Before the real ior, `iokernel` runs first for the ceilings
        (`null` moves nothing else)."""
        if not self.ior_program:
            return super().programs()
        ceilings = {
            "path": str(self.kernels.program),
            "traced": False,
            "options": [
                " ".join(["ior", *self.pattern_options()]),
                f"--method null {self.folders()}",
                " ".join(self.run_options()),
                "--json ceilings.json",
            ],
        }
        ior = {"path": self.ior_program, "options": self.ior_options()}
        return [ceilings, ior] if self.ceilings else [ior]

    def ior_options(self) -> list[str]:
        prefix = self.file_prefix
        flags = " -e" if self.fsync else ""
        own = "own" in (self.striping() or {}) and "-F" in REAL_IOR[self.call]
        folder = "own_dir" if own else "run_dir"
        return [
            " ".join([*REAL_IOR[self.call], *self.pattern_options()]),
            f"-w -r -R -i {self.repeats}{flags}",
            "-O summaryFormat=JSON -O summaryFile=ior.json",
            f'-o {shlex.quote(prefix)}"${folder}/ior.data"'
            if prefix
            else f'-o "${folder}/ior.data"',
        ]

    @run_before("sanity")
    def make_document(self) -> None:
        if not self.ior_program or self.is_dry_run():
            return
        stage = Path(self.stagedir)
        ceilings: list[dict[str, Any]] = []
        with suppress(Wrong, KeyError):  # if that run failed, so did the job
            ceilings = load(stage / "ceilings.json")["samples"]
        asked = Asked(
            method=self.the_call.method,
            mode=self.the_call.mode,
            directory=self.file_system["path"],
            mount=mount_of(Path(self.file_system["path"])),
            hints=self.all_hints(),
            prefix=self.file_prefix or None,
            hosts=tuple(self.job.nodelist),
            ceilings=tuple(ceilings),
            ceilings_uncached=self.drop_caches,
        )
        convert_files(stage, stage / self.job.stdout, asked)


@benchmark
class IorProcesses(OverProcesses, Ior):
    """The same total over growing numbers of processes (IDRIS 2011)."""

    descr = "IOR over processes"
    call = axis(["posix", "mpiio:independent", "hdf5:independent", "pnetcdf:independent"])
    scale = axis(["smoke", "laptop", "paper"])
    processes = axis(processes_of("IorProcesses"))
