# SPDX-License-Identifier: BSD-3-Clause
"""The practical peaks: what large aligned POSIX transfers reach on a file system.

A share is of the session's peak (`Highest`; in SQL: compare_references.with_peak). The ceilings
beside a case say only whether the machine was disturbed then.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..statistics.spread import Spread
from .model import CEILINGS, DIRECTIONS, Ceiling, Direction, Run

Source = Literal["peak test", "same job", "case"]
# A job whose own ceiling is below this fraction of the session's peak was disturbed.
DISTURBED = 0.5
SHORT = 0.1  # seconds: from shorter repeats no advice follows

# The ceiling's transfers: to a file per process, or to one shared file.
CEILING_OF: dict[str, Ceiling] = {"posix": "fpp", "posix-shared": "shared"}


class Place(NamedTuple):
    """Identifies a peak's place. Peaks with and without fsync are different quantities."""

    system: str
    partition: str
    fs: str
    stack: str
    fsync: bool


class What(NamedTuple):
    """Which quantity of a place a peak is."""

    place: Place
    ceiling: Ceiling
    direction: Direction
    processes: int
    source: Source


@dataclass(frozen=True)
class Peak:
    """A file system's peak for one stack's processes, MiB/s."""

    what: What
    bandwidth: Spread


def find_peaks(runs: Iterable[Run]) -> list[Peak]:
    """All peaks of a session, one per place, ceiling, direction, process count and source."""
    found: dict[What, list[float]] = defaultdict(list)
    for run in runs:
        for what, value in _measured(run):
            found[what].append(value)
    spreads = ((what, Spread.of(values)) for what, values in found.items())
    return [Peak(what, spread) for what, spread in spreads if spread]


def headline_peaks(peaks: Iterable[Peak]) -> list[Peak]:
    """For each place, source, ceiling and direction, the process count with the highest peak."""
    best: dict[tuple[object, ...], Peak] = {}
    for peak in peaks:
        what = peak.what
        key = (what.place, what.source, what.ceiling, what.direction)
        if key not in best or peak.bandwidth.median > best[key].bandwidth.median:
            best[key] = peak

    def order(peak: Peak) -> tuple[object, ...]:
        place, what = peak.what.place, peak.what
        which = (CEILINGS.index(what.ceiling), DIRECTIONS.index(what.direction))
        return (place.fs, place.stack, place.fsync, what.source, which)

    return sorted(best.values(), key=order)


def _measured(run: Run) -> Iterator[tuple[What, float]]:
    """A run's measurements of its file system's peaks, MiB/s: all samples."""
    if run.status != "ok" or run.result is None:
        return
    place = Place(run.system, run.partition, run.fs, run.stack, run.result.fsync)
    processes = run.result.processes
    for sample in run.samples:
        for (ceiling, direction), value in sample.ceilings.items():
            yield What(place, ceiling, direction, processes, "same job"), value
        if run.is_peak and run.method in CEILING_OF:
            for direction in DIRECTIONS:
                reached = sample.bandwidth(direction)
                if reached is not None:
                    ceiling = CEILING_OF[run.method]
                    yield What(place, ceiling, direction, processes, "peak test"), reached


class SessionPeak(NamedTuple):
    """The highest of so many jobs, MiB/s, and what measured it."""

    value: float
    source: Source
    jobs: int


class Highest:
    """The session's peaks: the highest median of a job, MiB/s, over ceilings, peak tests, and POSIX
    cases that move at least as many bytes. By medians, one lucky repeat sets no peak."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._found: dict[tuple[object, ...], list[tuple[float, float, Source]]] = defaultdict(list)
        self._of: dict[tuple[object, ...], SessionPeak | None] = {}
        for run in runs:
            if run.status != "ok" or run.result is None:
                continue
            for direction in DIRECTIONS:
                for ceiling in CEILINGS:
                    if own := beside(run, ceiling, direction):
                        self._add(run, ceiling, direction, (math.inf, own, "same job"))
                reached = Spread.of(filter(None, (s.bandwidth(direction) for s in run.samples)))
                if reached and run.method in CEILING_OF:
                    size = math.inf if run.is_peak else run.result.payload_bytes
                    source: Source = "peak test" if run.is_peak else "case"
                    what = CEILING_OF[run.method]
                    self._add(run, what, direction, (size, reached.median, source))

    def _add(
        self, run: Run, ceiling: Ceiling, direction: Direction, found: tuple[float, float, Source]
    ) -> None:
        self._found[_conditions(run, ceiling, direction)].append(found)

    def of(self, run: Run, ceiling: Ceiling, direction: Direction) -> SessionPeak | None:
        """The peak that a run is compared with; None if there is none. Looked for once for all runs
        of the same size and conditions."""
        size = run.result.payload_bytes if run.result else 0
        key = (*_conditions(run, ceiling, direction), size)
        if key not in self._of:
            known = self._found.get(key[:-1], [])
            fits = [(value, source) for least, value, source in known if least >= size]
            self._of[key] = SessionPeak(*max(fits), len(fits)) if fits else None
        return self._of[key]


def beside(run: Run, ceiling: Ceiling, direction: Direction) -> float | None:
    """The median of the ceilings measured between the repeats of a job, MiB/s."""
    known = Spread.of(filter(None, (s.ceilings.get((ceiling, direction)) for s in run.samples)))
    return known.median if known else None


def _conditions(run: Run, ceiling: Ceiling, direction: Direction) -> tuple[object, ...]:
    """In which two runs must agree. Reading does not depend on fsync."""
    assert run.result
    fsync = direction == "write" and run.result.fsync
    return (
        run.system, run.partition, run.fs, run.result.processes, fsync, run.result.caches, ceiling,
        direction,
    )  # fmt: skip
