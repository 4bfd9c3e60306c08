# SPDX-License-Identifier: BSD-3-Clause
"""What the kernels' tables name: all patterns, methods and modes, built or not, in the order of the
table, which is the order of lists and rows."""

from __future__ import annotations

from iogauge.common import tables

# For each of them the table's file below kernels/, and the word that its rows begin with.
REGISTRIES = {
    "patterns": ("patterns/patterns.def", "IO_PATTERN"),
    "methods": ("methods/methods.def", "IO_METHOD"),
    "modes": ("base/modes.def", "IO_MODE"),
}


def names(what: str) -> tuple[str, ...]:
    """The names of all `what`: "patterns", "methods" or "modes".

    Patterns are named after their identifier, with dashes: `ramses-amr`; the others have a name of
    their own in the second cell. Raises tables.BadTable, which names the file.
    """
    rows = tables.rows(*REGISTRIES[what])
    if what == "patterns":
        return tuple(row[0].replace("_", "-") for row in rows)
    return tuple(row[1] for row in rows)


def modes_with(trait: str) -> tuple[str, ...]:
    """The names of the modes with a trait (`io_mode_trait` of kernels/base/mode.h)."""
    return tuple(row[1] for row in tables.rows(*REGISTRIES["modes"]) if trait in row[2])
