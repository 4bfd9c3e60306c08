# SPDX-License-Identifier: BSD-3-Clause
"""Cetus at Argonne: as Mira, but smaller (The HDF Group's CGNS measurements).

Least block, 128 nodes: www.alcf.anl.gov, "Determining allocation requirements". Unverified: its
4096 nodes and larger blocks.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from site_configs.historic import mira

site_configuration = mira.site("cetus", 4096, [128, 256, 512, 1024, 2048, 4096])
