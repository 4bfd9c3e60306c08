# SPDX-License-Identifier: BSD-3-Clause
"""A stack of a certificate: its built kernels, their abilities, and all settings of its MPI-IO. A
setting maps factors to values; its name is `fcoll=vulcan aggregators=2`, or `default`."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iogauge.analysis.errors import UsageError
from iogauge.common.paths import builds
from iogauge.common.tables import libraries

from .. import kernels
from .. import stacks as installed
from ..iokernel import CannotList, Stack, execute
from ..tune.space import SETTINGS

Setting = dict[str, str]

DEFAULT = "default"
AGGREGATORS = ("1", "2", "4")
# A component in ompi_info's output: `MCA fcoll: vulcan (MCA v2.1.0, ...)`.
COMPONENT = re.compile(r"^\s*MCA (io|fcoll): (\w+) ", re.MULTILINE)
OMPIO = "ompio"


def name_of(setting: Mapping[str, str]) -> str:
    return " ".join(f"{factor}={value}" for factor, value in setting.items()) or DEFAULT


def components(ompi_info: str) -> dict[str, list[str]]:
    """The components of `io` and `fcoll` of this Open MPI, from the output of ompi_info."""
    found: dict[str, list[str]] = {"io": [], "fcoll": []}
    for framework, name in COMPONENT.findall(ompi_info):
        found[framework].append(name)
    return found


def product(factors: Mapping[str, Iterable[str]]) -> list[Setting]:
    names = list(factors)
    return [
        {name: value for name, value in zip(names, values, strict=True) if value}
        for values in itertools.product(*factors.values())
    ]


def ompio(fcolls: Sequence[str]) -> list[Setting]:
    """Settings of OMPIO: each collective component, numbers of aggregators, data sieving."""
    factors = {"fcoll": ("", *fcolls), "aggregators": ("", *AGGREGATORS), "sieving": ("", "off")}
    return product(factors)


def romio(io: str = "") -> list[Setting]:
    """ROMIO's settings, in MPICH or (`io`) in Open MPI: data sieving and buffering on and off,
    aggregators."""
    sieving = ("", "off", "on")
    found = product({"io": (io,), "sieving": sieving, "buffering": ("", "off", "on")})
    return found + product(
        {"io": (io,), "sieving": sieving, "buffering": ("on",), "aggregators": AGGREGATORS}
    )


def of_openmpi(ompi_info: str) -> list[Setting]:
    found = components(ompi_info)
    settings = ompio(found["fcoll"]) if OMPIO in found["io"] else []
    for io in found["io"]:
        settings += [] if io == OMPIO else romio(io)
    return settings


# cb_config_list limits the aggregators of a node; its default is one.
PLACES = {one.name: one.places for one in SETTINGS}


def hints_of(setting: Mapping[str, str], is_ompio: bool) -> dict[str, str]:
    """Hints as in a site file. `is_ompio`: whether OMPIO is the stack's default."""
    of_ompio = is_ompio and "io" not in setting
    switch = {"off": "0"} if of_ompio else {"on": "enable", "off": "disable"}
    places = [
        place.replace("{v}", switch.get(value, value)).partition("=")
        for factor, value in setting.items()
        if factor != "io"
        for place in PLACES.get(f"ompio-{factor}" if of_ompio else factor, PLACES[factor])
    ]
    return {key: value for key, _, value in places}


def variables_of(setting: Mapping[str, str]) -> dict[str, str]:
    """The variables of a setting: the component of Open MPI's framework `io` is no hint."""
    return {"OMPI_MCA_io": setting["io"]} if "io" in setting else {}


COUNTS = (1, 2, 3, 4, 6, 8, 12, 16)


@dataclass(frozen=True)
class Call:
    """`words`: options for a method with another behind it. `through_mpi_io`: settings apply."""

    pattern: str
    method: str
    mode: str
    words: tuple[str, ...] = ()
    through_mpi_io: bool = True
    one_process: bool = False
    own_files: bool = False  # one file per process

    @property
    def served(self) -> bool:
        return bool(self.words)


@dataclass(frozen=True)
class Candidate(Stack):
    calls: Sequence[Call] = ()
    settings: Sequence[Setting] = ()
    is_ompio: bool = True
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> list[int]:
        return [n for n in COUNTS if n <= self.most]


def calls(listing: dict[str, Any]) -> list[Call]:
    methods = {method["name"]: method for method in listing["methods"]}
    alone = {mode["name"] for mode in listing["modes"] if mode["one_process"]}
    able = [(pair["pattern"], methods[pair["method"]]) for pair in listing["cross"] if pair["ok"]]
    found = []
    for pattern, method in able:
        name, own_files = method["name"], method["file_per_process"]
        if method["moves_nothing"]:
            continue
        if "inner" not in method["options"]:
            for mode in method["modes"] or [""]:
                through = bool(mode) and mode not in alone
                found.append(Call(pattern, name, mode, (), through, mode in alone, own_files))
            continue
        for of, inner in able:
            if of == pattern and inner["writes_alone"] and not inner["moves_nothing"]:
                words, through = ("--inner", inner["name"]), bool(inner["modes"])
                own_files = inner["file_per_process"]
                call = Call(pattern, name, inner["name"], words, through, own_files=own_files)
                found.append(call)
    return found


def _build(name: str, environ: Mapping[str, Any]) -> Path:
    """Build the kernels with the stack's libraries. Returns the program."""
    names = {library.name: library.option for library in libraries()}
    absent = names.keys() - {*environ["features"]} | {*installed.libraries(name)[1]}
    off = [f"-D{option}=OFF" for name, option in names.items() if name in absent]
    folder = builds() / f"certify-{environ['name']}"
    return kernels.build(environ, folder, *kernels.RELEASE, *off, without=absent)


def prepare(name: str, built: str = "") -> Candidate:
    """Prepare a stack with its kernels, built here or from the folder `built`. Raises
    UsageError."""
    environ = kernels.environ(name)
    extras = environ["extras"]
    if lacking := kernels.lacking(name):
        raise UsageError(lacking)
    inside = list(extras.get("inside", []))
    try:
        if built:
            program = Path(built.format(stack=environ["name"])) / "iokernel"
        else:
            program = Path(extras["iokernel"]) if "iokernel" in extras else _build(name, environ)
        stack = Stack.of(environ, program)
        listing = stack.listing(inside)
    except (kernels.CannotBuild, CannotList, OSError) as error:
        raise UsageError(f"stack {name}: {error}") from None
    is_ompio = "romio" not in environ["features"]
    own = romio()
    if is_ompio:
        beside = Path(stack.launch[0]).with_name("ompi_info")
        words = [*inside, "ompi_info"] if inside or not beside.is_absolute() else [str(beside)]
        done = execute(words, stack.variables)
        if done.status:
            raise UsageError(f"{' '.join(words)}: {done.why}")
        own = of_openmpi(done.stdout)
    versions = {key: str(value) for key, value in listing["libraries"].items() if value}
    return Candidate(
        **vars(stack), calls=calls(listing), settings=own, is_ompio=is_ompio, versions=versions
    )
