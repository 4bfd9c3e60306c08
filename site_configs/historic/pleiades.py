# SPDX-License-Identifier: BSD-3-Clause
"""Pleiades at NASA Ames: Lustre (The HDF Group's studies of CGNS on it).

From the document: that there were studies on its Lustre file system, and no number. Left out,
because it says nothing of them: nodes, memory, stripes, peaks. What a script cannot do without is
a guess or the user's: IOGAUGE_SCHEDULER and IOGAUGE_LAUNCHER (PBS and mpiexec here), IOGAUGE_CORES
of a node (1: each process then has a node of its own), IOGAUGE_SCRATCH. Unverified: the names of
login nodes.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from site_configs.support import common

batch = common.batch(
    "pbs.j2",
    {
        "lustre": common.file_system(
            common.setting("SCRATCH", "/scratch"),
            kind="lustre",
            note="the document names the file system, and no number of it",
        ),
    },
)

site_configuration = common.site(
    [common.system("pleiades", [r"pfe\d+"], [batch], "NASA Ames")],
    [common.stack("mpi", "mpicc", "libmpi.so", ["romio", "hdf5", "pnetcdf", "cgns", "peak"])],
)
