# SPDX-License-Identifier: BSD-3-Clause
"""PBS, Torque, Cobalt and LoadLeveler of tests/batch_standin.py with a local stack."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from reframe_tests.jobs.schedulers import templated
from site_configs import local
from site_configs.support import common, debian

templated.AGAIN = 1.0
if os.environ.get("STANDIN_SAYS") in ("never", "held"):
    templated.NEVER = templated.HELD = 2.0

SYSTEMS = ("pbs", "torque", "cobalt", "loadleveler")


def system(name: str) -> dict[str, Any]:
    partition = {
        "name": "batch",
        "scheduler": f"{name}.j2",
        "launcher": "stack",
        "environs": ["mpich"],
        "max_jobs": 1,
        "time_limit": "2m",
        "processor": {"num_cpus": 2},
        "extras": {"nodes": 2, "job_type": "parallel", "filesystems": {"disk": local.disk()}},
    }
    return {"name": name, "hostnames": [".*"], **common.folders(), "partitions": [partition]}


MPICH = debian.mpich()
# These systems' nodes are not really there.
MPICH["extras"]["launcher"]["options"] = ["-launcher", "fork"]

site_configuration = {
    "systems": [system(name) for name in SYSTEMS],
    "environments": [MPICH],
    "general": common.general(poll_rate_max=5, poll_rate_min=2),
    "logging": common.logging(),
}
