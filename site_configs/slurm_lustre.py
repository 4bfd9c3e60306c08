# SPDX-License-Identifier: BSD-3-Clause
"""Any cluster with Slurm and Lustre. Copy this file, or set these environment variables:

IOGAUGE_SCRATCH (a folder on Lustre), IOGAUGE_CORES and IOGAUGE_MEMORY (MiB) of a node,
IOGAUGE_NODES, IOGAUGE_MAX_TIME (seconds), IOGAUGE_QUEUE, IOGAUGE_ACCOUNT, IOGAUGE_MODULES,
IOGAUGE_STRIPES.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from site_configs.support import common

ACCESS = {"--partition": common.setting("QUEUE", ""), "--account": common.setting("ACCOUNT", "")}

batch = common.partition(
    "slurm.j2",
    "srun",
    stack="default",
    cores=common.number("CORES", 32),
    file_systems={
        "scratch": common.file_system(
            common.setting("SCRATCH", "/scratch"),
            kind="lustre",
            # -1: over all targets. ROMIO's own default is one writer per target.
            striping={"kind": "lustre", "count": common.setting("STRIPES", "-1"), "size": "1M"},
            hints={"romio_cb_write": "enable"},
        ),
    },
    access=[f"{option}={value}" for option, value in ACCESS.items() if value],
    features=["striping"],
    nodes=common.number("NODES", 16),
    max_time=common.number("MAX_TIME", 0),
    memory=common.number("MEMORY", 65536),
)

site_configuration = common.site(
    [common.system("slurm_lustre", [r"slurm-lustre\d*"], [batch], "Slurm and Lustre")],
    [
        common.stack(
            "default",
            "mpicc",
            "libmpi.so.40",
            ["hdf5", "pnetcdf", "peak"],
            modules=common.setting("MODULES", "").split(),
        )
    ],
)
