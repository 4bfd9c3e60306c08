# SPDX-License-Identifier: BSD-3-Clause
"""acceptance.yaml: what a machine was promised to do, in cases with bounds (docs/analysis.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .references import FOLDER
from .yamlfile import YamlFile

LEVEL = 0.95
_OF_PEAK = ("write_bw", "read_bw")

Of = Literal["", "peak", "baseline", "runs"]


@dataclass(frozen=True)
class Bound:
    """`value` in the quantity's unit, or a part of what `of` says: the `peak` of the same job
    (`what`: fpp or shared), a learned `baseline` (its name), other `runs` (keys that differ)."""

    value: float
    at_least: bool
    of: Of = ""
    what: Any = None

    def meets(self, value: float) -> bool:
        return value >= self.value if self.at_least else value <= self.value

    def __str__(self) -> str:
        word = f"at {'least' if self.at_least else 'most'} {self.value:g}"
        if not self.of:
            return word
        named = self.what
        if isinstance(named, Mapping):
            named = " ".join(f"{key}={value}" for key, value in named.items())
        return f"{word} of {self.of} {named}"


@dataclass(frozen=True)
class Case:
    """`where`: the keys of --where, each with the values that it may have. `jobs`, `repeats`: so
    many at least, of each test case that the keys choose."""

    name: str
    where: Mapping[str, Sequence[str]]
    quantity: str
    bound: Bound
    jobs: int
    repeats: int


@dataclass(frozen=True)
class Acceptance:
    """`level`: how sure all verdicts together are."""

    name: str
    level: float
    cases: tuple[Case, ...]


def read(path: Path) -> Acceptance:
    """Raises ReferenceFileError, with the line, for a file that is missing or has a mistake."""
    file = YamlFile(path, FOLDER / "acceptance.schema.json")
    data = file.data
    cases = [_case(file, i, {**_both(data), **one}) for i, one in enumerate(data["cases"])]
    for i, one in enumerate(cases):
        if one.name in {other.name for other in cases[:i]}:
            raise file.error(["cases", i], f"a case {one.name!r} stands twice; give it a name")
    return Acceptance(data["name"], data.get("level", LEVEL), tuple(cases))


def _both(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in ("jobs", "repeats") if name in data}


def _case(file: YamlFile, index: int, entry: Mapping[str, Any]) -> Case:
    ends = [name for name in ("at_least", "at_most") if name in entry]
    if len(ends) != 1:
        raise file.error(["cases", index], "expected at_least or at_most, one of them")
    ((of, what),) = entry.get("of", {"": None}).items()
    if of == "peak" and entry["quantity"] not in _OF_PEAK:
        wrong = f"of peak: expected {' or '.join(_OF_PEAK)}, found {entry['quantity']!r}"
        raise file.error(["cases", index, "quantity"], wrong)
    if of == "runs":
        what = {key: text(value) for key, value in what.items()}
    where = {key: _texts(value) for key, value in entry["where"].items()}
    words = " ".join(f"{key}={','.join(values)}" for key, values in where.items())
    return Case(
        name=entry.get("name") or f"{words} {entry['quantity']}",
        where=where,
        quantity=entry["quantity"],
        bound=Bound(float(entry[ends[0]]), ends[0] == "at_least", of, what),
        jobs=entry.get("jobs", 1),
        repeats=entry.get("repeats", 1),
    )


def _texts(value: Any) -> list[str]:
    return [text(one) for one in value] if isinstance(value, list) else [text(value)]


def text(value: Any) -> str:
    """As the store's columns are compared: `true`, `16`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
