# SPDX-License-Identifier: BSD-3-Clause
"""The search space of `tune`: a table of all settings, for a stack, a pattern and a scope."""

import csv
import dataclasses
import functools
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from iogauge.analysis.errors import UsageError
from iogauge.analysis.statistics.surrogate import Config
from iogauge.common.text import unknown

CALL = "call"


@dataclass(frozen=True)
class Setting:
    """One line of the table.

    `places`: where a value goes, with `{v}` for it: `K=V` a hint (kernels/base/hints.def says where
    its library looks for it), `$K=V` a variable of the environment, `--K=V` an option of iokernel.
    `needs`: features of call, stack and file system without which it has no effect. `makes`: a
    feature, and what it turns into.
    """

    name: str
    values: tuple[str, ...]
    places: tuple[str, ...]
    needs: frozenset[str] = frozenset()
    makes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Space:
    """`calls`, `features`: of each call; of stack and file system. `starts`: good elsewhere."""

    settings: tuple[Setting, ...]
    calls: Mapping[str, frozenset[str]]
    features: frozenset[str]
    default: Config
    starts: tuple[Config, ...] = ()

    def first(self) -> list[Config]:
        """Each call, with each of the starts and without."""
        found = [
            self.fit({CALL: call, **dict(start)})
            for start in (*self.starts[:1], (), *self.starts[1:])
            for call in self.calls
        ]
        return list(dict.fromkeys(found))

    def near(self, arm: Config) -> list[Config]:
        """Arms that differ in one setting."""
        now = dict(arm)
        found = [self.fit({**now, CALL: call}) for call in self.calls]
        for setting in self.settings:
            if setting.name in now:
                found.append(self.fit({k: v for k, v in now.items() if k != setting.name}))
            found += [self.fit({**now, setting.name: value}) for value in setting.values]
        return [one for one in dict.fromkeys(found) if one != arm]

    def some(self, count: int, seed: str) -> list[Config]:
        """Draw so many random arms, or all; reproducible by the seed."""
        if self.size <= count:
            return self.all
        generator = random.Random(seed)
        found: dict[Config, None] = {}
        calls = list(self.calls)
        for _ in range(2 * count):
            wanted = {CALL: generator.choice(calls)}
            for setting in self.settings:
                value = generator.choice(("", *setting.values))
                wanted |= {setting.name: value} if value else {}
            found[self.fit(wanted)] = None
        return list(found)[:count]

    @functools.cached_property
    def all(self) -> list[Config]:
        """All arms that differ in effect."""
        found: dict[Config, None] = {}
        for call in self.calls:
            wanted: list[dict[str, str]] = [{CALL: call}]
            for place, setting in enumerate(self.settings):
                known = self.settings[: place + 1]
                more = [{**one, setting.name: value} for one in wanted for value in setting.values]
                fitting = (self.fit(one, known) for one in [*wanted, *more])
                wanted = [dict(arm) for arm in dict.fromkeys(fitting)]
            found |= dict.fromkeys(map(self.fit, wanted))
        return list(found)

    def contains(self, arm: Config, other: Config) -> bool:
        """Whether `arm` has all settings of `other`, or the same call if `other` has none."""
        settings = set(other) - {(CALL, dict(other)[CALL])}
        return settings <= set(arm) if settings else arm == other

    def fit(self, wanted: Mapping[str, str], of: Sequence[Setting] = ()) -> Config:
        """Effective settings in table order. `of`: only these settings."""
        features = self.features | self.calls[wanted[CALL]]
        kept = [(CALL, wanted[CALL])]
        for setting in of or self.settings:
            if setting.name in wanted and setting.needs <= features:
                kept.append((setting.name, wanted[setting.name]))
                if setting.makes and setting.makes[0] in features:
                    features = (features - {setting.makes[0]}) | {setting.makes[1]}
        return tuple(kept)

    def places(self, arm: Config) -> list[str]:
        now = dict(arm)
        return [
            place.replace("{v}", now[setting.name])
            for setting in self.settings
            if setting.name in now
            for place in setting.places
        ]

    @functools.cached_property
    def size(self) -> int:
        return len(self.all)


