# SPDX-License-Identifier: BSD-3-Clause
"""The stacks of a session on this machine, by name.

IOGAUGE_STACKS has them (default: Debian's; where there are none, and for an installed iogauge, the
stack of the mpicc on PATH): openmpi, mpich; SUITE-openmpi, SUITE-mpich, such as trixie-openmpi;
wheel:mpich==5.0.2; abi:mpich==5.0.2; standard:sid-openmpi; and prefix:/opt/openmpi.
`iogauge run --stack openmpi,trixie-openmpi` sets it.
"""

import shutil
from pathlib import Path
from typing import Any

from iogauge.common import paths
from site_configs.support import abi, common, debian, wheels

# Stacks by prefix; all others are Debian's.
KINDS = {
    wheels.BEGIN: wheels.stack,
    "abi": abi.stack,
    "standard": abi.standard,
    wheels.PREFIX: wheels.in_prefix,
}


def stack(name: str) -> dict[str, Any]:
    kinds = (kind for begin, kind in KINDS.items() if name.startswith(begin))
    return next(kinds, debian.stack)(name)


def default() -> list[str]:
    """See above. Debian's where there is no MPI at all: they say what is missing."""
    own = {name: shutil.which(f"mpicc.{name}") for name in debian.MPIS}
    found = shutil.which("mpicc")
    if not found or (any(own.values()) and paths.is_checkout()):
        return list(own)
    same = [name for name, path in own.items() if path and Path(path).samefile(found)]
    return same or [f"{wheels.PREFIX}{Path(found).absolute().parents[1]}"]


def stacks() -> list[dict[str, Any]]:
    names = common.setting("STACKS", "").split() or default()
    found = [stack(name) for name in names]
    return list({one["name"]: one for one in found}.values())
