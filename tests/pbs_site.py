# SPDX-License-Identifier: BSD-3-Clause
"""A PBS of two nodes that share this machine's files, with the two local stacks: a site file for
test_pbs.py. Processes on the other node are started by PBS itself (pbs_rsh.sh): no ssh."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from reframe_tests.jobs.schedulers import templated
from site_configs import local
from site_configs.support import common, debian

templated.NEVER, templated.HELD = 1.0, 5.0
templated.AGAIN = 1.0
RSH = Path(__file__).with_name("pbs_rsh.sh")
# Debian's Open MPI knows nothing of PBS, and would fill the first node; MPICH finds the nodes.
OPTIONS = {
    "openmpi": [
        *("--hostfile $PBS_NODEFILE", "--map-by node"),
        *(f"--mca plm_rsh_agent {RSH}", "--mca plm_rsh_no_tree_spawn 1"),
        # Else its daemon leaves the task that PBS started, which ends it, now and then too soon.
        "--leave-session-attached",
    ],
    "mpich": ["-launcher rsh", f"-launcher-exec {RSH}"],
}


def stack(environ: dict[str, Any]) -> dict[str, Any]:
    environ["extras"]["launcher"]["options"] += OPTIONS[environ["name"]]
    return environ


BATCH = {
    "name": "batch",
    "scheduler": "pbs.j2",
    "launcher": "stack",
    "environs": ["openmpi", "mpich"],
    "max_jobs": 1,
    "time_limit": "2m",
    "processor": {"num_cpus": 2},
    "extras": {"nodes": 2, "filesystems": {"disk": local.disk()}},
}

site_configuration = {
    "systems": [{"name": "pbs", "hostnames": [".*"], **common.folders(), "partitions": [BATCH]}],
    "environments": [stack(debian.openmpi()), stack(debian.mpich())],
    "general": common.general(poll_rate_max=5, poll_rate_min=1),
    "logging": common.logging(),
}
