"""Mira and Cetus at Argonne: IBM Blue Gene/Q, Cobalt, GPFS (The HDF Group's CGNS measurements).

Shape: 16 cores and 16 GB a node, 1 to 64 processes; Mira 49152 nodes (blocks from 512), Cetus 4096
(from 128). Peaks by IOR: mira-fs0 240 GB/s, mira-fs1 90 GB/s, 384 I/O nodes.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from site_configs import common

POWERS = [128, 256, 512, 1024, 2048, 4096]


def gpfs(path: str, peak: int) -> dict[str, object]:
    return common.file_system(
        path,
        kind="gpfs",
        striping={"kind": "gpfs"},
        # As The HDF Group ran: Blue Gene's ROMIO buffers collectively by itself (16 MiB).
        hints={"romio_cb_write": "enable", "romio_cb_read": "enable"},
        published_peak={"value": peak, "source": "Argonne's user guide, measured by IOR"},
    )


def partition(name: str, nodes: int, blocks: list[int]) -> dict[str, object]:
    return {
        "name": name,
        "scheduler": "cobalt.j2",
        "launcher": "runjob",
        "environs": ["xl"],
        "access": [f"-A {common.setting('ACCOUNT', 'project')}"],
        "processor": {"num_cpus": 16},
        "extras": {
            "nodes": nodes,
            "memory": 16384,
            "per_node": [1, 2, 4, 8, 16, 32, 64],  # modes c1 to c64
            "blocks": blocks,
            "filesystems": {
                "fs0": gpfs(common.setting("FS0", "/gpfs/mira-fs0"), 240000),
                "fs1": gpfs(common.setting("FS1", "/gpfs/mira-fs1"), 90000),
            },
        },
    }


MIRA = [*POWERS[2:], 8192, 12288, 16384, 24576, 32768, 49152]

site_configuration = common.site(
    [
        common.system(
            "mira_cetus",
            [r"miralac\d+", r"cetuslac\d+"],
            [partition("mira", 49152, MIRA), partition("cetus", 4096, POWERS)],
            "Blue Gene/Q, Argonne",
        )
    ],
    [
        common.stack(
            "xl",
            "mpixlc_r",
            "",
            ["romio", "hdf5", "pnetcdf", "peak"],
            # Cobalt has booted the block; runjob must be told which.
            launcher=["--block $COBALT_PARTNAME"],
            cross=True,
        )
    ],
)
