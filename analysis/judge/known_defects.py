# SPDX-License-Identifier: BSD-3-Clause
"""Defects that write wrong bytes, as reported upstream, with the versions they affect."""

import functools
import re
from dataclasses import dataclass

from .certificate import IO, NONE, StackRuns, factors
from .references import FOLDER
from .yaml_file import YamlFile

Version = tuple[int, ...]


@dataclass(frozen=True)
class Seen:
    """How many of some runs were bad; `again`: repeats of a bad one with other seeds."""

    bad: int
    runs: int
    again_bad: int
    again: int


@dataclass(frozen=True)
class Report:
    """The fields are described in references/known-defects.yaml."""

    where: str
    says: str
    library: str
    series: tuple[tuple[Version, Version], ...]
    kind: str = ""
    io: str = ""
    pattern: str = ""
    tried: str = ""

    def concerns(self, version: str) -> bool:
        its = numbers(version)
        return version.startswith(self.library) and any(
            since <= its and (not mended or its < mended) for since, mended in self.series
        )

    def seen(self, stack: StackRuns) -> Seen:
        """What a stack's runs through that MPI-IO show."""
        counts = [
            count
            for fault in stack.faults
            if fault.kind == self.kind and self._its(fault.setting)
            for pattern, count in fault.patterns.items()
            if self._shown_by(pattern)
        ]
        bad, again_bad, again = map(sum, zip(*counts, strict=True)) if counts else (0, 0, 0)
        runs = sum(one.own for one in stack.tried if self._its(one.setting))
        return Seen(bad, runs, again_bad, again)

    def _shown_by(self, pattern: str) -> bool:
        if self.pattern:
            return pattern == self.pattern
        return pattern not in {one.pattern for one in reports() if one.kind == self.kind}

    def _its(self, setting: str) -> bool:
        if setting == NONE:
            return False
        io = factors(setting).get(IO, "")
        return io.startswith(self.io) if self.io else not io


@functools.cache
def reports() -> tuple[Report, ...]:
    file = YamlFile(FOLDER / "known-defects.yaml", FOLDER / "known-defects.schema.json")
    found = []
    for entry in file.data["reports"]:
        series = tuple(
            (numbers(since), numbers("".join(mended))) for since, *mended in entry.pop("series")
        )
        found.append(Report(series=series, **entry))
    return tuple(found)


def numbers(version: str) -> Version:
    """The first dotted number in a text such as `Open MPI v5.0.5`."""
    found = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()
