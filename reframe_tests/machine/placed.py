# SPDX-License-Identifier: BSD-3-Clause
"""What a job of the kernels asks of its batch system: processes, nodes, block, memory, time."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import reframe as rfm

from reframe_tests.machine import duration, placement
from reframe_tests.machine.duration import Move

OF_LIBRARIES = 256  # MiB of a process that are not its data: MPI's and the recorder's buffers


class Placed(rfm.RegressionTestPlugin):
    # Why it cannot be placed; set by `place`, as is `where`.
    unplaceable = ""
    where: placement.Placement

    def memory_fits(self) -> int:
        """How many processes a node has memory for; 0 if unknown, or none."""
        return 0

    def memory_needed(self) -> int:
        """Bytes that a process holds; 0 if it is little."""
        return 0

    def files_in_memory(self) -> int:
        return 0

    def memory_to_ask_for(self, *, alone: bool) -> int:
        """MiB of a node: all for a job alone, else what its processes need."""
        has = int(self.current_partition.extras.get("memory", 0))
        held = self.memory_needed() + self.files_in_memory()
        needed = self.where.per_node * (held // 2**20 + OF_LIBRARIES)
        return has if alone else min(needed, has or needed)

    def is_local(self) -> bool:
        return bool(self.current_partition.scheduler.is_local)

    def place(self, wanted: int, per_node: int, nodes: int) -> None:
        """`wanted` processes, `per_node` on each, on `nodes`; 0: open."""
        shape = placement.shape_of(self.current_partition)
        if self.is_local() and not nodes:
            per_node = per_node or wanted  # cores can be shared there: the stack sets the limit
        self.num_tasks = wanted or nodes * shape.cores
        try:
            self.where = placement.place(wanted, per_node, nodes, shape)
            self.num_tasks = self.where.processes
            fits = 0 if self.is_local() or per_node or nodes else self.memory_fits()
            if 0 < fits < self.where.per_node:  # on more nodes, if there are any
                with suppress(placement.CannotPlace):
                    self.where = placement.place(wanted, fits, 0, shape)
        except placement.CannotPlace as problem:
            self.unplaceable = str(problem)
            return
        if not self.is_local():
            self.num_tasks_per_node = self.where.per_node

    def limit(
        self, moves: Sequence[Move] = (), bandwidth: float = 1.0, repeats: int = 1, more: float = 0
    ) -> int:
        """Seconds; without arguments of a job that takes no time once it runs."""
        test: Any = self
        shape = placement.shape_of(test.current_partition)
        return duration.time_limit(moves, bandwidth, repeats, more, shape.max_time, shape.blocks)

    def pass_to_job(self, values: dict[str, Any]) -> None:
        """`values`: the template's variables."""
        extras = self.current_partition.extras
        alone = bool(self.exclusive_access and extras.get("exclusive", True))
        self.job.script_values = values
        self.job.placement = {
            "block": self.where.block,
            "job_type": extras.get("job_type", "parallel"),
            "exclusive": alone,
            "memory": self.memory_to_ask_for(alone=alone),
        }
