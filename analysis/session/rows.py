# SPDX-License-Identifier: BSD-3-Clause
"""The rows of the result table: runs of one case together, in reading order."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from statistics import median
from typing import Literal

from iogauge.common import tables
from iogauge.common.text import csv_table

from ..statistics.spread import Spread
from .model import CEILINGS, DIRECTIONS, LATENCY, Ceiling, Direction, Run, Sample, Session, Status
from .peaks import CEILING_OF, Highest, SessionPeak, Source, beside

Cell = str | int | float | None
Outcome = Literal["verified", "nothing moved", "not asked", "failed", "skipped"]


@dataclass(frozen=True)
class Share:
    """A fraction of the session's peak (MiB/s, from `count` jobs), and what measured that."""

    value: float
    peak: float
    source: Source
    count: int


@dataclass(frozen=True)
class Row:
    """One case on one stack: a run, or several if ReFrame repeated the test."""

    runs: tuple[Run, ...]
    highest: Highest
    label: str  # tells rows apart that are else equal; mostly empty

    @property
    def run(self) -> Run:
        return max(self.runs, key=lambda run: _BADNESS[run.status])

    @property
    def samples(self) -> tuple[Sample, ...]:
        return tuple(sample for run in self.runs for sample in run.samples)

    @property
    def outcome(self) -> Outcome:
        """The verdict of a run that ended well, else how it ended."""
        run = self.run
        if run.status != "ok":
            return run.status
        verdicts: tuple[Outcome, ...] = ("not asked", "nothing moved", "verified")
        for verdict in verdicts:
            if any(r.verdict == verdict for r in self.runs):
                return verdict
        return "failed"

    def bandwidth(self, direction: Direction) -> Spread | None:
        """The median of the jobs' medians, and the range of their repeats, MiB/s, without disturbed
        jobs unless there are no others; None if nothing was measured."""
        known = [
            [b for s in run.samples if (b := self._reached(s, direction))]
            for run in self._calm(direction) or self.runs
        ]
        middle = Spread.of(median(values) for values in known if values)
        spread = Spread.of(chain(*known))
        return replace(spread, median=middle.median) if spread and middle else None

    def _reached(self, sample: Sample, direction: Direction) -> float | None:
        """What a sample reached; for a peak test, in the ceilings, which last long enough."""
        key = (CEILING_OF.get(self.run.method, "fpp"), direction)
        return (self.run.is_peak and sample.ceilings.get(key)) or sample.bandwidth(direction)

    def latency(self, direction: Direction, name: str) -> float | None:
        """Median over the repeats of the same jobs, in seconds. `name`: one of LATENCY."""
        quantity = f"{direction}_{name}"
        samples = chain(*(run.samples for run in self._calm(direction) or self.runs))
        spread = Spread.of(s.values[quantity] for s in samples if quantity in s.values)
        return spread.median if spread else None

    @property
    def rates(self) -> dict[str, float]:
        """Files per second by operation, medians of the jobs' medians; empty except for patterns
        of many small files."""
        jobs = [run.result.rates for run in self.runs if run.result]
        return {name: median(of[name] for of in jobs if name in of) for name in chain(*jobs)}

    def share(self, ceiling: Ceiling, direction: Direction) -> Share | None:
        """The row's bandwidth as a share of the session's peak; None without a peak, if the machine
        was disturbed, and of files per process beside a shared one, for whose lock they do not
        wait."""
        if ceiling == "shared" and self.run.method in tables.methods_of_kind("own"):
            return None
        peak, reached = self._peak(ceiling, direction), self.bandwidth(direction)
        if peak is None or reached is None or self.disturbed(direction):
            return None
        return Share(reached.median / peak.value, peak.value, peak.source, peak.jobs)

    def disturbed(self, direction: Direction) -> bool:
        return not self._calm(direction)

    def _calm(self, direction: Direction) -> list[Run]:
        """The row's jobs without those that their own ceilings show to be disturbed."""
        peak = self._peak("fpp", direction)
        return [
            run for run in self.runs if not (peak and peak.disturbed(beside(run, "fpp", direction)))
        ]

    def _peak(self, ceiling: Ceiling, direction: Direction) -> SessionPeak | None:
        run = self.run
        if run.method == "null" or run.is_peak or run.result is None or run.result.rates:
            return None
        return self.highest.of(run, ceiling, direction)

    def cells(self) -> dict[str, Cell]:
        """The row with all its columns, for CSV and JSON. MiB/s; fractions 0..1."""
        run = self.run
        result = run.result
        cells: dict[str, Cell] = {
            "pattern": run.pattern,
            "scale": run.scale,
            "method": run.method,
            "mode": run.mode,
            "variant": run.variant,
            "stack": run.stack,
            "file_system": run.fs,
            "file_system_type": result.fs_type if result else "",
            "system": run.system,
            "partition": run.partition,
            "processes": run.processes,
            "payload_bytes": result.payload_bytes if result else None,
            "fsync": str(result.fsync).lower() if result else "",
        }
        for direction in DIRECTIONS:
            spread = self.bandwidth(direction)
            cells[f"{direction}_mib_s"] = spread.median if spread else None
            cells[f"{direction}_min_mib_s"] = spread.low if spread else None
            cells[f"{direction}_max_mib_s"] = spread.high if spread else None
            for name in LATENCY:
                cells[f"{direction}_{name}_s"] = self.latency(direction, name)
        for ceiling in CEILINGS:
            for direction in DIRECTIONS:
                share = self.share(ceiling, direction)
                cells[f"{direction}_fraction_{ceiling}"] = share.value if share else None
        peak = self.share("fpp", "write") or self.share("fpp", "read")
        return cells | {
            "peak_source": peak.source if peak else "",
            "repeats": len(self.samples),
            "caches": result.caches if result else "",
            "verdict": run.verdict,
            "status": run.status,
            "reason": run.reason,
            "test": run.case,
            "document": str(run.document or ""),
            "job_script": str(run.job_script or ""),
        }


