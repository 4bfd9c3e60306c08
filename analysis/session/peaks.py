# SPDX-License-Identifier: BSD-3-Clause
"""The practical peaks: what large aligned POSIX transfers reach on a file system. A case's own
ceilings only tell whether the machine was disturbed then."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, product
from pathlib import Path
from statistics import median
from typing import Literal, NamedTuple

from iogauge.common import tables
from iogauge.common.text import duration

from ..statistics.spread import Spread
from .model import CEILINGS, DIRECTIONS, Ceiling, Direction, Run

Source = Literal["peak test", "same job", "case"]
# A job was disturbed whose own ceiling is below this fraction of SessionPeak.calm.
DISTURBED = 0.5
PLAIN = ("create", "stat", "remove")
ROBUST = 0.9  # the part of ceilings, and of POSIX cases, not above the peak
NEAR = 0.9  # of what one job reached: another must reach that, or it does not count
ENOUGH = 0.9  # of a case's bytes: headers and padding make no other case
SMALL = "ceilings_"  # of the names of what small accesses and files reached
SHORT = 0.1  # seconds; shorter repeats give no advice

# The ceiling's transfers: to a file per process, or to one shared file.
CEILING_OF: dict[str, Ceiling] = {"posix": "fpp", "posix-shared": "shared"}


class Conditions(NamedTuple):
    """What a case and its peak have in common. Reading has no fsync."""

    system: str
    partition: str
    fs: str
    processes: int
    fsync: bool
    caches: str
    ceiling: Ceiling
    direction: Direction


class Small(NamedTuple):
    """What small accesses (small_read) and plain files (files_create) have in common."""

    system: str
    partition: str
    fs: str
    processes: int
    name: str


class SessionPeak(NamedTuple):
    """MiB/s, what measured it, and from how many jobs. `varied`: the best peak test over the worst;
    1 if there are fewer than two. `calm`: without cases."""

    value: float
    source: Source
    jobs: int
    varied: float
    calm: float

    def disturbed(self, own: float | None) -> bool:
        """Whether the machine was, during a job whose own ceiling is `own`."""
        return own is not None and own < DISTURBED * self.calm


class Reached(NamedTuple):
    """What a job reached, in MiB/s or operations a second. `most`: no larger case is compared with
    it, in bytes."""

    job: int
    most: float
    value: float
    source: Source


class Place:
    """All that was reached under the same conditions: by a job in its ceilings, by each repeat of a
    peak test, by a POSIX job. A peak test's ceilings last, its own repeats do not."""

    def __init__(self, reached: Iterable[Reached] = ()) -> None:
        self.reached = list(reached)
        self._known: dict[int, SessionPeak | None] = {}

    def peak(self, size: int = 0) -> SessionPeak | None:
        """What a case of so many bytes is compared with: the highest of the peak tests, what a
        tenth of the ceilings reach, and a tenth of the POSIX jobs that move ENOUGH of the bytes.
        Nothing counts that one job alone reached, or one repeat of the only peak test: so one lucky
        moment sets no peak."""
        if size not in self._known:
            fit = [one for one in self.reached if one.most >= ENOUGH * size]
            tests = _best([one for one in fit if one.source == "peak test"]).values() or [1.0]
            calm, _ = _top([one for one in fit if one.source != "case"])
            jobs, varied = len({one.job for one in fit}), max(tests) / min(tests)
            self._known[size] = SessionPeak(*_top(fit), jobs, varied, calm) if fit else None
        return self._known[size]

    @cached_property
    def ceilings(self) -> dict[int, float]:
        """The ceiling of each job that is not a peak test."""
        return {one.job: one.value for one in self.reached if one.source == "same job"}


def _best(found: Iterable[Reached]) -> dict[int, float]:
    best: dict[int, float] = {}
    for one in found:
        best[one.job] = max(one.value, best.get(one.job, 0.0))
    return best


def _top(found: Iterable[Reached]) -> tuple[float, Source]:
    by: dict[Source, list[Reached]] = defaultdict(list)
    for one in found:
        by[one.source].append(one)
    tests = by["peak test"]
    alone = [one.value for one in tests] if len({one.job for one in tests}) == 1 else []
    known = [*alone, *_best(chain(by["same job"], by["case"], [] if alone else tests)).values()]
    most = min(sorted(known)[-2:], default=0.0) / NEAR
    tops = []
    for source, reached in by.items():
        values = sorted(one.value for one in reached if one.value <= most)
        last = len(values) if source == "peak test" else math.ceil(ROBUST * len(values))
        tops += [(values[last - 1], source)] if values else []
    return max(tops, default=(0.0, "case"))


