# SPDX-License-Identifier: BSD-3-Clause
"""Pleiades at NASA Ames: Lustre (The HDF Group's studies of CGNS on it).

From the document: that there were studies on its Lustre file system, and no number. Nodes, batch
system and file system are as in site_configs/pbs_lustre.py, with its settings. MPT's module,
without which a job has no `mpiexec_mpt`, is `mpi-sgi/mpt` in its users' job scripts of 2013 to 2018
(IOGAUGE_MODULES). Assumed: HDF5, PnetCDF and CGNS need no module; later there is `hdf5/1.8.18_mpt`.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from site_configs import pbs_lustre
from site_configs.support import common

(mpt,) = pbs_lustre.site_configuration["environments"]
loads = mpt["prepare_cmds"] or ["module load mpi-sgi/mpt"]

site_configuration = common.site(
    [common.system("pleiades", [r"pfe\d+"], [pbs_lustre.batch], "NASA Ames")],
    [{**mpt, "prepare_cmds": loads}],
)
