# SPDX-License-Identifier: BSD-3-Clause
"""The cache cliff (PAIO's test of PVFS-1): throughput of small arrays against the total data
written, in sizes that double until they exceed the memory that buffers them. There 72 MB/s fell to
55 past 67.5 % of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from reframe.core.builtins import run_after, run_before, sanity_function
from reframe.core.exceptions import SanityError

from iogauge.analysis.checks.result_file import Wrong, load
from iogauge.analysis.checks.verdict import check, exit_status
from iogauge.common.mounts import IN_MEMORY, mount_of
from reframe_tests.benchmarks.ior import GIB, MIB
from reframe_tests.framework.base import SEED, IoBenchmark
from reframe_tests.framework.changes import Drop, find_drop
from reframe_tests.framework.variants import axis, benchmark
from reframe_tests.machine import memory_group, placement, scales
from reframe_tests.machine.memory import memory

PAGE = 4096


@dataclass(frozen=True)
class Scale(scales.Scale):
    """`memory`: bytes that buffer; 0: the node's own. `group`: the run is put in a control group
    with so many. `smallest`: the smallest size as a fraction of it, in pieces of which all others
    are written. `cuts`: of equal width from half of it to all, if doubling is too coarse to locate
    the cliff. `arrays`: how many make up each size; 0: arrays of the smallest size."""

    memory: int
    group: bool = False
    smallest: float = 1 / 16
    doublings: int = 6
    cuts: int = 0
    arrays: int = 0

    @property
    def sizes(self) -> list[int]:
        half = round(1 / self.smallest / 2)
        cuts = {half + half * cut // self.cuts for cut in range(self.cuts)}
        return sorted({2**k for k in range(self.doublings + 1)} | cuts)


SCALES = {
    "smoke": Scale(32 * MIB, doublings=2),
    "laptop": Scale(384 * MIB, group=True),
    "node": Scale(0),
    # PAIO's PVFS-1: the memory is the storage node's 2 GB. A cliff at 67.5 % of it is between the
    # steps of 62.5 % and 68.75 %.
    # It wrote 20 arrays, whatever the size.
    "paper": Scale(2 * GIB, smallest=1 / 32, cuts=8, arrays=20, bandwidth=50),
}


@benchmark
class CacheCliff(IoBenchmark):
    """One process writes a file per array, without flushing, and checks them all."""

    descr = "cache cliff"
    pattern = "ior"
    call = axis(["posix"])
    scales = SCALES
    scale = axis(SCALES)
    num_tasks = 1
    fsync = False
    ceilings = False
    drop_caches = False
    features = "+peak"
    keep_files = [*IoBenchmark.keep_files, "result-*.json"]

    @run_after("init")
    def set_tags(self) -> None:
        self.tags |= {"cliff", self.method, self.scale, self.fs}

    @property
    def memory(self) -> int:
        """Bytes that can buffer."""
        has = placement.shape_of(self.current_partition).memory or memory()
        return SCALES[self.scale].memory or has * MIB

    @property
    def piece(self) -> int:
        return max(MIB, int(self.memory * SCALES[self.scale].smallest) // MIB * MIB)

    def sizes(self) -> list[int]:
        return SCALES[self.scale].sizes

    def arrays(self, size: int) -> tuple[int, int]:
        """How many make up a size, and the bytes of each: whole pages."""
        fixed = SCALES[self.scale].arrays
        return (fixed, size * self.piece // fixed // PAGE * PAGE) if fixed else (size, self.piece)

    def bytes_of(self, size: int) -> int:
        return prod(self.arrays(size))

    def pattern_options(self) -> list[str]:
        return self.options_of(self.sizes()[-1])

    def options_of(self, size: int) -> list[str]:
        """One call writes a whole array, or a MiB of a piece: the same at every size."""
        _, array = self.arrays(size)
        return [f"-b {array}", f"-t {array if SCALES[self.scale].arrays else MIB}", "-C"]

    def payload_bytes(self) -> int:
        """The payload of the largest run."""
        return self.bytes_of(self.sizes()[-1])

    def bytes_of_a_repeat(self) -> int:
        return sum(map(self.bytes_of, self.sizes()))

    def memory_shortage(self) -> str | None:
        return None  # what a process holds is one array

    def shortage(self) -> str | None:
        path = Path(self.file_system["path"])
        kind = mount_of(path)["type"]
        if kind in IN_MEMORY:
            return f"file system {self.fs}: its files are memory ({kind}), and no page cache falls"
        if SCALES[self.scale].group:
            if not self.is_local():
                return "a job's processes cannot be put into a control group; use --scale node"
            groups = memory_group.find_groups()
            if isinstance(groups, str):
                return groups
        return super().shortage()

    def document(self, size: int) -> str:
        """The analysis shows the largest run's."""
        return "result.json" if size == self.sizes()[-1] else f"result-{size}.json"

    def programs(self) -> list[dict[str, Any]]:
        fixed = self.executable_opts[1:3]
        return [
            {
                "path": self.executable,
                "options": [
                    " ".join([self.pattern, *self.options_of(n)]),
                    *fixed,
                    f"--steps {self.arrays(n)[0]} --repeat {self.repeats} {SEED}",
                    f"--json {self.document(n)}",
                ],
            }
            for n in self.sizes()
        ]

    def script_values(self) -> dict[str, Any]:
        values = super().script_values()
        groups = memory_group.find_groups()
        if SCALES[self.scale].group and isinstance(groups, memory_group.Groups):
            values["before"] += memory_group.enter(groups, self.memory)
        return values

    @run_before("sanity")
    def record_striping(self) -> None:
        """The job's many documents have no place for it."""

    @sanity_function
    def all_bytes_are_right(self) -> bool:
        stage = Path(self.stagedir)
        try:
            for n in self.sizes():
                expected = self.expected()
                steps = self.arrays(n)[0]
                right = {**vars(expected), "payload_bytes": self.bytes_of(n), "steps": steps}
                check(load(stage / self.document(n)), type(expected)(**right))
        except Wrong as wrong:
            raise SanityError(str(wrong)) from None
        if exit_status(stage) != "0":
            raise SanityError(f"the job ended with exit status {exit_status(stage)}")
        return True

    def speeds(self) -> list[float]:
        """MiB/s of writing, by size."""
        documents = (load(Path(self.stagedir) / self.document(n)) for n in self.sizes())
        return [document["summary"]["write_bw"] for document in documents]

    @run_before("performance")
    def set_performance_variables(self) -> None:
        """Each size's throughput; where it drops, and the fraction of memory (0..) at that size. A
        series without a drop has no such variable."""
        if self.is_dry_run():
            return
        speeds = self.speeds()
        bytes_of = list(map(self.bytes_of, self.sizes()))
        found = {
            f"write_bw_{size // MIB}_MiB": (speed, "MiB/s")
            for size, speed in zip(bytes_of, speeds, strict=True)
        }
        drop = find_drop(bytes_of, speeds)
        self.give(found | (self.drop_figures(drop) if drop else {}))

    def drop_figures(self, drop: Drop) -> dict[str, tuple[float, str]]:
        return {
            "cliff_last": (drop.last / MIB, "MiB"),
            "cliff_first": (drop.first / MIB, "MiB"),
            "cliff_last_of_memory": (drop.last / self.memory, "1"),
            "cliff_first_of_memory": (drop.first / self.memory, "1"),
            "cliff_before": (drop.before, "MiB/s"),
            "cliff_after": (drop.after, "MiB/s"),
        }


@benchmark
class CliffSizes(CacheCliff):
    """The same sizes, each in its own job: so a store has them all (claim C16)."""

    descr = "cache cliff, one size"
    data = axis(sorted({size for scale in SCALES.values() for size in scale.sizes}), type=int)

    @classmethod
    def makes_sense(cls, given: Mapping[str, Any]) -> bool:
        return given["data"] in SCALES[given["scale"]].sizes

    def sizes(self) -> list[int]:
        return [self.data]