_BADNESS: dict[Status, int] = {"ok": 0, "skipped": 1, "failed": 2}


@dataclass(frozen=True)
class Table:
    """A session as rows: measurements first, then the peak tests and skipped cases."""

    session: Session
    rows: tuple[Row, ...]
    peak_rows: tuple[Row, ...]
    skipped: tuple[Row, ...]
    highest: Highest

    @property
    def ran(self) -> tuple[Row, ...]:
        return self.rows + self.peak_rows

    @property
    def all_rows(self) -> tuple[Row, ...]:
        return self.ran + self.skipped

    def counts(self) -> Counter[Outcome]:
        return Counter(row.outcome for row in self.all_rows)

    def all_verified(self) -> bool:
        return all(row.outcome in ("verified", "nothing moved") for row in self.ran)


def make_table(session: Session) -> Table:
    grouped: dict[tuple[str, ...], list[Run]] = defaultdict(list)
    for run in session.runs:
        # A skipped run gets a row: it must not hide among repeats that ran.
        state = "skipped" if run.status == "skipped" else "ran"
        grouped[run.case, run.system, run.partition, run.stack, state].append(run)
    groups = sorted((tuple(runs) for runs in grouped.values()), key=lambda g: _order(g[0]))
    labels = _labels([group[0] for group in groups])
    highest = Highest(session.runs)
    rows = [Row(g, highest, label) for g, label in zip(groups, labels, strict=True)]
    ran = [row for row in rows if row.run.status != "skipped"]
    return Table(
        session=session,
        rows=tuple(row for row in ran if not row.run.is_peak),
        peak_rows=tuple(row for row in ran if row.run.is_peak),
        skipped=tuple(row for row in rows if row.run.status == "skipped"),
        highest=highest,
    )


def to_csv(table: Table) -> str:
    cells = [row.cells() for row in table.all_rows]
    return csv_table(list(cells[0]), cells)


def rank(value: str, order: Sequence[str]) -> tuple[int, str]:
    """For sorting: the place in this order; others follow by name."""
    return (order.index(value) if value in order else len(order), value)


def _order(run: Run) -> tuple[object, ...]:
    place = (run.system, run.partition, run.fs)
    modes = ("", *tables.names("modes"))
    how = (rank(run.method, tables.names("methods")), rank(run.mode, modes), run.variant)
    fsync = run.result.fsync if run.result else False
    return (
        rank(run.pattern, tables.names("patterns")),
        run.scale,
        place,
        how,
        run.stack,
        run.processes or 0,
        fsync,
        run.case,
    )


def _labels(runs: Iterable[Run]) -> list[str]:
    """For each run, the parameters that distinguish it from others of its kind, or nothing."""
    names = ["is_peak", "pattern", "scale", "method", "mode", "system", "partition", "fs", "stack"]
    keys = [(*attrgetter(*names)(run), run.status == "skipped") for run in runs]
    count = Counter(keys)
    return [run.variant if count[key] > 1 else "" for run, key in zip(runs, keys, strict=True)]
