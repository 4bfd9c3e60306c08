# SPDX-License-Identifier: BSD-3-Clause
"""How tests run Open MPI: many short jobs at the same time, on few cores."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")


def session_folder() -> Path:
    """For one at a time to start jobs: two launchers that make and remove one folder at the same
    time fail now and then. Other users' processes write there, too. In memory, where it can be:
    with the settings below, a job of two processes takes 0.11 s of processor time, not 0.14."""
    in_memory = MEMORY if os.access(MEMORY, os.W_OK | os.X_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="iogauge-ompi-", dir=in_memory))
    folder.chmod(0o1777)
    return folder


def remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def settings(folder: Path) -> dict[str, str]:
    """Who waits yields. A launcher whose process failed ends at once, not after 1 to 2 s."""
    return {
        "OMPI_MCA_orte_tmpdir_base": str(folder),
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_odls_base_sigkill_timeout": "0",
        "PMIX_MCA_gds": "hash",  # no files of PMIx
        "HWLOC_COMPONENTS": "linux,stop",  # no devices
    }
