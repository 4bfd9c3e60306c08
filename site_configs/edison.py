"""Edison at NERSC: Cray XC30, Slurm, Lustre (the S3D-IO document's published run).

4096 processes on 96 stripes of 1 MiB: `reframe -t paper -n S3d`. Shape: 24 cores and 64 GB a node,
5586 nodes. Peak: 36 GB/s for scratch1 (2013).
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from site_configs import common

batch = {
    "name": "batch",
    "scheduler": "slurm.j2",
    "launcher": "srun",
    "environs": ["cray"],
    "access": [f"--partition={common.setting('QUEUE', 'regular')}"],
    "features": ["striping"],
    "processor": {"num_cpus": 24},
    "extras": {
        "nodes": 5586,
        "memory": 62464,
        "filesystems": {
            "scratch1": common.file_system(
                common.setting("SCRATCH", "/scratch1"),
                kind="lustre",
                striping={"kind": "lustre", "count": 96, "size": "1M"},
                hints={"romio_cb_write": "enable"},
                published_peak={"value": 36000, "source": "NERSC, Edison scratch1, 2013"},
            ),
        },
    },
}

site_configuration = common.site(
    [common.system("edison", [r"edison\d+"], [batch], "Cray XC30, NERSC")],
    [
        common.stack(
            "cray",
            "cc",
            "libmpich.so.12",
            ["romio", "hdf5", "pnetcdf", "peak"],
            modules=["cray-hdf5-parallel", "cray-parallel-netcdf"],
            env_vars=[["CRAYPE_LINK_TYPE", "dynamic"]],  # so that ldd can show the MPI
        )
    ],
)
