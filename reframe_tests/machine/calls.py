# SPDX-License-Identifier: BSD-3-Clause
"""The calls: which methods and modes exist, what each asks of a stack, and which suites run it.

This table is the only place that knows methods by name: a test asks it, and never branches on one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Call:
    """One method in one mode.

    `needs`: the environ features without which the call does not exist.
    `quick`: part of the suite that `make run` runs.
    `moves_data`: false for `null`, whose verdict is `nothing moved` and whose share of a file
    system's ceilings means nothing.
    `only_meshes`: only for patterns that are meshes.
    `processes`: the only number of processes that it runs with; None: any.
    `copies`: a library on the way may hold a process's data a second time; `no` where nothing does,
    `romio` where ROMIO does not.
    `inner`: for a method that stands in front of another: that one. `servers`: how many of the
    processes it keeps for itself, unless a test says otherwise.
    """

    method: str
    mode: str | None
    needs: tuple[str, ...] = ()
    quick: bool = False
    moves_data: bool = True
    only_meshes: bool = False
    processes: int | None = None
    copies: str = "yes"
    inner: str | None = None
    servers: int = 0

    @property
    def name(self) -> str:
        """`mpiio:collective`, `ioserver:mpiio`, or `posix` where there is nothing to choose."""
        second = self.mode or self.inner
        return f"{self.method}:{second}" if second else self.method

    @property
    def options(self) -> list[str]:
        """As `iokernel` takes it."""
        return [
            f"--method {self.method}",
            *([f"--mode {self.mode}"] if self.mode else []),
            *([f"--inner {self.inner}"] if self.inner else []),
        ]

    @property
    def environs(self) -> list[str]:
        """As ReFrame's `valid_prog_environs` takes it."""
        return [" ".join(f"+{feature}" for feature in ("mpi", *self.needs))]

    def is_copied(self, features: Iterable[str]) -> bool:
        """With a stack of these features."""
        return self.copies == "yes" or (self.copies == "romio" and "romio" not in features)

    @property
    def verdict(self) -> str:
        """What the result document must say of the bytes read back."""
        return "verified" if self.moves_data else "nothing moved"


CALLS = (
    Call("null", None, quick=True, moves_data=False),
    Call("posix", None, quick=True),
    Call("posix-shared", None, quick=True),
    Call("master", None, quick=True),
    Call("mpiio", "collective", needs=("mpiio",), quick=True),
    Call("mpiio", "independent", needs=("mpiio",), quick=True, copies="romio"),
    Call("mpiio", "nonblocking", needs=("mpiio",)),
    Call("mpiio", "ordered", needs=("mpiio",)),
    Call("hdf5", "collective", needs=("hdf5",), quick=True),
    # Where metadata is much of a file; `collective` is enough for the others.
    Call("hdf5", "collective-metadata", needs=("hdf5",), only_meshes=True),
    Call("hdf5", "independent", needs=("hdf5",), quick=True, copies="romio"),
    Call("pnetcdf", "collective", needs=("pnetcdf",), quick=True),
    Call("pnetcdf", "independent", needs=("pnetcdf",)),
    Call("pnetcdf", "nonblocking", needs=("pnetcdf",), quick=True),
    Call("cgns", "collective", needs=("hdf5", "cgns"), only_meshes=True),
    Call("cgns", "collective-metadata", needs=("hdf5", "cgns"), only_meshes=True),
    Call("cgns", "independent", needs=("hdf5", "cgns"), only_meshes=True, copies="romio"),
    Call("cgns", "multi", needs=("hdf5", "cgns", "cgns-multi"), only_meshes=True),
    Call("cgns", "serial", needs=("hdf5", "cgns"), only_meshes=True, processes=1),
    Call("ioserver", None, inner="posix", servers=1),
    Call("ioserver", None, inner="mpiio", servers=1, needs=("mpiio",)),
    Call("ioserver", None, inner="hdf5", servers=1, needs=("hdf5",)),
    Call("ioserver", None, inner="pnetcdf", servers=1, needs=("pnetcdf",)),
)

# The calls that keep processes for themselves.
SERVED = tuple(call.name for call in CALLS if call.servers)

# The features that are options of the kernels' build, -DIOKERNEL_<NAME>=ON|OFF.
LIBRARIES = ("hdf5", "pnetcdf", "cgns")

BY_NAME = {call.name: call for call in CALLS}


def names(without: Iterable[str] = (), *, mesh: bool = False) -> list[str]:
    """The calls of a pattern, which is a `mesh` or not: all but those that it says make no sense
    for it. A name that is not in the table is a `KeyError`."""
    dropped = {BY_NAME[name].name for name in without}
    fitting = [call for call in CALLS if mesh or not call.only_meshes]
    return [call.name for call in fitting if call.name not in dropped]
