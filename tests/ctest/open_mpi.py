# SPDX-License-Identifier: BSD-3-Clause
"""How tests run Open MPI: many short jobs at the same time, on few cores."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")


def session_folder() -> tempfile.TemporaryDirectory[str]:
    """For one launcher at a time: two that create and remove the same folder concurrently fail now
    and then. Some tests run jobs as another user. In memory, with the settings below, a job of two
    processes takes 0.11 s of CPU time instead of 0.14."""
    in_memory = MEMORY if os.access(MEMORY, os.W_OK | os.X_OK) else None
    folder = tempfile.TemporaryDirectory(
        prefix="iogauge-ompi-", dir=in_memory, ignore_cleanup_errors=True
    )
    Path(folder.name).chmod(0o1777)
    return folder


def settings(folder: str) -> dict[str, str]:
    """Waiting processes yield. A launcher whose process failed ends at once, not after 1 to 2 s."""
    return {
        "OMPI_MCA_orte_tmpdir_base": folder,
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_odls_base_sigkill_timeout": "0",
        "PMIX_MCA_gds": "hash",  # in place of shared files
        "HWLOC_COMPONENTS": "linux,stop",  # does not look for devices
        "OMPI_MCA_btl_tcp_if_include": "lo",  # with others, 5.0 warns of pairs it cannot reach
    }
