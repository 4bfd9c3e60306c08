# SPDX-License-Identifier: BSD-3-Clause
"""Hints: how each comes to its library (kernels/base/hints.def, which the kernels read too)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from iogauge import tables


@dataclass(frozen=True)
class Hints:
    """`mpi`: keys of MPI_Info, the libraries' own (`nc_header_align_size`) among them.
    `environment`: variables. `ways`: of those hints, the names of their variables."""

    mpi: Mapping[str, str]
    environment: Mapping[str, str]
    ways: Mapping[str, str]


def parse_hints(text: str) -> dict[str, str]:
    """`K=V K=V ...` (shell quoting) as an object; `write:K=V` and `read:K=V` are of one direction's
    files alone. `ValueError` names the part that is not `K=V`."""
    found = {}
    for word in shlex.split(text):
        match = re.fullmatch(r"((?:write:|read:)?[A-Za-z_]\w*)=(.+)", word)
        if not match:
            raise ValueError(f"hints: {word!r} is not K=V")
        found[match[1]] = match[2]
    return found


def way(key: str) -> str:
    """How a hint comes to its library, a word of kernels/base/hints.def: `MPI_INFO` (ROMIO takes it
    from ROMIO_HINTS too), `PNETCDF`, `ENVIRONMENT` or `HDF5`."""
    return _row(key)[1]


def variable(key: str) -> str | None:
    """The environment variable of a hint; None where it has none of its own."""
    _, how, before = _row(key)
    return before + key if how == "ENVIRONMENT" else None


def _row(key: str) -> list[str]:
    rows = tables.rows("base/hints.def", "IO_HINT_PREFIX")
    return next((row for row in rows if key.startswith(row[0])), ["", "MPI_INFO", ""])


def sort_hints(hints: Mapping[str, str]) -> Hints:
    """Each to where its library looks for it."""
    mpi = {key: value for key, value in hints.items() if variable(key) is None}
    ways = {key: name for key in hints if (name := variable(key))}
    return Hints(mpi, {name: hints[key] for key, name in ways.items()}, ways)
