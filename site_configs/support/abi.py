# SPDX-License-Identifier: BSD-3-Clause
"""Stacks that differ only in the MPI library: one program, run with each.

`abi`: built with Debian's MPICH, as HDF5, PnetCDF and CGNS beside it, and run with the MPICH of a
wheel, which has the same ABI. `standard`: built for the ABI that MPI 5.0 defines, and run with each
library that has it, even MPICH and Open MPI; with the methods without libraries, as HDF5 and the
others are built for an MPI's own ABI.
"""

import re
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ConfigError

from iogauge.common.paths import BUILDS, MPICH_ABI
from site_configs.support import debian, wheels

VERSION = r"(?::mpich==|-mpich-)(\d+(?:[.-]\d+)*)"
NAME = re.compile(f"abi{VERSION}")
STANDARD = re.compile(rf"standard{VERSION}|standard[:-]([a-z]+-(?:mpich|openmpi))")
WHEELS = debian.LOCAL / "wheels"
# Made for all of the first once, by `iogauge stack add` and `iogauge run`.
PROGRAM = BUILDS / "abi" / "iokernel"
MAKER = "iogauge stack add abi:mpich==VERSION"
# Made by environments/wheels/standard_abi.sh, as the folders with the library of each stack.
STANDARD_PROGRAM = BUILDS / "standard" / "iokernel"
FOLDERS = debian.PREFIXES / "standard"
LIBRARY = "libmpi_abi.so.1"
OF_MPI = ("mpi", "mpiio", "romio", "components")
# Passes a variable to the processes: enter.sh removes the machine's own LD_LIBRARY_PATH.
SETS = {"openmpi": "-x {}={}", "mpich": "-genv {} {}"}


def stack(name: str) -> dict[str, Any]:
    found = NAME.fullmatch(name)
    if not found:
        raise ConfigError(f"stack {name!r:.60} is unknown; example: abi:mpich==5.0.2")
    wheel = f"mpich-{found[1].replace('-', '.')}"
    folder = WHEELS / wheel
    launcher = folder / "bin" / "mpiexec"
    base = debian.mpich()
    mpi = [
        debian.need(launcher, f"environments/wheels/wheel.sh {wheel}"),
        debian.need(MPICH_ABI / "libmpich.so.12", "environments/debian/mpich_abi.sh"),
        debian.need(PROGRAM, MAKER),
    ]
    environ = debian.with_extras(
        base,
        mpi_library=wheels.LIBRARIES["mpich"],
        launcher={"command": str(launcher), "options": []},
        iokernel=str(PROGRAM),
        needs={**base["extras"]["needs"], "mpi": mpi},
    )
    return {
        **environ,
        "name": f"abi-{wheel.replace('.', '-')}",
        "env_vars": [["LD_LIBRARY_PATH", f"{folder / 'lib'}:{MPICH_ABI}"]],
    }


def standard(name: str) -> dict[str, Any]:
    found = STANDARD.fullmatch(name)
    if not found:
        raise ConfigError(
            f"stack {name!r:.60} is unknown; example: standard:sid-openmpi, standard:mpich==5.0.2"
        )
    version, of_release = found.groups()
    if of_release:
        return in_release(of_release)
    wheel = f"mpich-{version.replace('-', '.')}"
    folder = WHEELS / wheel / "lib"
    environ = with_program(
        wheels.stack(f"wheel-{wheel}"), f"mpich=={wheel.partition('-')[2]}", folder
    )
    return {**environ, "env_vars": [["LD_LIBRARY_PATH", str(folder)]]}


def with_program(environ: dict[str, Any], asked: str, folder: Path) -> dict[str, Any]:
    maker = f"environments/wheels/standard_abi.sh {asked}"
    launcher = environ["extras"]["launcher"]["command"]
    needs = [debian.need(one, maker) for one in (launcher, folder / LIBRARY, STANDARD_PROGRAM)]
    name = environ["name"].removeprefix(f"{wheels.BEGIN}-")
    return {
        **debian.with_extras(
            environ,
            mpi_library=LIBRARY,
            iokernel=str(STANDARD_PROGRAM),
            needs={"build": [], "mpi": needs},
        ),
        "name": f"standard-{name}",
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
