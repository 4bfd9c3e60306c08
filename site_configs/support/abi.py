# SPDX-License-Identifier: BSD-3-Clause
"""Stacks that differ only in the MPI library: one program, built with Debian's MPICH, and HDF5,
PnetCDF and CGNS built with it, run with the MPICH of a wheel, which has the same ABI.
"""

import re
from typing import Any

from reframe.core.exceptions import ConfigError

from iogauge.common.paths import BUILDS, MPICH_ABI
from site_configs.support import debian, wheels

BEGIN = "abi"
NAME = re.compile(r"abi(?::mpich==|-mpich-)(\d+(?:[.-]\d+)*)")
# Made for all of these stacks once, by `iogauge stack add` and `iogauge run`.
PROGRAM = BUILDS / "abi" / "iokernel"
MAKER = "iogauge stack add abi:mpich==VERSION"


def stack(name: str) -> dict[str, Any]:
    """By its name; `ConfigError` says what is expected."""
    found = NAME.fullmatch(name)
    if not found:
        raise ConfigError(f"stack {name!r:.60} is unknown; example: abi:mpich==5.0.2")
    wheel = f"mpich-{found[1].replace('-', '.')}"
    folder = debian.LOCAL / "wheels" / wheel
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
        "name": f"{BEGIN}-{wheel.replace('.', '-')}",
        "env_vars": [["LD_LIBRARY_PATH", f"{folder / 'lib'}:{MPICH_ABI}"]],
    }
