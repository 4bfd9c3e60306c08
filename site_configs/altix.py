"""Explore at NASA Goddard: SGI Altix, PBS (the measurements of PAIO).

From the PAIO document: 2 GB of memory a processor, 3.2 GB/s between processors, 298 MB/s when one
process writes directly. It does not say how many processors an image had: 512, as built for NASA,
is taken; IOGAUGE_CORES says otherwise.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from site_configs import common

CORES = common.number("CORES", 512)

batch = {
    "name": "batch",
    "scheduler": "pbs.j2",
    "launcher": "mpiexec-mpt",
    "environs": ["mpt"],
    "processor": {"num_cpus": CORES},
    "extras": {
        "nodes": 1,
        "memory": 2048 * CORES,
        "filesystems": {
            "scratch": common.file_system(
                common.setting("SCRATCH", "/scratch"),
                kind="xfs",
                # ROMIO's XFS driver would go past the page cache when hinted; the document's
                # numbers are through it.
                prefix="ufs:",
                published_peak={"value": 298, "source": "PAIO document: one process, direct"},
            ),
        },
    },
}

site_configuration = common.site(
    [common.system("altix", [r"explore\d*"], [batch], "SGI Altix, NASA Goddard")],
    [common.stack("mpt", "icc", "libmpi.so", ["romio", "hdf5", "pnetcdf", "peak"])],
)
