# SPDX-License-Identifier: BSD-3-Clause
"""Upstream's programs, given by IOR=, S3D_IO= and CGNS_BENCH= or found on PATH. Each belongs to the
stack whose MPI library it is linked to."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from iogauge.measure.programs import Stack, linked_to
from tools.bench.cases import CGNS, IOR, S3D

PEER_VARIABLES = {IOR: "IOR", S3D: "S3D_IO", CGNS: "CGNS_BENCH"}


def peers(program: str, stack: Stack, ours: Path) -> Path | None:
    """Upstream's program for this stack. IOR and S3D_IO may list several, separated by colons."""
    given = os.environ.get(PEER_VARIABLES[program])
    if given:
        candidates = [Path(one).expanduser().absolute() for one in given.split(":") if one]
    else:
        found = shutil.which(program)
        candidates = [Path(found)] if found else []
    for path in candidates:
        own = path.exists() and path.resolve() == (ours / program).resolve()
        if os.access(path, os.X_OK) and not own and linked_to(path, stack):
            return path
    return None


def how_to_give(program: str, stack: Stack) -> str:
    """The way to have the comparison that is missing."""
    variable = PEER_VARIABLES[program]
    return (
        f"no upstream {program} linked to {stack.mpi_library} of {stack.name}: give {variable}=PATH"
        " (several with colons between them), or put it on PATH"
    )
