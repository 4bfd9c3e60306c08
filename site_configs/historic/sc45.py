# SPDX-License-Identifier: BSD-3-Clause
"""HP AlphaServer SC45 at NASA Goddard (the cloud model of PAIO's poster, and its smaller test).

From the document: 256 CPUs wrote the cloud model's arrays, 12 MB/s; one process wrote directly at
a third of 121 MB/s; a node's memory is less than ten arrays' 2.9 GB. Left out, because it says
nothing of them: nodes, their memory and processors, file system, peaks. What a script cannot do
without is a guess or the user's: IOGAUGE_SCHEDULER and IOGAUGE_LAUNCHER (a PBS and mpiexec here),
IOGAUGE_CORES of a node (1: each process then has its own node), IOGAUGE_MEMORY (MiB; as much as is
less than 2.9 GB), IOGAUGE_SCRATCH. Unverified: that its MPI had ROMIO, the names of login nodes.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from site_configs.support import common

batch = common.partition(
    common.setting("SCHEDULER", "torque.j2"),
    common.setting("LAUNCHER", "mpiexec"),
    stack="mpi",
    cores=common.number("CORES", 1),
    file_systems={
        "disk": common.file_system(
            common.setting("SCRATCH", "/scratch"),
            kind="not stated",
            note='PAIO\'s poster: "a disk of an HP AlphaServer SC45"',
            # The cloud model's 23.7 GB in 1,913 s.
            expected_bandwidth=12,
        ),
    },
    memory=common.number("MEMORY", 2700),
)

site_configuration = common.site(
    [common.system("sc45", [r"sc45\d*"], [batch], "HP AlphaServer SC45, NASA Goddard")],
    [common.stack("mpi", "cc", "libmpi.so", ["romio", "peak"])],
)
