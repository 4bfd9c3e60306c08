# SPDX-License-Identifier: BSD-3-Clause
"""Is there room for a run: on its file system, and in the memory of its nodes?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import reframe as rfm

from iogauge.mounts import IN_MEMORY, mount_of
from reframe_tests.machine import filesystems, placement


class Roomy(rfm.RegressionTestPlugin):
    """What `IoBenchmark` gets: reasons to skip what does not fit."""

    if TYPE_CHECKING:  # what IoBenchmark has
        fs: str
        ceilings: bool
        unplaceable: str
        where: placement.Placement

        @property
        def dumps(self) -> int: ...

        @property
        def file_system(self) -> dict[str, Any]: ...

        def payload_bytes(self) -> int: ...

    def shortage(self) -> str | None:
        """Of room or rights on the file system; known only where jobs run on this machine."""
        if not self.current_partition.scheduler.is_local:
            return None
        problem = filesystems.shortage(self.file_system, self.bytes_of_files())
        return f"file system {self.fs}: {problem}" if problem else None

    def bytes_of_files(self) -> int:
        """The ceilings' files lie beside the run's own for a while."""
        return self.payload_bytes() * (2 if self.ceilings else 1)

    def memory_shortage(self) -> str | None:
        """Checked before anything is submitted: a job that runs out of memory wastes its turn."""
        if self.unplaceable:
            return None
        data = self.payload_bytes() // (self.dumps * self.num_tasks)
        shape = placement.shape_of(self.current_partition)
        files = self.bytes_of_files() // self.num_tasks if self.files_are_memory() else 0
        return placement.memory_shortage(data, self.where, shape, files=files)

    def files_are_memory(self) -> bool:
        """Of this node; known only where jobs run on this machine."""
        kind = mount_of(Path(self.file_system["path"]))["type"]
        return bool(self.current_partition.scheduler.is_local) and kind in IN_MEMORY
