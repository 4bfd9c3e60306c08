# SPDX-License-Identifier: BSD-3-Clause
"""FAUST at Utah State: 64 Athlon XP, Fast Ethernet, PVFS2 and NFS (parallel CGNS, 2005).

Shape (2005 document): 64 nodes of one processor and 256 MB, diskless but for scratch; every compute
node is a server and a client of PVFS2; NFS comes from the master.

Batch system: a PBS. The document does not say which; of the free ones of 2005, OpenPBS and Torque,
both ask for `nodes=N:ppn=M`. That is what `torque.j2` writes; the `select=` of `pbs.j2` came with
PBS Professional. Unverified: the paths, and the size of a stripe (64 KiB is PVFS2's default). No
peak was published.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from site_configs.support import common

batch = common.partition(
    "torque.j2",
    "mpiexec",
    stack="mpich",
    cores=1,
    file_systems={
        "pvfs2": common.file_system(
            common.setting("PVFS2", "/pvfs2"),
            kind="pvfs2",
            # ROMIO then talks to the servers directly, not through the kernel's mount.
            prefix="pvfs2:",
            striping={"kind": "pvfs2", "count": 64, "size": "64k"},
            note="every compute node is a server too; ROMIO turns data sieving for writes off",
            # 2.8 GB by 16 processes in 36 s (the 2005 paper's figures).
            expected_bandwidth=78,
        ),
        "nfs": common.file_system(
            common.setting("NFS", "/home"),
            kind="nfs",
            # ROMIO's driver that locks around each access: with the plain one (`ufs:`) two
            # clients' caches would overwrite each other's parts of a page.
            prefix="nfs:",
            hints={"romio_ds_write": "disable"},
            note="one server, the master; it must be mounted with noac for shared files",
            # 8 zones of 150^3 in 218 s (the 2005 paper's figures).
            expected_bandwidth=1.5,
        ),
    },
    features=["striping"],
    nodes=64,
    # A node has one processor, so a job has it alone; OpenPBS refuses Torque's `naccesspolicy`.
    exclusive=False,
    memory=256,
)

site_configuration = common.site(
    [common.system("faust", [r"faust\d*"], [batch], "Athlon cluster, Utah State")],
    [common.stack("mpich", "mpicc", "libmpich.so.12", ["romio", "hdf5", "cgns", "peak"])],
)
