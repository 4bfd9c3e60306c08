# SPDX-License-Identifier: BSD-3-Clause
"""Explore at NASA Goddard: SGI Altix, PBS (the measurements of PAIO).

From the PAIO document: 2 GB of memory a processor, 3.2 GB/s between processors, 298 MB/s when one
process writes directly. Unverified: how many processors an image had (512, as each of the 20 images
of NASA Ames' Columbia; IOGAUGE_CORES says otherwise), that its batch system was PBS and took
`select`, its file system XFS, its path, and the login nodes' names. No peak of the file system was
published.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from site_configs.support import common

CORES = common.number("CORES", 512)

batch = common.partition(
    "pbs.j2",
    "mpiexec-mpt",
    stack="mpt",
    cores=CORES,
    file_systems={
        "scratch": common.file_system(
            common.setting("SCRATCH", "/scratch"),
            kind="xfs",
            # ROMIO's XFS driver would bypass the page cache when hinted; the document's numbers
            # went through it.
            prefix="ufs:",
            note="the PAIO document: 298 MB/s by one process",
            expected_bandwidth=298,
        ),
    },
    nodes=1,
    # To PBS this one image is one node: a job that has it alone asks for all of the machine. Others
    # ask for memory, else they get what their processors' boards have: 2 GB for each.
    exclusive=False,
    memory=2048 * CORES,
)

site_configuration = common.site(
    [common.system("altix", [r"explore\d*"], [batch], "SGI Altix, NASA Goddard")],
    [common.stack("mpt", "icc", "libmpi.so", ["romio", "hdf5", "pnetcdf", "peak"])],
)
