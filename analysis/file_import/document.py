# SPDX-License-Identifier: BSD-3-Clause
"""The document that `iokernel file --like` reads: kernels/patterns/file_schema.c has its names."""

import math
import shlex
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from iogauge.common import json_file

from ..errors import AnalysisError

FORMAT = "iogauge.like/1"
SIZES = {
    "int8": 1,
    "uint8": 1,
    "char": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float32": 4,
    "float64": 8,
}
MOST_DIMENSIONS = 5
MOST_OF_COMPOUND = 4096  # bytes (IO_MAX_ELEMENT)
Runs = list[list[list[int]]]  # for each process its runs: first point, count


class CannotLikeError(AnalysisError):
    """The file cannot be read, or holds what no pattern can."""


@dataclass(frozen=True)
class Attribute:
    """`values`: a text (char), a number, or a list of numbers."""

    name: str
    type: str
    values: Any


@dataclass(frozen=True)
class Member:
    """A member of a compound type: an array; the shape () is one value."""

    name: str
    type: str
    shape: tuple[int, ...] = ()

    def bytes(self) -> int:
        return SIZES[self.type] * math.prod(self.shape)


class Place(NamedTuple):
    """An array in a mesh. `role`: of kernels/patterns/file_schema.c. `node`: its name there."""

    zone: str
    role: str
    node: str


@dataclass
class Variable:
    """`filters`: names and levels (filters.def). `cannot`: content that no pattern can hold."""

    name: str
    type: str
    dimensions: list[str]
    chunk: list[int] | None = None
    filters: list[tuple[str, int]] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)
    cannot: str = ""
    members: list[Member] = field(default_factory=list)
    place: Place | None = None

    def size(self) -> int:
        """Bytes of an element. Members are packed."""
        return sum(one.bytes() for one in self.members) if self.members else SIZES[self.type]


@dataclass
class Like:
    """`unlimited`: the dimensions that may grow; `lists`: who has which points of a dimension;
    `maps`: of several dimensions together; `notes`: what is not imported."""

    source: str
    dimensions: dict[str, int] = field(default_factory=dict)
    unlimited: set[str] = field(default_factory=set)
    variables: list[Variable] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)
    lists: dict[str, Runs] = field(default_factory=dict)
    maps: dict[tuple[str, ...], Runs] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def bytes(self) -> int:
        return sum(
            one.size() * math.prod(self.dimensions[name] for name in one.dimensions)
            for one in self.variables
        )


def attribute(name: str, values: Any) -> Attribute | None:
    """A value from a library: a text, a numpy number or one-dimensional array. None for others."""
    if isinstance(values, bytes):
        values = values.decode("utf-8", "replace")
    if isinstance(values, str):
        return Attribute(name, "char", values)
    found = np.asarray(values)
    if found.dtype.name not in SIZES or found.ndim > 1 or not found.size:
        return None
    return Attribute(name, found.dtype.name, found.tolist())


def members(kind: np.dtype[Any]) -> list[Member] | str:
    """A compound from numpy; text for what no pattern can hold."""
    found = []
    for name in kind.names or ():
        one = kind[name]
        base, shape = one.subdtype or (one, ())
        called = "char" if base == np.dtype("S1") else base.name
        if base.names:
            return "a compound within a compound"
        if called not in SIZES:
            return f"a compound with {called} in it"
        found.append(Member(name, called, tuple(int(n) for n in shape)))
    return found


def narrow(like: Like, only: list[str], skip: list[str]) -> None:
    names = [one.name for one in like.variables]
    for name in (*only, *skip):
        if name not in names:
            raise CannotLikeError(f"{like.source}: no variable {name}; it has {', '.join(names)}")
    like.variables = [
        one for one in like.variables if one.name not in skip and (not only or one.name in only)
    ]
    used = {name for one in like.variables for name in one.dimensions}
    like.dimensions = {name: n for name, n in like.dimensions.items() if name in used}
    like.unlimited &= used