Peaks = Mapping[tuple[Ceiling | Literal["small"], Direction], SessionPeak]
BOTH = tuple(product(CEILINGS, DIRECTIONS))


class Highest:
    """The session's peaks."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._places: dict[Conditions | Small, Place] = defaultdict(Place)
        self._runs = [run for run in runs if run.counts and run.result]
        for job, run in enumerate(self._runs):
            for key, most, value, source in _reached(run):
                self._places[key].reached.append(Reached(job, most, value, source))

    def of(self, run: Run, ceiling: Ceiling, direction: Direction) -> SessionPeak | None:
        place = self._places.get(_conditions(run, ceiling, direction))
        return place.peak(run.result.payload_bytes if run.result else 0) if place else None

    @property
    def small(self) -> dict[Small, SessionPeak]:
        known = {key: place.peak() for key, place in self._places.items() if isinstance(key, Small)}
        return {key: peak for key, peak in sorted(known.items()) if peak and peak.calm}

    def rate(self, run: Run, operation: str) -> float | None:
        """How many plain files a second the peak tests created, looked up or removed."""
        peak = self.small.get(_small(run, f"files_{operation}"))
        return peak and peak.value

    def beside(self, folder: Path) -> Peaks:
        for run in self._runs:
            if run.folder and run.folder.resolve() == folder:
                large = {key: peak for key in BOTH if (peak := self.of(run, *key))}
                small = {d: self.small.get(_small(run, f"small_{d}")) for d in DIRECTIONS}
                return large | {("small", d): peak for d, peak in small.items() if peak}
        return {}

    def all(self) -> dict[Conditions, SessionPeak]:
        found: dict[Conditions, SessionPeak] = {}
        for run in self._runs:
            for which in BOTH:
                if run.method != "null" and (peak := self.of(run, *which)):
                    key = _conditions(run, *which)
                    found[key] = max(peak, found.get(key, peak))
        return dict(sorted(found.items()))


def _reached(run: Run) -> Iterator[tuple[Conditions | Small, float, float, Source]]:
    assert run.result
    own: Source = "peak test" if run.is_peak else "same job"
    for which in BOTH:
        middle = beside(run, *which)
        each = [sample.ceilings.get(which) for sample in run.samples if run.is_peak] or [middle]
        for value in filter(None, each):
            yield _conditions(run, *which), math.inf, value, own
    lasted = run.is_peak and beside(run, "fpp", "write")
    cases = () if lasted or run.result.rates or run.method not in CEILING_OF else DIRECTIONS
    for direction in cases:
        key = _conditions(run, CEILING_OF[run.method], direction)
        known = [reached for one in run.samples if (reached := one.bandwidth(direction))]
        if known and not run.is_peak:
            yield key, run.result.payload_bytes, median(known), "case"
        for value in known if run.is_peak else ():
            yield key, math.inf, value, own
    for name, value in chain(*(sample.values.items() for sample in run.samples)):
        if name.startswith(SMALL):
            yield _small(run, name.removeprefix(SMALL)), math.inf, value, "peak test"
    for name in PLAIN if run.method == "posix" else ():
        if rate := run.result.rates.get(name):
            yield _small(run, f"files_{name}"), math.inf, rate, "case"


def beside(run: Run, ceiling: Ceiling, direction: Direction) -> float | None:
    """The median of the ceilings measured between the repeats of a job, MiB/s; of a peak test the
    best. None where only its clients measured them."""
    if run.method in tables.BEHIND:
        return None
    known = Spread.of(filter(None, (s.ceilings.get((ceiling, direction)) for s in run.samples)))
    if known is None:
        return None
    return known.high if run.is_peak else known.median


def too_short(seconds: float) -> str:
    """Why a repeat is too short for advice; empty if it is not."""
    text = f"a repeat took {duration(seconds)}, too short for advice"
    return text if seconds < SHORT else ""


def _small(run: Run, name: str) -> Small:
    return Small(run.system, run.partition, run.fs, run.processes or 0, name)


def _conditions(run: Run, ceiling: Ceiling, direction: Direction) -> Conditions:
    found = run.result
    assert found
    fsync = direction == "write" and found.fsync
    return Conditions(
        run.system, run.partition, run.fs, found.processes, fsync, found.caches, ceiling, direction
    )
