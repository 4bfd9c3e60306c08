# SPDX-License-Identifier: BSD-3-Clause
"""Hints: which of a run's are keys of MPI_Info, and which a library takes from the environment.
Needs no ReFrame."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

# How the name of such a hint begins -> what stands before it in the environment. OMPIO and what it
# uses are set by Open MPI's MCA parameters, Blue Gene's MPI-IO by variables of their own.
FROM_ENVIRONMENT = {
    "io_ompio_": "OMPI_MCA_",
    "fcoll": "OMPI_MCA_",
    "fbtl_": "OMPI_MCA_",
    "fs_lustre_": "OMPI_MCA_",
    "sharedfp": "OMPI_MCA_",
    "BGLMPIO_": "",
    "BGMPIO_": "",
    "GPFSMPIO_": "",
    "BGLOCKLESSMPIO_": "",
}


@dataclass(frozen=True)
class Hints:
    """`mpi`: keys of MPI_Info, the libraries' own (`nc_header_align_size`) among them.
    `environment`: variables. `ways`: of those hints, the names of their variables."""

    mpi: Mapping[str, str]
    environment: Mapping[str, str]
    ways: Mapping[str, str]


def parse_hints(text: str) -> dict[str, str]:
    """`K=V K=V ...` (shell quoting) as an object. `ValueError` names the part that is not `K=V`."""
    found = {}
    for word in shlex.split(text):
        match = re.fullmatch(r"([A-Za-z_]\w*)=(.+)", word)
        if not match:
            raise ValueError(f"hints: {word!r} is not K=V")
        found[match[1]] = match[2]
    return found


def variable(key: str) -> str | None:
    """The environment variable of a hint; None where it is a key of MPI_Info."""
    before = next(
        (FROM_ENVIRONMENT[start] for start in FROM_ENVIRONMENT if key.startswith(start)), None
    )
    return None if before is None else before + key


def sort_hints(hints: Mapping[str, str]) -> Hints:
    """Each to where its library looks for it."""
    mpi = {key: value for key, value in hints.items() if variable(key) is None}
    ways = {key: name for key in hints if (name := variable(key))}
    return Hints(mpi, {name: hints[key] for key, name in ways.items()}, ways)
