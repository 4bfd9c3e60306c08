# SPDX-License-Identifier: BSD-3-Clause
"""Mira at Argonne: IBM Blue Gene/Q, Cobalt, GPFS (The HDF Group's CGNS measurements).

Cetus (cetus.py) has the same nodes and file systems, but other login nodes and its own Cobalt.

All from pages of www.alcf.anl.gov, but where another is named:

- 16 cores and 16 GB a node, one I/O node for 128 compute nodes: "Machine overview for
  Mira/Cetus/Vesta". 49152 nodes of Mira: "High Performance Parallel I/O" (2014), chapter 4.
- Blocks: "Machine partitions".
- Peaks by IOR: "Data and networking": mira-fs0 240 GB/s, mira-fs1 90 GB/s.
- Modes c1 to c64 (processes of a node): "Cobalt job control". `qsub --mode cN` starts one program
  and no script; a job of ours has set-up and clean-up around it, so it is that page's other method,
  `--mode script`, and the mode is runjob's `--ranks-per-node N`.
- BGLOCKLESSMPIO_F_TYPE: GPFS's number. ROMIO then takes no locks there.
- Unverified: the names of login nodes.
"""

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from site_configs.support import common

ACCOUNT = common.setting("ACCOUNT", "")


def gpfs(path: str, peak: int) -> dict[str, object]:
    return common.file_system(
        path,
        kind="gpfs",
        striping={"kind": "gpfs"},
        # Blue Gene's ROMIO buffers collectively by default (16 MiB); stated here for the record.
        hints={
            "romio_cb_write": "enable",
            "romio_cb_read": "enable",
            "BGLOCKLESSMPIO_F_TYPE": "0x47504653",
        },
        published_peak={"value": peak, "source": "Argonne, Data and networking: by IOR"},
    )


def site(name: str, nodes: int, blocks: list[int]) -> dict[str, Any]:
    """One machine's site: jobs for the other cannot be submitted there."""
    batch = common.partition(
        "cobalt.j2",
        "runjob",
        stack="xl",
        cores=16,
        file_systems={
            "fs0": gpfs(common.setting("FS0", "/gpfs/mira-fs0"), 240000),
            "fs1": gpfs(common.setting("FS1", "/gpfs/mira-fs1"), 90000),
        },
        access=[f"-A {ACCOUNT}" if ACCOUNT else ""],
        nodes=nodes,
        memory=16384,
        per_node=[1, 2, 4, 8, 16, 32, 64],  # modes c1 to c64
        blocks=blocks,
    )
    xl = common.stack(
        "xl",
        "mpixlc_r",
        "",
        ["romio", "hdf5", "pnetcdf", "cgns", "peak"],
        # Cobalt has booted the block; runjob must be told which.
        launcher=['--block "$COBALT_PARTNAME"'],
        cross=True,
    )
    return common.site(
        [common.system(name, [rf"{name}lac\d+"], [batch], "Blue Gene/Q, Argonne")], [xl]
    )


BLOCKS = [512, 1024, 2048, 4096, 8192, 12288, 16384, 24576, 32768, 49152]

site_configuration = site("mira", 49152, BLOCKS)
