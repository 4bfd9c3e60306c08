# SPDX-License-Identifier: BSD-3-Clause
"""The practical peaks: what large aligned POSIX transfers reach on a file system.

A share is of the session's peak (`Highest`; in SQL: compare_references.with_peak). The ceilings
beside a case say only whether the machine was disturbed then.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Literal, NamedTuple

from ..statistics.spread import Spread
from .model import CEILINGS, DIRECTIONS, Ceiling, Direction, Run

Source = Literal["peak test", "same job", "case"]
Found = tuple[float, float, Source]  # for cases of how many bytes at most; MiB/s
# A job whose own ceiling is below this fraction of the session's peak was disturbed.
DISTURBED = 0.5
SHORT = 0.1  # seconds: from shorter repeats no advice follows

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
    """The highest of so many jobs, MiB/s, and what measured it. `varied`: the best peak
    test over the worst; 1 if there are fewer than two."""

    value: float
    source: Source
    jobs: int
    varied: float


Peaks = Mapping[tuple[Ceiling, Direction], SessionPeak]
BOTH = tuple(product(CEILINGS, DIRECTIONS))


class Highest:
    """The session's peaks, MiB/s: the highest over the best repeats of peak tests, and the medians
    of ceilings and of POSIX cases that move at least as many bytes. By medians, one lucky repeat
    of a case sets no peak."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._found: dict[Conditions, list[Found]] = defaultdict(list)
        self._of: dict[tuple[object, ...], SessionPeak | None] = {}
        self._runs: list[Run] = []
        for run in runs:
            if run.status != "ok" or run.result is None:
                continue
            self._runs.append(run)
            for which in BOTH:
                if own := beside(run, *which):
                    self._found[_conditions(run, *which)].append((math.inf, own, "same job"))
            for direction in DIRECTIONS:
                reached = Spread.of(filter(None, (s.bandwidth(direction) for s in run.samples)))
                if reached and run.method in CEILING_OF:
                    size, case = run.result.payload_bytes, reached.median
                    test: Found = (math.inf, reached.high, "peak test")
                    found: Found = test if run.is_peak else (size, case, "case")
                    self._found[_conditions(run, CEILING_OF[run.method], direction)].append(found)

    def of(self, run: Run, ceiling: Ceiling, direction: Direction) -> SessionPeak | None:
        """The peak that a run is compared with; None if there is none. Looked for once for all runs
        of the same size and conditions."""
        size = run.result.payload_bytes if run.result else 0
        key = (_conditions(run, ceiling, direction), size)
        if key not in self._of:
            known = self._found.get(key[0], [])
            fits = [(value, source) for least, value, source in known if least >= size]
            tests = [value for value, source in fits if source == "peak test"] or [1.0]
            varied = max(tests) / min(tests)
            self._of[key] = SessionPeak(*max(fits), len(fits), varied) if fits else None
        return self._of[key]

    def beside(self, folder: Path) -> Peaks:
        """Those that the run in a folder is compared with."""
        for run in self._runs:
            if run.folder and run.folder.resolve() == folder:
                return {key: peak for key in BOTH if (peak := self.of(run, *key))}
        return {}

    def all(self) -> dict[Conditions, SessionPeak]:
        """Those that its runs are compared with, by file system."""
        found: dict[Conditions, SessionPeak] = {}
        for run in self._runs:
            for which in BOTH:
                if run.method != "null" and (peak := self.of(run, *which)):
                    key = _conditions(run, *which)
                    found[key] = max(peak, found.get(key, peak))
        return dict(sorted(found.items()))


def beside(run: Run, ceiling: Ceiling, direction: Direction) -> float | None:
    """The median of the ceilings measured between the repeats of a job, MiB/s."""
    known = Spread.of(filter(None, (s.ceilings.get((ceiling, direction)) for s in run.samples)))
    return known.median if known else None


def too_short(seconds: float) -> str:
    """Why no advice follows from a repeat; empty if it does."""
    text = f"a repeat took {1000 * seconds:.2g} ms, too short for advice"
    return text if seconds < SHORT else ""


def _conditions(run: Run, ceiling: Ceiling, direction: Direction) -> Conditions:
    assert run.result
    fsync = direction == "write" and run.result.fsync
    return Conditions(
        run.system, run.partition, run.fs, run.result.processes, fsync, run.result.caches, ceiling,
        direction,
    )  # fmt: skip
