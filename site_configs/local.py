# SPDX-License-Identifier: BSD-3-Clause
"""This machine: one node, no batch system, MPI stacks of Debian side by side.

    reframe -C site_configs/local.py -c reframe_tests -R -l

Paths: IOGAUGE_RAM (a file system in memory, /dev/shm) and IOGAUGE_DISK (output/scratch).
Stacks: IOGAUGE_STACKS ("openmpi mpich"; site_configs/support/chosen.py).
"""

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from iogauge.common.mounts import IN_MEMORY, mount_of
from site_configs.support import chosen, common


def disk() -> dict[str, Any]:
    path = Path(common.setting("DISK", str(common.OUTPUT / "scratch")))
    kind = mount_of(path)["type"]
    in_memory = kind in IN_MEMORY
    note = f"this 'disk' is {kind}, so memory: set IOGAUGE_DISK to a folder on a disk"
    return common.file_system(path, note=note if in_memory else "", create=True)


def ram() -> dict[str, Any]:
    path = Path(common.setting("RAM", "/dev/shm"))
    kind = mount_of(path)["type"]
    note = "" if kind in IN_MEMORY else f"this 'ram' is {kind}, not memory"
    return common.file_system(path, note=note)


ENVIRONS = chosen.stacks()

site_configuration = common.this_machine(
    "local", "this machine", ENVIRONS, {"ram": ram(), "disk": disk()}
)
