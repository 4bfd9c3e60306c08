# SPDX-License-Identifier: BSD-3-Clause
"""How tests run MPI: many short jobs at the same time, on few cores."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")


def in_memory() -> Path | None:
    """A folder in memory, where there is one."""
    return MEMORY if os.access(MEMORY, os.W_OK | os.X_OK) else None


def session_folder() -> tempfile.TemporaryDirectory[str]:
    """Of Open MPI, for one launcher at a time: two that create and remove the same folder
    concurrently fail now and then. Some tests run jobs as another user."""
    folder = tempfile.TemporaryDirectory(
        prefix="iogauge-ompi-", dir=in_memory(), ignore_cleanup_errors=True
    )
    Path(folder.name).chmod(0o1777)
    return folder


def settings(folder: str) -> dict[str, str]:
    """Waiting processes yield. A launcher whose process failed ends at once, not after 1 to 2 s.
    The rest spares a job on one host the search for devices and networks, and components that it
    would load and not use.
    With other interfaces than `lo`, Open MPI 5 warns of pairs that it cannot reach."""
    return {
        "OMPI_MCA_orte_tmpdir_base": folder,
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_odls_base_sigkill_timeout": "0",
        "PMIX_MCA_gds": "hash",  # in place of shared files
        "HWLOC_COMPONENTS": "-linuxio,linux,stop",
        "HWLOC_PLUGINS_PATH": folder,  # has none: X11 and OpenCL are not loaded
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_coll": "^adapt,han,monitoring,sm,sync",
        "OMPI_MCA_osc": "^monitoring,pt2pt,ucx",
        "OMPI_MCA_pmix": "^flux,isolated",
        "OMPI_MCA_reachable": "^netlink",
        "OMPI_MCA_shmem": "^posix,sysv",
        "UCX_TLS": "self,posix",  # of MPICH
        "OMPI_MCA_btl_tcp_if_include": "lo",
    }
