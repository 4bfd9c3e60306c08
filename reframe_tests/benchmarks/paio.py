# SPDX-License-Identifier: BSD-3-Clause
"""PAIO (NASA-GSFC): fields of a weather model written by I/O processes while it continues."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from reframe.core.builtins import variable

from reframe_tests.framework.base import IoBenchmark
from reframe_tests.framework.variants import axis, benchmark
from reframe_tests.machine import calls, placement, scales

BYTES_PER_VALUE = 4


@dataclass(frozen=True)
class Scale(scales.Scale):
    """`grid`: longitudes, latitudes, levels; `arrays`: of that size in a dump."""

    grid: tuple[int, int, int]
    arrays: int

    @property
    def bytes(self) -> int:
        """The bytes of a dump."""
        return prod(self.grid) * self.arrays * BYTES_PER_VALUE


SCALES = {
    "smoke": Scale((37, 29, 5), arrays=3, steps=2),
    # 69 MiB.
    "laptop": Scale((360, 180, 35), arrays=8),
    "node": Scale((1440, 720, 70), arrays=4),
    # The document's runs: one process computes on the Altix (298 MB/s without I/O processes) and on
    # the SC45 (121 with one, 3 times what it had without). The cloud model took 1913 s: 12 MB/s.
    "paper": Scale((1440, 720, 70), arrays=10, processes=1, bandwidth=200),
    "paper-sc45": Scale((1024, 1024, 41), arrays=8, processes=1, bandwidth=40),
    "paper-gsfc": Scale((1024, 1024, 41), arrays=23, steps=6, processes=256, bandwidth=12),
}

# A queue's limit, as a multiple of the data that a server receives in a dump; the most of a node.
QUEUES = {"below": 0.25, "above": 1.25}
OF_A_NODE = 0.75


class PaioBenchmark(IoBenchmark):
    """The common base. `-S Paio.compute_seconds=T`: computing after each dump."""

    pattern = "weather"
    quick: Mapping[str, str] | None = None
    scales = SCALES
    scale = axis(SCALES)
    call = axis(["ioserver:posix"])
    io_processes = axis([1], type=int)
    queue = axis(["above"])
    send = axis(["zero-copy"])
    compute_seconds = variable(float, value=0.0, loggable=True)

    @property
    def dump(self) -> Scale:
        """The dump, with fewer longitudes where it is scaled down."""
        scale = SCALES[self.scale]
        x, *others = scale.grid
        return replace(scale, grid=(max(1, x // self.factor), *others))

    def servers(self) -> int:
        return int(self.io_processes)

    def queue_limit(self) -> int:
        """The least that the kernel takes is 4 KiB."""
        if not self.servers():
            return 0
        wanted = self.dump.bytes / self.servers() * QUEUES[self.queue]
        has = placement.shape_of(self.current_partition).memory * 2**20 * OF_A_NODE
        return max(4096, int(min(wanted, has or wanted)))

    def pattern_options(self) -> list[str]:
        dump = self.dump
        return [f"--grid {'x'.join(map(str, dump.grid))}", f"--arrays {dump.arrays}"]

    def run_options(self) -> list[str]:
        compute = [f"--compute-seconds {self.compute_seconds}"] if self.compute_seconds else []
        return [*super().run_options(), *self.server_options(), *compute]

    def server_options(self) -> list[str]:
        if not self.servers():
            return []
        return [
            f"--io-processes {self.io_processes}",
            f"--queue-limit {self.queue_limit()}",
            f"--send {self.send}",
        ]

    def payload_bytes(self) -> int:
        return self.dump.bytes * self.dumps

    def more_seconds(self) -> float:
        """Computing, in the run and in the one that writes directly."""
        return float(2 * self.compute_seconds * self.dumps)


@benchmark
class Paio(PaioBenchmark):
    """Queue limits below and above the data, each inner method."""

    descr = "PAIO, reserved I/O processes"
    call = axis(calls.SERVED)
    queue = axis(QUEUES)
    quick = {"call": calls.SERVED[0], "queue": "above"}


@benchmark
class PaioSend(PaioBenchmark):
    """What a copy at the senders costs (590 against 735 MB/s in the document)."""

    descr = "PAIO, copy and zero-copy"
    fsync = False  # the senders' bandwidth has no flush either
    send = axis(["copy", "zero-copy"])


@benchmark
class PaioServers(PaioBenchmark):
    """More I/O processes (1.7 and 2.3 times the speed of one in the document)."""

    descr = "PAIO, number of I/O processes"
    fsync = False  # the senders' bandwidth has no flush either
    call = axis(["ioserver:mpiio"])
    io_processes = axis([1, 2, 3], type=int)


@benchmark
class CloudModel(PaioBenchmark):
    """GSFC's cloud model: all its arrays to one file, directly and through servers (1,913 s on 256
    processors, 46 % of the run: `-S CloudModel.compute_seconds=T`)."""

    descr = "the GSFC cloud model"
    fsync = False
    scale = axis(["smoke", "paper-gsfc"])
    call = axis(["master", "posix-shared", "mpiio:collective", "ioserver:posix", "ioserver:mpiio"])

    def servers(self) -> int:
        return super().servers() if self.the_call.servers else 0
