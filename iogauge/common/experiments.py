# SPDX-License-Identifier: BSD-3-Clause
"""The documents' experiments (references/experiments.yaml), and which runs reproduce them."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import paths

FILE = "references/experiments.yaml"
# The scale at which an experiment takes seconds and shows only that it runs, and its process
# counts in a sweep over them.
SMOKE, SMOKE_PROCESSES = "smoke", (1, 2)

Values = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Experiment:
    """One figure or table, as the file has it; `choose` and `at` with every value as text."""

    id: str
    place: str
    shows: str
    machine: str
    site: str
    test: str
    choose: Values
    at: Values
    note: str = ""
    fs: str = ""
    settings: Sequence[str] = ()
    processes: Sequence[int] = ()
    words: Sequence[str] = ()
    total_bytes: int = 0
    published: Sequence[str] = ()
    claims: Sequence[str] = ()

    @property
    def document(self) -> str:
        return next(name for name in documents() if self.id.startswith(f"{name}-"))

    @property
    def process_counts(self) -> tuple[int, ...]:
        """Process counts with data."""
        return tuple(self.processes) or tuple(map(int, self.at.get("processes", ())))

    def is_of(self, system: str) -> bool:
        """Whether it runs there: on its own site, or on a site of no document."""
        return system == self.site or system not in sites()

    def points(self, most: int) -> list[str]:
        """The experiment's process counts on a machine with so many, as `Point`s."""
        factor = scaled_down(max(self.process_counts), most)
        return [str(Point(n // factor, factor)) for n in self.process_counts if n >= factor]

    def has(self, test: str, parameters: Mapping[str, Any], most: int = 0) -> bool:
        """Whether such a run belongs to it. `most`: processes of a site of no document."""
        if test != self.test:
            return False
        wanted = dict(self.choose)
        if parameters.get("scale") != SMOKE:
            wanted |= self.at
            if most and "processes" in self.at:
                wanted["processes"] = tuple(self.points(most))
        return all(str(parameters.get(name)) in values for name, values in wanted.items())


@dataclass(frozen=True, order=True)
class Point:
    """A process count, and how many of the document's processes each stands for: `2x4096`."""

    processes: int
    factor: int = 1

    def __str__(self) -> str:
        return f"{self.processes}x{self.factor}" if self.factor > 1 else str(self.processes)

    @classmethod
    def of(cls, text: object) -> "Point":
        count, _, factor = str(text).partition("x")
        return cls(int(count), int(factor or 1))


def scaled_down(wanted: int, most: int) -> int:
    """The least power of two by which `wanted` must be divided to be at most `most`."""
    return 1 << max(0, -(-wanted // max(most, 1)) - 1).bit_length()


@functools.cache
def _file() -> Any:
    import yaml

    # read at each start of ReFrame: 4 ms with libyaml, 33 without
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((paths.ROOT / FILE).read_text(encoding="utf-8"), loader)


def documents() -> dict[str, str]:
    found: dict[str, str] = _file()["documents"]
    return found


def _values(entry: Mapping[str, Any]) -> Values:
    many = {name: value if isinstance(value, list) else [value] for name, value in entry.items()}
    return {name: tuple(map(str, values)) for name, values in many.items()}


@functools.cache
def experiments() -> tuple[Experiment, ...]:
    return tuple(
        Experiment(**{**row, "choose": _values(row["choose"]), "at": _values(row["at"])})
        for row in _file()["experiments"]
    )


@functools.cache
def sites() -> frozenset[str]:
    return frozenset(one.site for one in experiments())


def of_run(
    test: str, parameters: Mapping[str, Any], system: str, most: int = 0
) -> list[Experiment]:
    """The experiments that a run belongs to. `most`: processes of a site of no document."""
    return [
        one
        for one in experiments()
        if one.has(test, parameters, 0 if system in sites() else most)
        and one.is_of(system)
        and (not one.fs or system != one.site or parameters.get("fs") == one.fs)
    ]


def process_axis(test: str, system: str, most: int) -> list[str]:
    """The process counts of its experiments there and in smoke runs. `most`: as for `of_run`."""
    mine = [one for one in experiments() if one.test == test and one.is_of(system)]
    sweeps = [one for one in mine if "processes" in one.at]
    at_home = system in sites()
    found = {Point(n) for one in sweeps for n in one.process_counts if at_home or n <= most}
    if not at_home:
        found |= {Point.of(text) for one in sweeps for text in one.points(most)}
    return list(map(str, sorted({*map(Point, SMOKE_PROCESSES), *found})))
