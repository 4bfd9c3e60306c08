# SPDX-License-Identifier: BSD-3-Clause
"""This machine: one node, no batch system, the two MPI stacks of Debian side by side.

    reframe -C site_configs/local.py -c reframe_tests -R -l

Paths: IOGAUGE_RAM (a file system in memory, /dev/shm) and IOGAUGE_DISK (output/scratch).
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from iogauge.mounts import IN_MEMORY, mount_of
from iogauge.paths import ROOT
from reframe_tests.machine.memory import memory
from site_configs import common

CORES = common.cores()
STACKS = ROOT / ".local" / "stacks"


def need(what: Path | str, package: str) -> dict[str, str]:
    """A command (a bare name) or a file (a path) that a stack needs, and what brings it."""
    return {"what": str(what), "from": package}


# Where the set-up builds it (environments/debian/setup.sh --python-only).
OWN_JANSSON = ROOT / ".local" / "stacks" / "any" / "include" / "jansson.h"

BUILD_TOOLS = [
    need("cmake", "Debian package cmake"),
    need("ninja" if shutil.which("ninja") else "make", "Debian package ninja-build"),
    need("pkg-config", "Debian package pkg-config"),
    need(
        OWN_JANSSON if OWN_JANSSON.is_file() else "/usr/include/jansson.h",
        "Debian package libjansson-dev",
    ),
]


def disk() -> dict[str, Any]:
    """The disk file system, which says so where it is really memory."""
    path = Path(os.environ.get("IOGAUGE_DISK") or common.OUTPUT / "scratch")
    kind = mount_of(path)["type"]
    in_memory = kind in IN_MEMORY
    note = f"this 'disk' is {kind}, so memory: set IOGAUGE_DISK to a folder on a disk"
    return common.file_system(path, note=note if in_memory else "", create=True)


def ram() -> dict[str, Any]:
    """The file system in memory."""
    path = Path(os.environ.get("IOGAUGE_RAM") or "/dev/shm")
    kind = mount_of(path)["type"]
    note = "" if kind in IN_MEMORY else f"this 'ram' is {kind}, not memory"
    return common.file_system(path, note=note)


def openmpi() -> dict[str, Any]:
    """Debian's Open MPI, HDF5 and PnetCDF."""
    cgns = STACKS / "openmpi"
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return {
        "name": "openmpi",
        "cc": "mpicc.openmpi",
        "cxx": "",
        "ftn": "",
        "features": ["mpi", "mpiio", "hdf5", "pnetcdf", "cgns", "peak"],
        # What Open MPI picks on one node anyway; naming it skips 0.2 s of probing at each start.
        "env_vars": [["OMPI_MCA_pml", "ob1"]],
        "extras": {
            "mpi_library": "libmpi.so.40",
            "launcher": {
                "command": "mpiexec.openmpi",
                "options": ["--oversubscribe", "--bind-to none", *as_root],
            },
            "cmake": {
                "mpi": ["-DCMAKE_C_COMPILER=mpicc.openmpi"],
                "hdf5": ["-DIOKERNEL_HDF5_PKGCONFIG=hdf5-openmpi"],
                "pnetcdf": ["-DIOKERNEL_PNETCDF_ROOT=/usr"],
                "cgns": [f"-DIOKERNEL_CGNS_ROOT={cgns}"],
            },
            "max_processes": {
                "count": 8 * CORES,
                "why": "more than 8 processes per core measure the kernel's scheduler",
            },
            "needs": {
                "build": BUILD_TOOLS,
                "mpi": [
                    need("mpicc.openmpi", "Debian package libopenmpi-dev"),
                    need("mpiexec.openmpi", "Debian package openmpi-bin"),
                ],
                "hdf5": [
                    need("/usr/include/hdf5/openmpi/hdf5.h", "Debian package libhdf5-openmpi-dev")
                ],
                "pnetcdf": [need("/usr/include/pnetcdf.h", "Debian package libpnetcdf-dev")],
                "cgns": [need(cgns / "include" / "pcgnslib.h", "environments/debian/setup.sh")],
            },
        },
    }


def mpich() -> dict[str, Any]:
    """Debian's MPICH and HDF5, and PnetCDF built against MPICH by environments/debian/setup.sh."""
    built_here = STACKS / "mpich"
    return {
        "name": "mpich",
        "cc": "mpicc.mpich",
        "cxx": "",
        "ftn": "",
        "features": ["mpi", "mpiio", "romio", "hdf5", "pnetcdf", "cgns"],
        "extras": {
            "mpi_library": "libmpich.so.12",
            "launcher": {"command": "mpiexec.mpich", "options": []},
            "cmake": {
                "mpi": ["-DCMAKE_C_COMPILER=mpicc.mpich"],
                "hdf5": ["-DIOKERNEL_HDF5_PKGCONFIG=hdf5-mpich"],
                "pnetcdf": [f"-DIOKERNEL_PNETCDF_ROOT={built_here}"],
                "cgns": [f"-DIOKERNEL_CGNS_ROOT={built_here}"],
            },
            "max_processes": {
                "count": CORES,
                "why": "Debian's MPICH busy-polls: with more processes than cores a barrier takes "
                "15 ms and the numbers are the scheduler's",
            },
            "needs": {
                "build": BUILD_TOOLS,
                "mpi": [
                    need("mpicc.mpich", "Debian package libmpich-dev"),
                    need("mpiexec.mpich", "Debian package mpich"),
                ],
                "hdf5": [
                    need("/usr/include/hdf5/mpich/hdf5.h", "Debian package libhdf5-mpich-dev")
                ],
                "pnetcdf": [
                    need(built_here / "include" / "pnetcdf.h", "environments/debian/setup.sh")
                ],
                "cgns": [
                    need(built_here / "include" / "pcgnslib.h", "environments/debian/setup.sh")
                ],
            },
        },
    }


site_configuration = common.checked(
    {
        "systems": [
            {
                "name": "local",
                "descr": "this machine",
                "hostnames": [".*"],
                "max_local_jobs": 1,
                **common.folders(),
                "partitions": [
                    {
                        "name": "host",
                        "descr": "this machine itself, without a batch system",
                        "scheduler": "local.j2",
                        "launcher": "stack",
                        "environs": ["openmpi", "mpich"],
                        # One job at a time: two measurements side by side measure each other.
                        "max_jobs": 1,
                        "time_limit": "10m",
                        "processor": {"num_cpus": CORES},
                        "extras": {
                            "nodes": 1,
                            "memory": memory(),
                            "filesystems": {"ram": ram(), "disk": disk()},
                        },
                    }
                ],
            }
        ],
        "environments": [openmpi(), mpich()],
        "general": common.general(),
        "logging": common.logging(),
    }
)
