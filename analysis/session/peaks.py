# SPDX-License-Identifier: BSD-3-Clause
"""The practical peaks: what large aligned POSIX transfers reach on a file system.

Two sources. Ceilings measured between the repeats of the same job come first, for they saw the same
load. If a run measured none, as with the real `ior` program, the session's peak tests
(benchmarks/peak.py) stand in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..statistics.spread import Spread
from .model import CEILINGS, DIRECTIONS, Ceiling, Direction, Run

Source = Literal["peak test", "same job"]

# The ceiling's transfers: to a file per process, or to one shared file.
_CEILING_OF: dict[str, Ceiling] = {"posix": "fpp", "posix-shared": "shared"}


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
        if run.is_peak and run.method in _CEILING_OF:
            for direction in DIRECTIONS:
                reached = sample.bandwidth(direction)
                if reached is not None:
                    ceiling = _CEILING_OF[run.method]
                    yield What(place, ceiling, direction, processes, "peak test"), reached
