# SPDX-License-Identifier: BSD-3-Clause
"""Thunderhead at NASA Goddard: a cluster with PVFS-1 (the cache cliff of PAIO's poster).

From the document: one storage node with 2 GB of memory, compute nodes with 1 GB; one compute node
writes at 72 MB/s, and at 55 past ~1.35 GB. Left out, because it says nothing of them: nodes, their
processors, peaks. What a script cannot do without is a guess or the user's: IOGAUGE_SCHEDULER and
IOGAUGE_LAUNCHER (a PBS and mpiexec here), IOGAUGE_PVFS. Unverified: the names of login nodes.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from site_configs.support import common

batch = common.partition(
    common.setting("SCHEDULER", "torque.j2"),
    common.setting("LAUNCHER", "mpiexec"),
    stack="mpi",
    cores=1,  # the experiment has one process
    file_systems={
        "pvfs": common.file_system(
            common.setting("PVFS", "/pvfs"),
            kind="pvfs",
            note="PVFS-1 with one storage node, which has 2 GB of memory",
            expected_bandwidth=55,
        ),
    },
    memory=1024,
)

site_configuration = common.site(
    [common.system("thunderhead", [r"thunderhead\d*"], [batch], "cluster, NASA Goddard")],
    [common.stack("mpi", "mpicc", "libmpi.so", ["romio", "peak"])],
)
