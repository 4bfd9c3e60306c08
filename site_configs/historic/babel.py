# SPDX-License-Identifier: BSD-3-Clause
"""Babel at IDRIS: IBM Blue Gene/P, LoadLeveler, GPFS (the 2011 RAMSES and IOR measurements).

Shape (IDRIS 2011 document): 10 racks of 1024 nodes, 4 cores and 2 GB each; one I/O node for 64
compute nodes, 400 MB/s measured: blocks are multiples of 64 nodes. GPFS: 8 GB/s for each of WORKDIR
and TMPDIR, block size 2 MB, smallest write 64 kB. Unverified: the paths and the login nodes' names.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from site_configs.support import common

PEAK = {"value": 8000, "source": "IDRIS 2011 document: 8 GB/s for each of WORKDIR and TMPDIR"}

# The document's choice for its runs: nothing for writing, where Blue Gene's ROMIO buffers
# collectively by default (16 MiB); for reading no data sieving, and no buffering of hydro files.
# They are of RAMSES (p. 51); IOR's are not printed.
AMR = {"patterns": ["ramses-amr"], "hints": {"romio_ds_read": "disable"}}
HYDRO = {
    "patterns": ["ramses-hydro"],
    "hints": {"romio_ds_read": "disable", "romio_cb_read": "disable"},
}


def gpfs(path: str) -> dict[str, object]:
    return common.file_system(
        path,
        kind="gpfs",
        striping={"kind": "gpfs"},
        hints_where=[AMR, HYDRO],
        published_peak=PEAK,
        # The document's RAMSES runs at their best: 810 MiB/s.
        expected_bandwidth=800,
    )


compute = common.partition(
    "loadleveler.j2",
    "mpirun-bgp",
    stack="xl",
    cores=4,
    file_systems={
        "workdir": gpfs(common.setting("WORKDIR", "/workdir")),
        "tmpdir": gpfs(common.setting("TMPDIR", "/tmpdir")),
    },
    name="compute",
    job_type="bluegene",
    nodes=10240,
    memory=2048,
    per_node=[1, 2, 4],  # modes SMP, DUAL, VN
    blocks=[64, 128, 256, 512, 1024, 2048, 4096, 8192, 10240],
)

site_configuration = common.site(
    [common.system("babel", [r"babel\d*"], [compute], "Blue Gene/P, IDRIS")],
    [
        # Programs are linked statically, with the cross compiler: nothing can be preloaded. With
        # darshan="linked" they are traced, if Darshan is linked into them (docs/darshan.md).
        common.stack("xl", "mpixlc_r", "", ["romio", "hdf5", "pnetcdf", "peak"], cross=True),
    ],
)
