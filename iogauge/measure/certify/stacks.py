# SPDX-License-Identifier: BSD-3-Clause
"""A stack of a certificate: its kernels, built; what they can do; its settings and versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iogauge.common.paths import builds
from iogauge.common.tables import libraries
from iogauge.measure import kernels
from iogauge.measure.certify import settings
from iogauge.measure.certify.settings import Setting
from iogauge.measure.iokernel import CannotList, Stack, execute
from site_configs.support import chosen

COUNTS = (1, 2, 3, 4, 6, 8, 12, 16)


class NotHere(Exception):
    """A stack that this machine does not have; the message names what brings it."""


@dataclass(frozen=True)
class Call:
    """A pattern by a method in a mode. `words`: what a method that stands in front of another is
    told. `through_mpi_io`: the settings of MPI-IO are its own."""

    pattern: str
    method: str
    mode: str
    words: tuple[str, ...] = ()
    through_mpi_io: bool = True
    one_process: bool = False
    own_files: bool = False  # a file of each process

    @property
    def served(self) -> bool:
        return bool(self.words)


@dataclass(frozen=True)
class Candidate(Stack):
    """A stack that is certified."""

    calls: Sequence[Call] = ()
    settings: Sequence[Setting] = ()
    is_ompio: bool = True
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> list[int]:
        return [n for n in COUNTS if n <= self.most]


def calls(listing: dict[str, Any]) -> list[Call]:
    """What the kernels can, from their list; not what moves no data."""
    methods = {method["name"]: method for method in listing["methods"]}
    alone = {mode["name"] for mode in listing["modes"] if mode["one_process"]}
    able = [(pair["pattern"], methods[pair["method"]]) for pair in listing["cross"] if pair["ok"]]
    found = []
    for pattern, method in able:
        if method["moves_nothing"]:
            continue
        if "inner" in method["options"]:
            found += [
                Call(pattern, method["name"], inner["name"], ("--inner", inner["name"]),
                     bool(inner["modes"]), False, inner["file_per_process"])
                for of, inner in able
                if of == pattern and inner["writes_alone"] and not inner["moves_nothing"]
            ]  # fmt: skip
            continue
        for mode in method["modes"] or [""]:
            on_one = mode in alone
            found.append(
                Call(pattern, method["name"], mode, (), bool(mode) and not on_one, on_one,
                     method["file_per_process"])
            )  # fmt: skip
    return found


def _there(needs: Sequence[Mapping[str, str]]) -> str:
    """What is missing, with what brings it; empty where all is there."""
    for one in needs:
        what = one["what"]
        if "/" in what and not Path(what).exists():
            return f"{what} is missing; right is: {one['from']}"
    return ""


def _build(environ: Mapping[str, Any]) -> Path:
    """The kernels with what of the stack's libraries is there; the program."""
    needs, features = environ["extras"]["needs"], environ["features"]
    names = {library.name: library.option for library in libraries()}
    absent = {n for n in names if n not in features or _there(needs.get(n, []))}
    off = [f"-D{option}=OFF" for name, option in names.items() if name in absent]
    folder = builds() / f"certify-{environ['name']}"
    return kernels.build(environ, folder, *kernels.RELEASE, *off, without=absent)


def prepare(name: str, built: str = "") -> Candidate:
    """The stack of this name (site_configs/support/chosen.py) with its kernels: built here, or from
    the folder `built`, where {stack} is its name. Raises NotHere."""
    environ = chosen.stack(name)
    extras = environ["extras"]
    needs = extras["needs"]
    if lacking := _there([*needs["build"], *needs["mpi"]]):
        raise NotHere(f"stack {name}: {lacking}")
    inside = list(extras.get("inside", []))
    try:
        if built:
            program = Path(built.format(stack=environ["name"])) / "iokernel"
        else:
            program = Path(extras["iokernel"]) if "iokernel" in extras else _build(environ)
        stack = Stack.of(environ, program)
        listing = stack.listing(inside)
    except (kernels.CannotBuild, CannotList, OSError) as error:
        raise NotHere(f"stack {name}: {error}") from None
    is_ompio = "romio" not in environ["features"]
    own = settings.romio()
    if is_ompio:
        beside = Path(stack.launch[0]).with_name("ompi_info")
        words = [*inside, "ompi_info"] if inside or not beside.is_absolute() else [str(beside)]
        done = execute(words, stack.variables)
        if done.status:
            raise NotHere(f"{' '.join(words)}: {done.why}")
        own = settings.of_openmpi(done.stdout)
    versions = {key: str(value) for key, value in listing["libraries"].items() if value}
    return Candidate(**vars(stack), calls=calls(listing), settings=own, is_ompio=is_ompio,
                     versions=versions)  # fmt: skip
