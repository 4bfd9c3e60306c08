# SPDX-License-Identifier: BSD-3-Clause
"""Whether a run fits on its file system, into the memory of its nodes and into its time limit."""

from pathlib import Path

from reframe.core.builtins import run_before

from iogauge.common.mounts import IN_MEMORY, mount_of
from reframe_tests.machine import duration, filesystems, placement
from reframe_tests.machine.duration import Move
from reframe_tests.machine.placed import Placed

# What a reused buffer holds: of cold reads before they are verified, with ceilings, and else
# (kernels/driver: HELD, TRANSFER, PIECE).
HELD, CEILING, PIECE = 32 * 2**20, 8 * 2**20, 2**20
QUEUE = 64 * 2**20  # of an I/O process, unless a test says otherwise


class Fits(Placed):
    """Mixed into `IoBenchmark`: reasons to skip what does not fit, and the time limit."""

    # The pattern's own code packs what it writes: iokernel then reuses a buffer by itself.
    packs = False

    def call_bytes(self) -> int:
        """The most that a process hands over in one call; a dump unless a test says otherwise."""
        return self.share_of_a_dump()

    def buffer_must_be_whole(self) -> bool:
        """Whether others would wait while a piece is filled: iokernel then needs a whole buffer."""
        return bool(self.servers())

    def bytes_of_a_repeat(self) -> int:
        """Bytes that a repeat moves in one direction."""
        return int(self.payload_bytes())

    def slower(self, direction: str) -> float:
        """A documented factor by which it is slower than what the file system is expected to
        give."""
        return 1.0

    def more_seconds(self) -> float:
        """Seconds of a repeat besides moving bytes."""
        return 0.0

    def shortage(self) -> str | None:
        """Too little room or no permission there, if jobs run on this machine."""
        if not self.current_partition.scheduler.is_local:
            return None
        problem = filesystems.shortage(self.file_system, self.bytes_of_files())
        return f"file system {self.fs}: {problem}" if problem else None

    def bytes_of_files(self) -> int:
        """The ceilings' files exist beside the run's own for a while."""
        return int(self.payload_bytes() * (2 if self.ceilings else 1))

    def chosen_buffer(self) -> str:
        """The user's, else the scale's if possible; empty: iokernel's default."""
        return self.buffer or ("" if self.buffer_must_be_whole() else self.the_scale.buffer)

    def reuses_buffer(self) -> bool:
        by_itself = self.packs and not self.buffer_must_be_whole()
        return (self.chosen_buffer() or ("reused" if by_itself else "whole")) == "reused"

    def share_of_a_dump(self) -> int:
        return int(self.payload_bytes() // (self.dumps * self.clients))

    def held_bytes(self) -> int:
        """Bytes of data that a process holds at once."""
        whole = self.share_of_a_dump()
        least = HELD if self.drop_caches else CEILING if self.ceilings else PIECE
        return min(whole, max(self.call_bytes(), least)) if self.reuses_buffer() else whole

    def memory_shortage(self) -> str | None:
        """Checked before submission: a job that runs out of memory wastes its turn."""
        if self.unplaceable:
            return None
        shape = placement.shape_of(self.current_partition)
        return placement.memory_shortage(
            self.memory_needed(), self.where, shape, files=self.files_in_memory()
        )

    def queue_limit(self) -> int:
        """Bytes that an I/O process keeps."""
        return QUEUE if self.servers() else 0

    def memory_needed(self) -> int:
        """The mean of the fullest node: each process has its data, or a queue."""
        data, each = self.held_bytes() * self.copies(), self.where.per_node
        queues = min(each, -(-self.servers() // self.where.nodes))
        more = queues * max(0, self.queue_limit() - data)
        return int(data + -(-more // each))

    def copies(self) -> int:
        """Copies of a process's data that are in memory at once."""
        return 2 if self.the_call.is_copied(self.current_environ.features) else 1

    def memory_fits(self) -> int:
        shape = placement.shape_of(self.current_partition)
        if not shape.memory or self.num_tasks <= self.servers():
            return 0
        return placement.most_per_node(self.held_bytes() * self.copies(), shape)

    def files_in_memory(self) -> int:
        """Bytes of a process's files, if the file system is in memory."""
        kind = self.file_system.get("kind", "")
        if self.is_local():
            kind = mount_of(Path(self.file_system["path"]))["type"]
        return self.bytes_of_files() // self.num_tasks if kind in IN_MEMORY else 0

    def moves(self) -> list[Move]:
        """What a repeat moves: the run, what servers measure beside it, the ceilings."""
        data = self.bytes_of_a_repeat()
        found = [Move(data, self.slower(direction)) for direction in ("write", "read")]
        found += found if self.servers() else []
        return found + ([Move(data)] * 4 if self.ceilings else [])

    @run_before("run")
    def set_time_limit(self) -> None:
        """`-S time_limit=` counts more."""
        if self.time_limit is None:  # type: ignore[has-type]
            expected = duration.expected_bandwidth(
                self.file_system, self.the_scale.bandwidth, self.where.nodes
            )
            seconds = self.limit(self.moves(), expected, self.repeats, self.more_seconds())
            self.time_limit = f"{seconds}s"
