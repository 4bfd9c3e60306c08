# SPDX-License-Identifier: BSD-3-Clause
"""The space of settings that `tune` searches (analysis/statistics/tuning_search.py)."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from iogauge.analysis.statistics.surrogate import Config

CALL = "call"


@dataclass(frozen=True)
class Setting:
    """One line of the table.

    `places`: where a value goes, with `{v}` for it: `K=V` a hint (kernels/base/hints.def says where
    its library looks for it), `$K=V` a variable of the environment, `--K=V` an option of iokernel.
    `needs`: features of call, stack and file system without which it says nothing. `makes`: a
    feature, and what it turns into.
    """

    name: str
    values: tuple[str, ...]
    places: tuple[str, ...]
    needs: frozenset[str] = frozenset()
    makes: tuple[str, str] | None = None


@dataclass(frozen=True)
class Space:
    """`calls`: the features of each call. `features`: of stack and file system. `starts`: settings
    that were seen to be good together elsewhere. `base`: the default."""

    settings: tuple[Setting, ...]
    calls: Mapping[str, frozenset[str]]
    features: frozenset[str]
    default: Config
    starts: tuple[Config, ...] = ()

    def first(self) -> list[Config]:
        """With each of the starts, and without: each call."""
        found = [
            self.fit({CALL: call, **dict(start)})
            for start in (*self.starts[:1], (), *self.starts[1:])
            for call in self.calls
        ]
        return list(dict.fromkeys(found))

    def near(self, arm: Config) -> list[Config]:
        """Each that differs in one setting."""
        now = dict(arm)
        found = [self.fit({**now, CALL: call}) for call in self.calls]
        for setting in self.settings:
            if setting.name in now:
                found.append(self.fit({k: v for k, v in now.items() if k != setting.name}))
            found += [self.fit({**now, setting.name: value}) for value in setting.values]
        return [one for one in dict.fromkeys(found) if one != arm]

    def some(self, count: int, seed: str) -> list[Config]:
        """So many by chance, all if there are no more; the same for the same seed."""
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
        """Each that differs from all others in what it says."""
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
        """Whether `arm` has all settings of `other`; where `other` has none, the same call. The
        call counts only then: a library below it is the same for others."""
        settings = set(other) - {(CALL, dict(other)[CALL])}
        return settings <= set(arm) if settings else arm == other

    def fit(self, wanted: Mapping[str, str], of: Sequence[Setting] = ()) -> Config:
        """In the table's order, without what says nothing there. `of`: these settings only."""
        features = self.features | self.calls[wanted[CALL]]
        kept = [(CALL, wanted[CALL])]
        for setting in of or self.settings:
            if setting.name in wanted and setting.needs <= features:
                kept.append((setting.name, wanted[setting.name]))
                if setting.makes and setting.makes[0] in features:
                    features = (features - {setting.makes[0]}) | {setting.makes[1]}
        return tuple(kept)

    def places(self, arm: Config) -> list[str]:
        """Where the settings go: `K=V`, `$K=V`, `--K=V`."""
        now = dict(arm)
        return [
            place.replace("{v}", now[setting.name])
            for setting in self.settings
            if setting.name in now
            for place in setting.places
        ]

    @functools.cached_property
    def size(self) -> int:
        """How many there are in all."""
        return len(self.all)


def text(arm: Config, but: Iterable[str] = ()) -> str:
    """`pnetcdf:nonblocking, io=romio, aggregators=4`."""
    call, *rest = (value if name == CALL else f"{name}={value}" for name, value in arm
                   if name not in set(but))  # fmt: skip
    return ", ".join([call, *rest])
