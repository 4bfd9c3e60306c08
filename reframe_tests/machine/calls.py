# SPDX-License-Identifier: BSD-3-Clause
"""The calls: methods and modes, what each needs of a stack, which suites run it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from iogauge.common import tables
from iogauge.common.tables import BEHIND, libraries
from iogauge.common.text import unknown


@dataclass(frozen=True)
class Call:
    """One method in one mode.

    `needs`: the environ features that the call requires. `quick`: part of the suite that `iogauge
    run` runs. `moves_data`: false for `null`, whose verdict is `nothing moved` and which has no
    share of a file system's ceilings. `only_meshes`: only for patterns that are meshes.
    `processes`: the only number of processes that it runs with; None: any. `copies`: whether a
    library may hold a process's data a second time: `no`, `romio` (where ROMIO does), or yes.
    `inner`: the method behind one that forwards. `servers`: how many processes it reserves, unless
    a test says otherwise.
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
        """`mpiio:collective`, `ioserver:mpiio`, or `posix` if there is nothing to choose."""
        second = self.mode or self.inner
        return f"{self.method}:{second}" if second else self.method

    @property
    def options(self) -> list[str]:
        """The call as options of `iokernel`."""
        return [
            f"--method {self.method}",
            *([f"--mode {self.mode}"] if self.mode else []),
            *([f"--inner {self.inner}"] if self.inner else []),
        ]

    @property
    def environs(self) -> list[str]:
        return [" ".join(f"+{feature}" for feature in ("mpi", *self.needs))]

    @property
    def takes_prefix(self) -> bool:
        """Does its library hand the file's name to MPI-IO?"""
        return bool(self.needs) and not BY_ITSELF & set(self.needs)

    def is_copied(self, features: Iterable[str]) -> bool:
        """Whether data is copied, with a stack of these features."""
        return self.copies == "yes" or (self.copies == "romio" and "romio" not in features)

    @property
    def verdict(self) -> str:
        """What the result document must say of the bytes read back."""
        return "verified" if self.moves_data else "nothing moved"


# What the suites know about calls; everything else is in the kernels' tables.
QUICK = frozenset(
    (
        *("null", "posix", "posix-shared", "master", "mpiio:collective", "mpiio:independent"),
        *("hdf5:collective", "hdf5:independent", "pnetcdf:collective", "pnetcdf:nonblocking"),
    )
)
STILL = frozenset(("null",))  # moves nothing
# Methods and calls for meshes only: other patterns have too little metadata to tell.
MESHES = frozenset(("cgns", "hdf5:collective-metadata"))
# Features besides the libraries, of a method or a call.
FEATURES = {"mpiio": ("mpiio",), "cgns:multi": ("cgns-multi",)}
FEATURES["hdf5:multi"] = ("hdf5-multi",)
# Call.copies of those that are not `yes`.
COPIES = dict.fromkeys(("mpiio:independent", "hdf5:independent", "cgns:independent"), "romio")
COPIES["cgns:serial"] = "no"
# Libraries that look for the file by its name themselves.
BY_ITSELF = frozenset(("cgns", "adios2"))


def _features(method: str, library: str, mode: str | None) -> tuple[str, ...]:
    """What a stack must have: the library and its dependencies, and FEATURES."""
    known = {one.name: one for one in libraries()}
    found: list[str] = []
    while library != "none":
        found.insert(0, library)
        library = known[library].needs
    return (*found, *FEATURES.get(method, ()), *FEATURES.get(f"{method}:{mode}", ()))


def _table() -> tuple[Call, ...]:
    """Each method of kernels/methods/methods.def in each of its modes."""
    modes = {row[0]: row for row in tables.rows("base/modes.def", "IO_MODE")}
    needs: dict[str, tuple[str, ...]] = {}
    found = []
    for _, method, library, bits, _ in tables.rows("methods/methods.def", "IO_METHOD"):
        needs[method] = _features(method, library, None)
        if method in BEHIND:
            found += [
                Call(
                    method,
                    None,
                    needs=needs[inner],
                    inner=inner,
                    servers=1,
                    copies=COPIES.get(f"{inner}:independent", "yes"),
                )
                for inner in BEHIND[method]
            ]
            continue
        for identifier in re.findall(r"(IO_\w+)_BIT", bits) or [None]:
            row = modes[identifier] if identifier else None
            mode = row[1] if row else None
            name = f"{method}:{mode}" if mode else method
            found.append(
                Call(
                    method,
                    mode,
                    needs=_features(method, library, mode),
                    quick=name in QUICK,
                    moves_data=name not in STILL,
                    only_meshes=bool(MESHES & {method, name}),
                    copies=COPIES.get(name, "yes"),
                    processes=1 if row and "IO_ONE_PROCESS" in row[2] else None,
                )
            )
    return tuple(found)


CALLS = _table()

# The calls that reserve processes.
SERVED = tuple(call.name for call in CALLS if call.servers)

BY_NAME = {call.name: call for call in CALLS}


def names(without: Iterable[str] = (), *, mesh: bool = False) -> list[str]:
    """The calls of a pattern, which is a `mesh` or not, except for those that make no sense for it:
    calls, or methods with all of theirs. `ValueError` for another name says which there are."""
    dropped, methods = set(without), {call.method for call in CALLS}
    for name in dropped - methods - set(BY_NAME):
        raise ValueError(f"calls.names: {unknown(name, sorted({*BY_NAME, *methods}))}")
    fitting = [call for call in CALLS if mesh or not call.only_meshes]
    return [call.name for call in fitting if not {call.name, call.method} & dropped]
