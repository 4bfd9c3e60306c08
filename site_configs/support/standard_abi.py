# SPDX-License-Identifier: BSD-3-Clause
"""Stacks that differ only in the MPI library, even MPICH and Open MPI: one program, built for the
ABI that MPI 5.0 defines, run with each library that has it. Methods without libraries: HDF5 and the
others are built for an MPI's own ABI.
"""

import re
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ConfigError

from iogauge.common.paths import BUILDS
from site_configs.support import debian, wheels

BEGIN = "standard"
NAME = re.compile(
    r"standard(?::mpich==|-mpich-)(\d+(?:[.-]\d+)*)|standard[:-]([a-z]+-(?:mpich|openmpi))"
)
# Made by environments/wheels/standard_abi.sh, as the folders with the library of each stack.
PROGRAM = BUILDS / "standard" / "iokernel"
FOLDERS = debian.PREFIXES / "standard"
LIBRARY = "libmpi_abi.so.1"
OF_MPI = ("mpi", "mpiio", "romio", "components")
# Passes a variable to the processes: enter.sh removes the machine's own LD_LIBRARY_PATH.
SETS = {"openmpi": "-x {}={}", "mpich": "-genv {} {}"}


def stack(name: str) -> dict[str, Any]:
    """By its name; `ConfigError` says what is expected."""
    found = NAME.fullmatch(name)
    if not found:
        raise ConfigError(
            f"stack {name!r:.60} is unknown; example: standard:sid-openmpi, standard:mpich==5.0.2"
        )
    version, of_release = found.groups()
    if of_release:
        return in_release(of_release)
    wheel = f"mpich-{version.replace('-', '.')}"
    folder = debian.LOCAL / "wheels" / wheel / "lib"
    environ = with_program(
        wheels.stack(f"wheel-{wheel}"), f"mpich=={wheel.partition('-')[2]}", folder
    )
    return {**environ, "env_vars": [["LD_LIBRARY_PATH", str(folder)]]}


def with_program(environ: dict[str, Any], asked: str, folder: Path) -> dict[str, Any]:
    """The environ with the one program, and the library in `folder`."""
    maker = f"environments/wheels/standard_abi.sh {asked}"
    launcher = environ["extras"]["launcher"]["command"]
    needs = [debian.need(one, maker) for one in (launcher, folder / LIBRARY, PROGRAM)]
    name = environ["name"].removeprefix(f"{wheels.BEGIN}-")
    return {
        **debian.with_extras(
            environ,
            mpi_library=LIBRARY,
            iokernel=str(PROGRAM),
            needs={"build": [], "mpi": needs},
        ),
        "name": f"{BEGIN}-{name}",
        "features": [one for one in environ["features"] if one in OF_MPI],
    }


def in_release(name: str) -> dict[str, Any]:
    """For a Debian release in its root whose MPI has that ABI."""
    _, _, mpi = name.rpartition("-")
    folder = FOLDERS / name
    environ = with_program(debian.stack(name), name, folder)
    extras = environ["extras"]
    launcher = extras["launcher"]
    sets = SETS[mpi].format("LD_LIBRARY_PATH", folder)
    return debian.with_extras(
        environ,
        inside=[*extras["inside"], "env", f"LD_LIBRARY_PATH={folder}"],
        launcher={**launcher, "options": [*launcher["options"], sets]},
    )
