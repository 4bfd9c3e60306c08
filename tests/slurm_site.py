# SPDX-License-Identifier: BSD-3-Clause
"""The two-node Slurm of tests/slurm_cluster.py with the two local stacks: a site file for tests.

System `slurm` asks sacct and launches by srun; `squeue` asks squeue and launches by each stack's
own mpiexec. Two systems, since an environ belongs to a whole system.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from iogauge.measure.kernels import STRICT
from reframe_tests.jobs.schedulers import templated
from site_configs import local
from site_configs.support import common, debian

templated.NEVER = 1.0
templated.AGAIN = 1.0
CORES = 4

# Both nodes are this machine, under one name: Open MPI's shared-memory segments of two nodes would
# be the same file. So its processes talk by TCP, on the loopback address.
OPEN_MPI = [
    ["OMPI_MCA_pml", "ob1"],
    ["OMPI_MCA_btl", "tcp,self"],
    ["OMPI_MCA_btl_tcp_if_include", "lo"],
    ["OMPI_MCA_oob_tcp_if_include", "lo"],
]
SRUN = {"openmpi": "--mpi=pmix", "mpich": "--mpi=pmi2"}


def stack(environ: dict[str, Any], system: str) -> dict[str, Any]:
    """A local stack, as it starts on a system, with the kernels that `make test-kernels` builds."""
    cmake = environ["extras"]["cmake"]
    extras = {**environ["extras"], "cmake": {**cmake, "mpi": [*cmake["mpi"], STRICT]}}
    if system == "slurm":
        extras["launcher"] = {"options": [SRUN[environ["name"]]]}
    env_vars = OPEN_MPI if environ["name"] == "openmpi" else []
    return {**environ, "extras": extras, "env_vars": env_vars, "target_systems": [system]}


def system(name: str, scheduler: str, launcher: str) -> dict[str, Any]:
    partition = {
        "name": "batch",
        "scheduler": scheduler,
        "launcher": launcher,
        "environs": ["openmpi", "mpich"],
        "max_jobs": 1,
        "time_limit": "20m",
        "processor": {"num_cpus": CORES},
        # Tests of this cluster run side by side.
        "extras": {"nodes": 2, "exclusive": False, "filesystems": {"disk": local.disk()}},
    }
    return {"name": name, "hostnames": [".*"], **common.folders(), "partitions": [partition]}


site_configuration = {
    "systems": [system("slurm", "slurm.j2", "srun"), system("squeue", "squeue.j2", "stack")],
    "environments": [
        stack(environ, name)
        for environ in (debian.openmpi(), debian.mpich())
        for name in ("slurm", "squeue")
    ],
    "general": common.general(poll_rate_max=5, poll_rate_min=1),
    "logging": common.logging(),
}
