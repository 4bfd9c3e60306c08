# SPDX-License-Identifier: BSD-3-Clause
"""Tables that C and Python share: kernels/**/*.def, each row in parentheses after its keyword.

IO_HINT_PREFIX("fcoll", ENVIRONMENT, "OMPI_MCA_")
tables.rows("base/hints.def", "IO_HINT_PREFIX") == [["fcoll", "ENVIRONMENT", "OMPI_MCA_"], ...]
"""

import functools
import re
from dataclasses import dataclass

from . import paths

# Each table's file below kernels/, and the keyword of its rows.
REGISTRIES = {
    "patterns": ("patterns/patterns.def", "IO_PATTERN"),
    "methods": ("methods/methods.def", "IO_METHOD"),
    "modes": ("base/modes.def", "IO_MODE"),
}
# A method with another behind it -> which ones it can have.
BEHIND = {"ioserver": ("posix", "mpiio", "hdf5", "pnetcdf")}

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CELL = re.compile(r'"([^"]*)"|([^\s,"][^,"]*)')


class BadTable(Exception):
    """A table is missing or empty; the text names the file and the keyword."""


@functools.cache
def _rows(name: str, word: str) -> tuple[tuple[str, ...], ...]:
    path = paths.KERNELS / name
    try:
        text = _COMMENT.sub("", path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadTable(f"{path}: {error.strerror}; install iogauge again") from error
    found = re.findall(rf"^{word}\((.*?)\)$", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise BadTable(f"{path}: no row {word}(...); install iogauge again")
    return tuple(
        tuple((quoted or plain).strip() for quoted, plain in _CELL.findall(row)) for row in found
    )


def rows(name: str, word: str) -> list[list[str]]:
    """The cells of each row `word(...)` of `kernels/<name>`, in its order. Raises BadTable."""
    return [list(row) for row in _rows(name, word)]


def names(what: str) -> tuple[str, ...]:
    """All "patterns", "methods" or "modes", built or not, in order. Raises BadTable."""
    found = rows(*REGISTRIES[what])
    if what == "patterns":
        return tuple(row[0].replace("_", "-") for row in found)
    return tuple(row[1] for row in found)


# A method's kind of file: the last cell of its row -> text.
KINDS = {
    "own": "a file per process",
    "shared": "one shared file",
    "format": "a self-describing format",
}


def methods_of_kind(kind: str) -> list[str]:
    """Names of the methods of this kind of file, a key of KINDS. Raises BadTable."""
    return [row[1] for row in rows(*REGISTRIES["methods"]) if row[-1].lower() == kind]


def kind_of(method: str) -> str:
    return next(kind for kind in KINDS if method in methods_of_kind(kind))


def modes_with(trait: str) -> tuple[str, ...]:
    return tuple(row[1] for row in rows(*REGISTRIES["modes"]) if trait in row[2])


@dataclass(frozen=True)
class Library:
    """A row of kernels/libraries.def, which CMake and the Spack recipe also read. `name`: also the
    stack's feature; `title`: in messages; `variable`: of CMake, for its prefix; `needs`: another
    row's name, or `none`; `package`, `spec`: Spack's; `default`: `on` or `off` there."""

    name: str
    title: str
    header: str
    library: str
    variable: str
    needs: str
    package: str
    spec: str
    default: str

    @property
    def option(self) -> str:
        return f"IOKERNEL_{self.name.upper()}"


def libraries() -> list[Library]:
    """All libraries in table order: each after those that it needs."""
    return [Library(*row) for row in rows("libraries.def", "IO_LIBRARY")]
