# SPDX-License-Identifier: BSD-3-Clause
"""The tables that C and Python both read: kernels/**/*.def, one row in parentheses after its word.

IO_HINT_PREFIX("fcoll", ENVIRONMENT, "OMPI_MCA_")
tables.rows("base/hints.def", "IO_HINT_PREFIX") == [["fcoll", "ENVIRONMENT", "OMPI_MCA_"], ...]
"""

from __future__ import annotations

import functools
import re

from iogauge.common import paths

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CELL = re.compile(r'"([^"]*)"|([^\s,"][^,"]*)')


class BadTable(Exception):
    """A table is missing or holds no row; the text names the file and what was looked for."""


@functools.cache
def _rows(name: str, word: str) -> tuple[tuple[str, ...], ...]:
    path = paths.data(f"kernels/{name}")
    try:
        text = _COMMENT.sub("", path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadTable(f"{path}: {error.strerror}; it comes with iogauge") from error
    found = re.findall(rf"^{word}\((.*?)\)$", text, re.MULTILINE | re.DOTALL)
    if not found:
        raise BadTable(f"{path}: no row {word}(...)")
    return tuple(
        tuple((quoted or plain).strip() for quoted, plain in _CELL.findall(row)) for row in found
    )


def rows(name: str, word: str) -> list[list[str]]:
    """The cells of each row `word(...)` of `kernels/<name>`, in the order of the file.

    Raises BadTable where the file is missing or has no such row."""
    return [list(row) for row in _rows(name, word)]
