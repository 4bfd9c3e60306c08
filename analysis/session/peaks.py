# SPDX-License-Identifier: BSD-3-Clause
"""The practical peaks: what large aligned POSIX transfers reach on a file system. A case's own
ceilings only tell whether the machine was disturbed then."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Literal, NamedTuple

from iogauge.common import tables

from ..statistics.spread import Spread
from .model import CEILINGS, DIRECTIONS, Ceiling, Direction, Result, Run

Source = Literal["peak test", "same job", "case"]
Found = tuple[float, float, Source]  # (largest case in bytes, MiB/s)
# A job was disturbed whose own ceiling is below this fraction of SessionPeak.calm.
DISTURBED = 0.5
PLAIN = ("create", "stat", "remove")
ROBUST = 0.9  # the part of the jobs' ceilings, and of POSIX cases, that are not above the peak
ENOUGH = 0.9  # of a case's bytes: headers and padding make no other case
SMALL = "ceilings_"  # of the names of what small accesses and files reached
SHORT = 0.1  # seconds; shorter repeats give no advice

# The ceiling's transfers: to a file per process, or to one shared file.
CEILING_OF: dict[str, Ceiling] = {"posix": "fpp", "posix-shared": "shared"}


class Conditions(NamedTuple):
    """What a case and its peak have in common. Reading does not depend on fsync."""

    system: str
    partition: str
    fs: str
    processes: int
    fsync: bool
    caches: str
    ceiling: Ceiling
    direction: Direction


class SessionPeak(NamedTuple):
    """From so many jobs, MiB/s, and what measured it. `varied`: the best peak test over the worst;
    1 if there are fewer than two. `calm`: without cases."""

    value: float
    source: Source
    jobs: int
    varied: float
    calm: float


Small = Literal["small"]  # accesses of 4 KiB a second
Peaks = Mapping[tuple[Ceiling | Small, Direction], SessionPeak]
BOTH = tuple(product(CEILINGS, DIRECTIONS))


class Highest:
    """The session's peaks, MiB/s: the highest over the best repeats of peak tests, what a tenth of
    the jobs' ceilings reach, and a tenth of the POSIX jobs that move ENOUGH bytes. So one lucky
    moment sets no peak. A peak test's ceilings last, its own repeats do not."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._found: dict[Conditions, list[Found]] = defaultdict(list)
        self._of: dict[tuple[object, ...], SessionPeak | None] = {}
        self._runs: list[Run] = []
        self.rates: dict[tuple[str, str, str, int, str], float] = {}  # the last: files_create
        for run in runs:
            if run.counts and run.result:
                self._runs.append(run)
                self._add_bandwidths(run, run.result)
                self._add_rates(run, run.result)

    def _add_bandwidths(self, run: Run, result: Result) -> None:
        source: Source = "peak test" if run.is_peak else "same job"
        for which in BOTH:
            if own := beside(run, *which):
                self._found[_conditions(run, *which)].append((math.inf, own, source))
        lasted = run.is_peak and beside(run, "fpp", "write")
        for direction in () if lasted or result.rates else DIRECTIONS:
            reached = Spread.of(filter(None, (s.bandwidth(direction) for s in run.samples)))
            if reached and run.method in CEILING_OF:
                case: Found = (result.payload_bytes, reached.median, "case")
                found = (math.inf, reached.high, source) if run.is_peak else case
                self._found[_conditions(run, CEILING_OF[run.method], direction)].append(found)

    def _add_rates(self, run: Run, result: Result) -> None:
        known = [
            (name.removeprefix(SMALL), value)
            for name, value in chain(*(s.values.items() for s in run.samples))
            if name.startswith(SMALL)
        ]
        if run.method == "posix":
            plain = [name for name in PLAIN if name in result.rates]
            known += [(f"files_{name}", result.rates[name]) for name in plain]
        for name, value in known:
            key = (*_place(run), name)
            self.rates[key] = max(value, self.rates.get(key, 0.0))

    def of(self, run: Run, ceiling: Ceiling, direction: Direction) -> SessionPeak | None:
        """The peak that a run is compared with, if any; cached by size and conditions."""
        size = run.result.payload_bytes if run.result else 0
        key = (_conditions(run, ceiling, direction), size)
        if key not in self._of:
            by: dict[Source, list[float]] = defaultdict(list)
            for most, value, source in self._found.get(key[0], []):
                if most >= ENOUGH * size:
                    by[source].append(value)
            tops = [(_robust(source, values), source) for source, values in by.items()]
            tests = by.get("peak test") or [1.0]
            calm = max((top for top, source in tops if source != "case"), default=0.0)
            jobs = sum(map(len, by.values()))
            varied = max(tests) / min(tests)
            self._of[key] = SessionPeak(*max(tops), jobs, varied, calm) if tops else None
        return self._of[key]

    def rate(self, run: Run, operation: str) -> float | None:
        """How many plain files a second the peak tests created, looked up or removed."""
        return self.rates.get((*_place(run), f"files_{operation}"))

    def beside(self, folder: Path) -> Peaks:
        """The peaks that the run in a folder is compared with."""
        for run in self._runs:
            if run.folder and run.folder.resolve() == folder:
                large = {key: peak for key in BOTH if (peak := self.of(run, *key))}
                small = {way: self.rates.get((*_place(run), f"small_{way}")) for way in DIRECTIONS}
                return large | {
                    ("small", way): SessionPeak(rate, "peak test", 1, 1.0, rate)
                    for way, rate in small.items() if rate
                }  # fmt: skip
        return {}

    def all(self) -> dict[Conditions, SessionPeak]:
        """The peaks that its runs are compared with, by file system."""
        found: dict[Conditions, SessionPeak] = {}
        for run in self._runs:
            for which in BOTH:
                if run.method != "null" and (peak := self.of(run, *which)):
                    key = _conditions(run, *which)
                    found[key] = max(peak, found.get(key, peak))
        return dict(sorted(found.items()))


def _robust(source: Source, values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[-1 if source == "peak test" else math.ceil(ROBUST * len(ordered)) - 1]


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
    text = f"a repeat took {1000 * seconds:.2g} ms, too short for advice"
    return text if seconds < SHORT else ""


def _place(run: Run) -> tuple[str, str, str, int]:
    return run.system, run.partition, run.fs, run.processes or 0


def _conditions(run: Run, ceiling: Ceiling, direction: Direction) -> Conditions:
    assert run.result
    fsync = direction == "write" and run.result.fsync
    return Conditions(
        run.system, run.partition, run.fs, run.result.processes, fsync, run.result.caches, ceiling,
        direction,
    )  # fmt: skip
