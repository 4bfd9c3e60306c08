# SPDX-License-Identifier: BSD-3-Clause
"""A file system's ceilings, by large aligned POSIX transfers: a file per process; one shared."""

import reframe.core.runtime as rt
from reframe.core.builtins import run_after

from reframe_tests.benchmarks.ior import MIB, Scale
from reframe_tests.framework.base import MAX_DEFAULT_PROCESSES, IoBenchmark
from reframe_tests.framework.variants import axis, benchmark
from reframe_tests.machine.scales import QUICK_SCALE

BEST_OF = 5  # repeats; the analysis takes the best ceiling of them
SCALES = {
    "smoke": Scale(block=1 * MIB, transfer=256 * 2**10),
    "laptop": Scale(block=64 * MIB, transfer=4 * MIB),
    "node": Scale(block=512 * MIB, transfer=16 * MIB),
}


def cores_of(partition: object) -> int:
    """The cores of one node; 1 if ReFrame does not know."""
    return partition.processor.num_cpus or 1  # type: ignore[attr-defined]


def powers_of_two(most: int) -> list[int]:
    return [2**n for n in range(most.bit_length()) if 2**n <= most]


@benchmark
class Peak(IoBenchmark):
    """The peak, with 1 to as many processes as a node has cores, with and without flushing."""

    descr = "ceilings of a file system"
    pattern = "ior"
    call = axis(["posix", "posix-shared"])
    scales = SCALES
    scale = axis(SCALES)
    processes = axis(
        powers_of_two(max(cores_of(partition) for partition in rt.runtime().system.partitions)),
        type=int,
    )
    flush = axis(["fsync", "no-fsync"])
    ceiling_seconds = 0.5
    features = "+peak"  # POSIX calls need no library: this stack starts the processes

    @run_after("init")
    def set_flush(self) -> None:
        self.fsync = self.flush == "fsync"
        self.repeats = max(self.repeats, BEST_OF)

    @run_after("init")
    def set_tags(self) -> None:
        # The analysis recognizes the peak tests by the first of these tags.
        self.tags |= {"peak", self.method, self.scale, self.fs}
        cores = max(cores_of(p) for p in rt.runtime().system.partitions)
        if self.scale == QUICK_SCALE:
            usual = powers_of_two(min(MAX_DEFAULT_PROCESSES, cores))[-1]
            # No other quick test leaves fsync out; one measures the ceilings of both calls.
            quick = (self.call, self.processes, self.flush) == ("posix", usual, "fsync")
            self.tags |= {"quick"} if quick else set()

    def scale_processes(self) -> int | None:
        return int(self.processes)

    def shortage(self) -> str | None:
        cores = cores_of(self.current_partition)
        if self.processes > cores:
            return f"{self.processes} processes asked for, a node has {cores} cores"
        return super().shortage()

    def pattern_options(self) -> list[str]:
        scale = SCALES[self.scale]
        return [f"-b {scale.block}", f"-t {scale.transfer}", "-C"]

    def run_options(self) -> list[str]:
        return [*super().run_options(), "--small"]

    def more_seconds(self) -> float:
        return 4 * float(self.ceiling_seconds)

    def payload_bytes(self) -> int:
        return SCALES[self.scale].block * self.num_tasks * self.dumps
