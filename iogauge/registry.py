# SPDX-License-Identifier: BSD-3-Clause
"""The names of all patterns, methods and modes, built or not, in the order of the kernels' tables,
which is the order in which ours show them."""

from __future__ import annotations

from iogauge import tables

# What is asked for -> the table, the word of its rows, and the column of the name.
REGISTRIES = {
    "patterns": ("patterns/patterns.def", "IO_PATTERN", 0),
    "methods": ("methods/methods.def", "IO_METHOD", 1),
    "modes": ("base/modes.def", "IO_MODE", 1),
}


def names(what: str) -> tuple[str, ...]:
    """The names of all "patterns", "methods" or "modes": `ramses-amr`, `posix-shared`.

    A pattern's is its identifier with dashes. Raises tables.BadTable."""
    file, word, column = REGISTRIES[what]
    return tuple(row[column].replace("_", "-") for row in tables.rows(file, word))
