# SPDX-License-Identifier: BSD-3-Clause
"""Edison at NERSC: Cray XC30, Slurm, Lustre (the S3D-IO document's published run).

4096 processes on 96 stripes of 1 MiB: `reframe -t paper -n S3d`. That document does not name the
machine; that it was this one is unverified.

- 24 cores and 64 GB a node, 5576 compute nodes, Slurm: www.nersc.gov, Edison (retired), "Running
  jobs: overview".
- /scratch1, Lustre, 36 GB/s: www.nersc.gov, Edison, "File storage and I/O" of 2013. The machine had
  664 nodes then; the same page for the whole machine was not found.
- IOGAUGE_CGNS: the prefix of a parallel CGNS, which is no module there.
- Unverified: what a job may have of the 64 GB (3 GB are left to the system here), the names of
  modules and of the login nodes. A user's folder: as in the document's command.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from site_configs.support import common

batch = common.partition(
    "slurm.j2",
    "srun",
    stack="cray",
    cores=24,
    file_systems={
        "scratch1": common.file_system(
            common.setting("SCRATCH", f"/scratch1/scratchdirs/{common.user_name()}"),
            kind="lustre",
            striping={"kind": "lustre", "count": 96, "size": "1M"},
            hints={"romio_cb_write": "enable"},
            published_peak={"value": 36000, "source": "NERSC, 2013: peak of scratch1"},
        ),
    },
    access=[f"--partition={common.setting('QUEUE', 'regular')}"],
    features=["striping"],
    nodes=5576,
    memory=62464,
)

site_configuration = common.site(
    [common.system("edison", [r"edison\d+"], [batch], "Cray XC30, NERSC")],
    [
        common.stack(
            "cray",
            "cc",
            "libmpich.so.12",
            ["romio", "hdf5", "pnetcdf", "cgns", "peak"],
            modules=["cray-hdf5-parallel", "cray-parallel-netcdf"],
            env_vars=[["CRAYPE_LINK_TYPE", "dynamic"]],  # so that ldd can show the MPI
        )
    ],
)
