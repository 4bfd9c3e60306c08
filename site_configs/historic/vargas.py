# SPDX-License-Identifier: BSD-3-Clause
"""Vargas at IDRIS: IBM Power6, LoadLeveler, GPFS (the 2011 RAMSES and IOR measurements).

Shape (IDRIS 2011 document): 112 nodes, 3584 cores, 18 TB; two InfiniBand links of 16 Gbit/s a node.
GPFS: 8 GB/s for each of WORKDIR and TMPDIR, block size 2 MB. Unverified: the paths, the
login nodes' names, that all nodes have the same memory, and the networks' name, `sn_all`. Assumed:
compilers, HDF5 and PnetCDF need no module; no public page with their names was found.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from site_configs.support import common

PEAK = {"value": 8000, "source": "IDRIS 2011 document: 8 GB/s for each of WORKDIR and TMPDIR"}

# IBM's MPI-IO, not ROMIO, with other names. The document's choice (p. 51), one for each direction,
# and nothing for HDF5, which crashed. They are of RAMSES; IOR's are not printed.
HINTS = {
    "patterns": ["ramses-amr", "ramses-hydro"],
    "without": ["hdf5"],
    "hints": {"write:IBM_largeblock_io": "true", "read:IBM_sparse_access": "true"},
}


def gpfs(path: str) -> dict[str, object]:
    return common.file_system(
        path, kind="gpfs", striping={"kind": "gpfs"}, hints_where=[HINTS], published_peak=PEAK
    )


compute = common.partition(
    "loadleveler.j2",
    "poe",
    stack="xl",
    cores=32,
    file_systems={
        "workdir": gpfs(common.setting("WORKDIR", "/workdir")),
        "tmpdir": gpfs(common.setting("TMPDIR", "/tmpdir")),
    },
    name="compute",
    # Else MPI's messages go over Ethernet: "network" in IBM's "Using and Administering".
    access=["network.MPI = sn_all,not_shared,us"],
    job_type="parallel",
    nodes=112,
    memory=18 * 2**20 // 112,  # 18 TB over all nodes
)

WIDE = [["OBJECT_MODE", "64"]]  # else AIX's compilers make 32-bit programs

site_configuration = common.site(
    [common.system("vargas", [r"vargas\d*"], [compute], "Power6, IDRIS")],
    [common.stack("xl", "mpcc_r", "", ["hdf5", "pnetcdf", "peak"], cross=True, env_vars=WIDE)],
)
