"""A container: the two stacks of Debian, on the container's own layers, a volume and memory.

IOGAUGE_VOLUME: where a volume is mounted (/data). Build and run: containers/.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from site_configs import common
from site_configs.local import CORES, mpich, openmpi, ram

# Docker's seccomp profile forbids process_vm_readv, which Open MPI's shared memory would use.
OPEN_MPI = {**openmpi()}
OPEN_MPI["env_vars"] = [
    *OPEN_MPI["env_vars"],
    ["OMPI_MCA_btl_vader_single_copy_mechanism", "none"],
]

container = {
    "name": "container",
    "scheduler": "local.j2",
    "launcher": "stack",
    "environs": ["openmpi", "mpich"],
    "max_jobs": 1,
    "time_limit": "10m",
    "processor": {"num_cpus": CORES},
    "extras": {
        "nodes": 1,
        "filesystems": {
            "layers": common.file_system(
                "/tmp/iogauge",
                create=True,
                note="the container's writable layer: each first write copies a file up",
            ),
            "volume": common.file_system(common.setting("VOLUME", "/data")),
            # At most 64 MiB, unless the container was started with --shm-size.
            "ram": ram(),
        },
    },
}

site_configuration = common.checked(
    {
        "systems": [
            {
                "name": "docker",
                "descr": "a container",
                "hostnames": [".*"],
                "max_local_jobs": 1,
                **common.folders(),
                "partitions": [container],
            }
        ],
        "environments": [OPEN_MPI, mpich()],
        "general": common.general(),
        "logging": common.logging(),
    }
)
