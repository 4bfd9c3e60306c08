# SPDX-License-Identifier: BSD-3-Clause
"""A container: the two stacks of Debian, on the container's own layers, a volume and memory.

IOGAUGE_VOLUME: where a volume is mounted (/data). Build and run: docs/containers.md.
"""

import os
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from iogauge.common.paths import LOCAL
from site_configs.local import ram
from site_configs.support import common
from site_configs.support.debian import mpich, need, openmpi


def built_before(environ: dict[str, Any]) -> dict[str, Any]:
    """The stack with the kernels that were built with the image, which has no compilers; the stack
    itself if there are none."""
    program = LOCAL / "kernels" / environ["name"] / "bin" / "iokernel"
    if not program.exists():
        return environ
    extras = environ["extras"]
    needs = {"mpi": [need(extras["launcher"]["command"], "containers/Dockerfile")]}
    return {**environ, "extras": {**extras, "iokernel": str(program), "needs": needs}}


# Docker's seccomp profile forbids process_vm_readv, which Open MPI's shared memory would use.
OPEN_MPI = built_before(openmpi())
OPEN_MPI["env_vars"] = [*OPEN_MPI["env_vars"], ["OMPI_MCA_btl_vader_single_copy_mechanism", "none"]]

FILE_SYSTEMS = {
    "layers": common.file_system(
        "/tmp/iogauge",
        create=True,
        note="the container's writable layer: each first write copies a file up",
    ),
    "volume": common.file_system(common.setting("VOLUME", "/data")),
    # At most 64 MiB, unless the container was started with --shm-size.
    "ram": ram(),
}
# Apptainer's (and Singularity's) layers are read-only, and its /tmp is the machine's.
if os.environ.get("APPTAINER_CONTAINER") or os.environ.get("SINGULARITY_CONTAINER"):
    del FILE_SYSTEMS["layers"]

site_configuration = common.this_machine(
    "docker", "a container", [OPEN_MPI, built_before(mpich())], FILE_SYSTEMS, "container"
)