def text(arm: Config) -> str:
    """`pnetcdf:nonblocking, io=romio, aggregators=4`."""
    call, *rest = (value if name == CALL else f"{name}={value}" for name, value in arm)
    return ", ".join([call, *rest])


Scope = Literal["everything", "library-only", "same-file", "same-calls"]

# Methods that write through MPI-IO, so that its settings have an effect.
OVER_MPI_IO = ("mpiio", "hdf5", "pnetcdf", "netcdf4", "cgns")
OTHER_ORDER = "mode:ordered"  # feature of a call whose file orders data differently
ALONE = ("independent", "ordered")  # modes with independent MPI-IO calls
UNITS = {"k": 1024, "m": 1024**2}


def _settings() -> Iterator[Setting]:
    """The lines of settings.csv, several words in a cell; sizes end with k or m."""
    lines = Path(__file__).with_name("settings.csv").read_text(encoding="utf-8").splitlines()
    for name, *cells in list(csv.reader(lines))[1:]:
        values, places, needs, makes = (tuple(cell.split()) for cell in cells)
        sizes = tuple(re.sub(r"^(\d+)([km])$", _bytes, value) for value in values)
        yield Setting(name, sizes, places, frozenset(needs), makes)


def _bytes(size: re.Match[str]) -> str:
    return str(int(size[1]) * UNITS[size[2]])


SETTINGS = tuple(_settings())
FREE = frozenset({"free-layout"})  # the file may order data differently

# Starting points: good combinations on one node (the project's measurements of S3D).
STARTS: tuple[Config, ...] = (
    (
        ("io", "romio"),
        ("buffering", "enable"),
        ("aggregators", "all"),
        ("buffer", str(UNITS["m"])),
        ("swap-in-place", "enable"),
    ),
    (("io", "romio"),),
    (("fcoll", "two_phase"),),
)


def space_of(
    listing: Mapping[str, Any],
    pattern: str,
    default: str,
    processes: int,
    scope: Scope = "everything",
    features: frozenset[str] = frozenset(),
) -> Space:
    """`listing`: of `iokernel --list --json -`. `features`: `ompio`, ... Raises UsageError."""
    if pattern not in (names := [one["name"] for one in listing["patterns"]]):
        raise UsageError(f"pattern {unknown(pattern, names)}")
    calls = dict(_calls(listing, pattern))
    named = next((name for name in calls if default in (name, name.partition(":")[0])), None)
    if named is None:
        raise UsageError(f"for {pattern}, --default {unknown(default, calls)}")
    inside = {
        name: of | (FREE if scope == "everything" else frozenset())
        for name, of in calls.items()
        if name == named or _is_inside(name, of, named, scope)
    }
    counts = {"all": str(processes), "half": str(math.ceil(processes / 2))}
    settings = tuple(
        dataclasses.replace(
            one, values=tuple(dict.fromkeys(counts.get(value, value) for value in one.values))
        )
        for one in SETTINGS
    )
    starts = tuple(
        tuple((name, counts.get(value, value)) for name, value in start) for start in STARTS
    )
    return Space(settings, inside, features, ((CALL, named),), starts)


def _is_inside(name: str, features: frozenset[str], default: str, scope: Scope) -> bool:
    if scope == "everything":
        return True
    if OTHER_ORDER in features:
        return False
    if scope == "library-only":
        return "over-mpi-io" in features
    return scope == "same-file" and name.partition(":")[0] == default.partition(":")[0]


def _calls(listing: Mapping[str, Any], pattern: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Each method and mode that can hold the pattern and moves bytes, with its features."""
    one_process = {mode["name"] for mode in listing["modes"] if mode["one_process"]}
    fitting = {c["method"] for c in listing["cross"] if c["pattern"] == pattern and c["ok"]}
    for method in listing["methods"]:
        name = method["name"]
        usable = method["available"] and not method["moves_nothing"] and name in fitting
        if not usable or "io-processes" in method["options"]:
            continue
        for mode in [mode for mode in method["modes"] if mode not in one_process] or [""]:
            features = {f"method:{name}", f"mode:{mode}"}
            if name in OVER_MPI_IO:
                features |= {"over-mpi-io", "alone" if mode in ALONE else "together"}
            yield f"{name}:{mode}" if mode else name, frozenset(features)
