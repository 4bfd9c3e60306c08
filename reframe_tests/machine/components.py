# SPDX-License-Identifier: BSD-3-Clause
"""The components of Open MPI's MPI-IO that a run may choose (`extras.components`): fcoll's,
ROMIO."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from iogauge.common import hints


@dataclass(frozen=True)
class Component:
    """`mpi_io`: in the result document; `io`: the variable's value; `hints`: further ones."""

    mpi_io: str
    io: str
    hints: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {"OMPI_MCA_io": self.io}


# OMPIO's components in the table of hints, and the stack's ROMIO of whatever version.
COMPONENTS = {
    **{name: Component("OMPIO", "ompio", {"fcoll": name}) for name in hints.known()["fcoll"].words},
    "romio": Component("ROMIO", "^ompio"),
}


def missing(stack: str, extras: Mapping[str, list[str]], component: str) -> str | None:
    """Why a stack cannot run with a component, or None."""
    here = extras.get("components", [])
    if component in here:
        return None
    return (
        f"stack {stack}: its MPI-IO has no component {component}; it has {', '.join(here)}"
        if here
        else f"stack {stack}: its MPI-IO has no components to choose from (extras.components)"
    )
