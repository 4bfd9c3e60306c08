# SPDX-License-Identifier: BSD-3-Clause
"""A cluster with PBS Professional and Lustre, shaped like NASA's Pleiades.

Pleiades' Ivy Bridge nodes have 20 cores and are chosen by `model=ivy`; SGI MPT; /nobackup: as job
scripts of its users have it (`#PBS -l select=176:ncpus=20:model=ivy`, `module load mpi-hpe/mpt`).
Unverified: 64 GB a node; NASA's own pages were not at hand. 256 nodes and 16 stripes are choices,
and no published peak was found.

Other machines by the environment: IOGAUGE_SCRATCH, IOGAUGE_CORES, IOGAUGE_MEMORY (MiB),
IOGAUGE_NODES, IOGAUGE_MAX_TIME (seconds), IOGAUGE_MODEL, IOGAUGE_QUEUE, IOGAUGE_MODULES,
IOGAUGE_CGNS.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from site_configs.support import common

QUEUE = common.setting("QUEUE", "")

batch = common.partition(
    "pbs.j2",
    "mpiexec-mpt",
    stack="mpt",
    cores=common.number("CORES", 20),
    file_systems={
        "nobackup": common.file_system(
            common.setting("SCRATCH", f"/nobackup/{common.user_name()}"),
            kind="lustre",
            striping={"kind": "lustre", "count": 16, "size": "1M"},
            hints={"romio_cb_write": "enable"},
        ),
    },
    # Without a dash: a resource of the chunks of `select`.
    access=[f"model={common.setting('MODEL', 'ivy')}", f"-q {QUEUE}" if QUEUE else ""],
    features=["striping"],
    nodes=common.number("NODES", 256),
    max_time=common.number("MAX_TIME", 0),
    memory=common.number("MEMORY", 61440),
)

site_configuration = common.site(
    [common.system("pbs_lustre", [r"pfe\d+"], [batch], "PBS and Lustre, like Pleiades")],
    [
        common.stack(
            "mpt",
            "mpicc",
            "libmpi.so",
            ["romio", "hdf5", "pnetcdf", "cgns", "peak"],
            modules=common.setting("MODULES", "").split(),
        )
    ],
)
