# SPDX-License-Identifier: BSD-3-Clause
"""The rows of the result table: runs of one case together, in reading order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from iogauge.common import tables
from iogauge.common.text import csv_table

from ..statistics.spread import Spread
from .model import CEILINGS, DIRECTIONS, Ceiling, Direction, Run, Sample, Session, Status
from .peaks import Peak, Source, find_peaks, headline_peaks

Cell = str | int | float | None
Outcome = Literal["verified", "nothing moved", "not asked", "failed", "skipped"]


@dataclass(frozen=True)
class Share:
    """A fraction of a ceiling (1.0 is all of it), and the measurement behind that ceiling."""

    value: float
    source: Source


@dataclass(frozen=True)
class Row:
    """One case on one stack: a run, or several if ReFrame repeated the test."""

    runs: tuple[Run, ...]
    peaks: tuple[Peak, ...]
    label: str  # distinguishes rows that are equal in all other columns; mostly empty

    @property
    def run(self) -> Run:
        """The run that names the row: the first that failed, else the first."""
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
        """Median and range over the repeats, MiB/s; None if nothing was measured."""
        return Spread.of(b for s in self.samples if (b := s.bandwidth(direction)) is not None)

    @property
    def rates(self) -> dict[str, float]:
        """Files per second by operation; empty except for patterns of many small files."""
        return self.run.result.rates if self.run.result else {}

    def share(self, ceiling: Ceiling, direction: Direction) -> Share | None:
        """The share of the ceiling that the row reached.

        The median over the repeats of each one's ratio to the ceiling measured beside it; if the
        job measured none, the ratio of the medians to the session's peak test.
        """
        if self.run.method == "null":
            return None
        key = (ceiling, direction)
        pairs = [(s.bandwidth(direction), s.ceilings.get(key)) for s in self.samples]
        ratios = Spread.of(b / c for b, c in pairs if b is not None and c is not None)
        if ratios:
            return Share(ratios.median, "same job")
        measured, peak = self.bandwidth(direction), self._peak_test(ceiling, direction)
        if not measured or not peak:
            return None
        return Share(measured.median / peak.bandwidth.median, "peak test")

    def _peak_test(self, ceiling: Ceiling, direction: Direction) -> Peak | None:
        """The peak test nearest to the row: same file system, then same stack, then processes."""
        run = self.run
        if run.result is None or run.is_peak:
            return None
        here = (run.system, run.partition, run.fs)
        fits = [
            peak
            for peak in self.peaks
            if peak.what.place[:3] == here
            and (peak.what.ceiling, peak.what.direction) == (ceiling, direction)
            and peak.what.source == "peak test"
            and (direction == "read" or peak.what.place.fsync == run.result.fsync)
        ]

        def nearness(peak: Peak) -> tuple[bool, bool, float]:
            same = (peak.what.place.stack == run.stack, peak.what.processes == run.processes)
            return (*same, peak.bandwidth.median)

        return max(fits, key=nearness, default=None)

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
    peaks: tuple[Peak, ...]

    @property
    def ran(self) -> tuple[Row, ...]:
        return self.rows + self.peak_rows

    @property
    def all_rows(self) -> tuple[Row, ...]:
        return self.ran + self.skipped

    def counts(self) -> Counter[Outcome]:
        return Counter(row.outcome for row in self.all_rows)

    def all_verified(self) -> bool:
        """Whether each row was verified, or moved nothing."""
        return all(row.outcome in ("verified", "nothing moved") for row in self.ran)


def make_table(session: Session) -> Table:
    """Sort and group the runs of `session`."""
    peaks = tuple(find_peaks(session.runs))
    grouped: dict[tuple[str, ...], list[Run]] = defaultdict(list)
    for run in session.runs:
        # A skipped run gets its own row: it must not hide among repeats that ran.
        state = "skipped" if run.status == "skipped" else "ran"
        grouped[run.case, run.system, run.partition, run.stack, state].append(run)
    groups = sorted((tuple(runs) for runs in grouped.values()), key=lambda g: _order(g[0]))
    labels = _labels([group[0] for group in groups])
    rows = [Row(g, peaks, label) for g, label in zip(groups, labels, strict=True)]
    ran = [row for row in rows if row.run.status != "skipped"]
    return Table(
        session=session,
        rows=tuple(row for row in ran if not row.run.is_peak),
        peak_rows=tuple(row for row in ran if row.run.is_peak),
        skipped=tuple(row for row in rows if row.run.status == "skipped"),
        peaks=tuple(headline_peaks(peaks)),
    )


def to_csv(table: Table) -> str:
    """Every row, including skipped ones."""
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
        rank(run.pattern, tables.names("patterns")), run.scale, place, how, run.stack,
        run.processes or 0, fsync, run.case,
    )  # fmt: skip


def _labels(runs: Iterable[Run]) -> list[str]:
    """For each run, the parameters that distinguish it from others of its kind, or nothing."""
    keys = [
        (r.is_peak, r.pattern, r.scale, r.method, r.mode, r.system, r.partition, r.fs, r.stack,
         r.status == "skipped")
        for r in runs
    ]  # fmt: skip
    count = Counter(keys)
    return [run.variant if count[key] > 1 else "" for run, key in zip(runs, keys, strict=True)]
