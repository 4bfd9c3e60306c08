# SPDX-License-Identifier: BSD-3-Clause
"""The practical peaks: what large aligned POSIX transfers reach on a file system.

A share is of the session's peak (`Highest`; in SQL: compare_references.with_peak). The ceilings
beside a case say only whether the machine was disturbed then.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Literal, NamedTuple

from ..statistics.spread import Spread
from .model import CEILINGS, DIRECTIONS, Ceiling, Direction, Run

Source = Literal["peak test", "same job", "case"]
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
    """The highest of so many jobs, MiB/s, and what measured it."""

    value: float
    source: Source
    jobs: int


class Highest:
    """The session's peaks: the highest median of a job, MiB/s, over ceilings, peak tests, and POSIX
    cases that move at least as many bytes. By medians, one lucky repeat sets no peak."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._found: dict[Conditions, list[tuple[float, float, Source]]] = defaultdict(list)
        self._of: dict[tuple[object, ...], SessionPeak | None] = {}
        self._runs: list[Run] = []
        for run in runs:
            if run.status != "ok" or run.result is None:
                continue
            self._runs.append(run)
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
        key = (_conditions(run, ceiling, direction), size)
        if key not in self._of:
            known = self._found.get(key[0], [])
            fits = [(value, source) for least, value, source in known if least >= size]
            self._of[key] = SessionPeak(*max(fits), len(fits)) if fits else None
        return self._of[key]

    def all(self) -> dict[Conditions, SessionPeak]:
        """Those that its runs are compared with, by file system."""
        found: dict[Conditions, SessionPeak] = {}
        for run in self._runs:
            for ceiling in CEILINGS:
                for direction in DIRECTIONS:
                    if run.method != "null" and (peak := self.of(run, ceiling, direction)):
                        key = _conditions(run, ceiling, direction)
                        found[key] = max(peak, found.get(key, peak))
        return dict(sorted(found.items()))


def beside(run: Run, ceiling: Ceiling, direction: Direction) -> float | None:
    """The median of the ceilings measured between the repeats of a job, MiB/s."""
    known = Spread.of(filter(None, (s.ceilings.get((ceiling, direction)) for s in run.samples)))
    return known.median if known else None


def _conditions(run: Run, ceiling: Ceiling, direction: Direction) -> Conditions:
    assert run.result
    fsync = direction == "write" and run.result.fsync
    return Conditions(
        run.system, run.partition, run.fs, run.result.processes, fsync, run.result.caches, ceiling,
        direction,
    )  # fmt: skip
