# SPDX-License-Identifier: BSD-3-Clause
"""This machine with stacks from Spack, side by side: IOGAUGE_SPACK names environments.

    IOGAUGE_SPACK="mpich openmpi" reframe -C site_configs/spack.py -c reframe_tests -R -l

IOGAUGE_SPACK_KERNELS=installed: the `iokernel` that Spack installed, in place of one built from the
checkout. See docs/spack.md. The rest is as in site_configs/local.py.
"""

import os
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from reframe_tests.machine import spack
from site_configs import local
from site_configs.support import common

VARIANTS = common.setting("SPACK", "default").split()
INSTALLED = common.setting("SPACK_KERNELS", "") == "installed"
KERNELS: dict[str, Any] = {"iokernel": "iokernel"} if INSTALLED else {}


def environ(variant: str) -> dict[str, Any]:
    """Allow Open MPI to run as root and on few cores, and bind no process to a core, in version 4
    and (PRTE) in 5; other MPIs ignore this."""
    settings = {
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
    }
    if os.geteuid() == 0:
        settings |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return common.spack_stack(
        variant,
        spack.features(variant),
        env_vars=[list(item) for item in settings.items()],
        max_processes={
            "count": common.cores(),
            "why": "an MPI that busy-polls measures the kernel's scheduler with more processes "
            "than cores",
        },
        **KERNELS,
    )


site_configuration = common.this_machine(
    "spack",
    "this machine, with Spack's stacks",
    [environ(variant) for variant in VARIANTS],
    {"ram": local.ram(), "disk": local.disk()},
)
