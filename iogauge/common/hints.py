# SPDX-License-Identifier: BSD-3-Clause
"""Hints: how each reaches its library (kernels/base/hints.def), and the names and values that
libraries know (kernels/base/known_hints.def). The kernels read both files, too."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from . import tables


@dataclass(frozen=True)
class Hints:
    """`mpi`: keys of MPI_Info. `environment`: variables. `variables`: their names by hint."""

    mpi: Mapping[str, str]
    environment: Mapping[str, str]
    variables: Mapping[str, str]

    @property
    def words(self) -> list[str]:
        return [word for key, value in self.mpi.items() for word in ("--hint", f"{key}={value}")]


@dataclass(frozen=True)
class Known:
    """A hint that a library knows: a row of kernels/base/known_hints.def, described there.

    `library`: MPI, ROMIO, OMPIO, PNETCDF, HDF5, IBM or CRAY. `since`, `until`: its versions, empty
    if any. `kind`: NUMBER (of a `range`), WORD or LIST (of `words`), or TEXT."""

    name: str
    library: str
    since: str
    until: str
    kind: str
    values: str
    what: str

    @property
    def words(self) -> list[str]:
        return self.values.split("|") if self.kind in ("WORD", "LIST") else []

    @property
    def range(self) -> tuple[int, int] | None:
        least, dots, most = self.values.partition("..")
        return (int(least), int(most)) if self.kind == "NUMBER" and dots else None


def known() -> dict[str, Known]:
    rows = tables.rows("base/known_hints.def", "IO_KNOWN_HINT")
    return {row[0]: Known(*row) for row in rows}


def parse_hints(text: str) -> dict[str, str]:
    """`K=V K=V ...` (shell quoting) as an object; `write:K=V` and `read:K=V` are of one direction's
    files alone. `ValueError` names the part that is not `K=V`."""
    found = {}
    for word in shlex.split(text):
        match = re.fullmatch(r"((?:write:|read:)?[A-Za-z_]\w*)=(.+)", word)
        if not match:
            raise ValueError(f"hints: {word!r}: expected K=V")
        found[match[1]] = match[2]
    return found


def passed_in(key: str) -> str:
    """Where a hint is passed, a word of kernels/base/hints.def: `MPI_INFO` (ROMIO also
    reads ROMIO_HINTS), `PNETCDF`, `ENVIRONMENT` or `HDF5`."""
    return _row(key)[1]


def variable(key: str) -> str | None:
    _, how, before = _row(key)
    return before + key if how == "ENVIRONMENT" else None


def _row(key: str) -> list[str]:
    rows = tables.rows("base/hints.def", "IO_HINT_PREFIX")
    return next((row for row in rows if key.startswith(row[0])), ["", "MPI_INFO", ""])


def sort_hints(hints: Mapping[str, str]) -> Hints:
    """Sort hints by where their libraries look for them."""
    mpi = {key: value for key, value in hints.items() if variable(key) is None}
    variables = {key: name for key in hints if (name := variable(key))}
    return Hints(mpi, {name: hints[key] for key, name in variables.items()}, variables)