def resize(like: Like, lengths: dict[str, int]) -> None:
    """Other lengths of dimensions; an unlimited one becomes fixed."""
    for name, length in lengths.items():
        if name not in like.dimensions:
            have = ", ".join(like.dimensions) or "none"
            raise CannotLikeError(f"{like.source}: no dimension {name}; it has {have}")
        like.dimensions[name] = length
        like.unlimited.discard(name)


def check(like: Like) -> None:
    """`CannotLikeError` that names what no pattern can hold, and what would be right."""
    if not like.variables:
        raise CannotLikeError(f"{like.source}: no variable; expected a file with at least one")
    if left := [one for one in like.variables if one.cannot]:
        skip = " ".join(f"--skip {shlex.quote(one.name)}" for one in left)
        raise CannotLikeError(
            f"{like.source}: {', '.join(f'variable {one.name} holds {one.cannot}' for one in left)}"
            f"; expected numbers or characters: {skip}"
        )
    for name, length in like.dimensions.items():
        if name in like.unlimited:
            raise CannotLikeError(
                f"{like.source}: dimension {name} is unlimited, with {length} records now; say "
                f"how many are written at once: --length {name}={max(length, 1)}"
            )
        if length < 1:
            raise CannotLikeError(
                f"{like.source}: dimension {name} has length 0; expected at least 1: "
                f"--length {name}=1"
            )
    for one in like.variables:
        most = MOST_DIMENSIONS - (1 if one.members else 0)
        if len(one.dimensions) > most:
            raise CannotLikeError(
                f"{like.source}: variable {one.name} has {len(one.dimensions)} dimensions; "
                f"expected at most {most}: --skip {one.name}"
            )
        if one.members and (not one.dimensions or one.size() > MOST_OF_COMPOUND):
            raise CannotLikeError(
                f"{like.source}: variable {one.name} is a compound of {one.size()} bytes with "
                f"{len(one.dimensions)} dimensions; expected at most {MOST_OF_COMPOUND} bytes and "
                f"at least one dimension: --skip {one.name}"
            )


def _number(value: Any) -> Any:
    """JSON has no infinity and no NaN, and its readers no integer above 2^63."""
    if isinstance(value, list):
        return [_number(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return str(value) if isinstance(value, int) and value >= 2**63 else value


def _attributes(some: list[Attribute]) -> list[dict[str, Any]]:
    return [{**asdict(one), "values": _number(one.values)} for one in some]


def _variable(like: Like, one: Variable) -> dict[str, Any]:
    """Zones are numbered from 0, leaving out those without variables."""
    zones = list(dict.fromkeys(v.place.zone for v in like.variables if v.place))
    place = one.place and {**one.place._asdict(), "zone": zones.index(one.place.zone)}
    chunk = fitting(like, one) if one.chunk else None
    members = [asdict(member) for member in one.members]
    given = {"members": members, "chunk": chunk, "filters": one.filters, **(place or {})}
    return {
        "name": one.name,
        "type": one.type,
        "dimensions": one.dimensions,
        **{name: value for name, value in given.items() if value or name in (place or {})},
        "attributes": _attributes(one.attributes),
    }


def write(like: Like, path: Path) -> None:
    document = {
        "format": FORMAT,
        "source": like.source,
        "dimensions": [
            {
                "name": name,
                "length": n,
                **({"list": like.lists[name]} if name in like.lists else {}),
            }
            for name, n in like.dimensions.items()
        ],
        "variables": [_variable(like, one) for one in like.variables],
        "attributes": _attributes(like.attributes),
    }
    if like.maps:
        maps = [{"dimensions": list(names), "runs": runs} for names, runs in like.maps.items()]
        document["maps"] = maps
    json_file.write(path, document)


def fitting(like: Like, one: Variable) -> list[int]:
    """Chunks no longer than the dimensions, which a --length may have shortened."""
    lengths = [like.dimensions[name] for name in one.dimensions]
    return [min(a, b) for a, b in zip(one.chunk or [], lengths, strict=True)]
