# SPDX-License-Identifier: BSD-3-Clause
"""The libraries that methods need: kernels/libraries.def, which CMake and Spack's recipe read."""

from __future__ import annotations

from dataclasses import dataclass

from iogauge.common import tables


@dataclass(frozen=True)
class Library:
    """One row. `name`: also that of the stack's feature, and the build's option IOKERNEL_<NAME>;
    `title`: in messages; `variable`: of CMake, for the library's prefix; `needs`: another row's
    name, or `none`; `package` and `spec`: Spack's; `default`: `on` or `off`, in Spack's recipe."""

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
        """The build's switch."""
        return f"IOKERNEL_{self.name.upper()}"


def libraries() -> list[Library]:
    """In the order of the table: each after those that it needs."""
    return [Library(*row) for row in tables.rows("libraries.def", "IO_LIBRARY")]
