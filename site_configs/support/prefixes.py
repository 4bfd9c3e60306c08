# SPDX-License-Identifier: BSD-3-Clause
"""Stacks of an MPI that is installed below a folder, FOLDER/bin/mpicc and mpiexec: no HDF5, PnetCDF
or CGNS."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ConfigError

from site_configs.support import wheels

BEGIN = "prefix:"


def stack(name: str) -> dict[str, Any]:
    """By its name, prefix:FOLDER; `ConfigError` says what is right."""
    folder = Path(name.removeprefix(BEGIN))
    if not folder.is_absolute() or not (folder / "bin" / "mpicc").exists():
        raise ConfigError(
            f"stack {name!r:.200}: there is no such MPI; expected the absolute path of a "
            "folder with bin/mpicc and bin/mpiexec, such as prefix:/opt/openmpi"
        )
    mpi = "openmpi" if (folder / "bin" / "ompi_info").exists() else "mpich"
    return wheels.entry(
        re.sub(r"[^A-Za-z0-9]+", "-", f"prefix-{folder.name}"), mpi, folder / "bin", str(folder)
    )
