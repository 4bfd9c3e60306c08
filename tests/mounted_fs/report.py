# SPDX-License-Identifier: BSD-3-Clause
"""The results of a session on mounted file systems, as a table. Nothing here mounts or runs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from iogauge.analysis.session.model import Run
from tests import markdown

# The columns of cases.
VERIFIED, FAILED, SKIPPED = "verified", "failed", "skipped"
FATES = (VERIFIED, FAILED, SKIPPED)


@dataclass
class Row:
    """`reason`: why it is not mounted, or None. `trouble`: problems besides its cases."""

    name: str
    type: str
    reason: str | None = None
    runs: list[Run] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)

    def fate(self, run: Run) -> tuple[str, str]:
        """The outcome and reason of a case that was not verified on its mounted file system."""
        if run.status != "ok" or run.result is None:
            return (SKIPPED if run.status == "skipped" else FAILED), run.reason
        if run.verdict != VERIFIED:
            return FAILED, f"it passed, but its document says {run.verdict!r}"
        found = run.result.fs_type
        if found != self.type:
            return FAILED, f"it passed, but its document says that it ran on {found!r}"
        return VERIFIED, ""

    def count(self, fate: str) -> int:
        return sum(self.fate(run)[0] == fate for run in self.runs)

    @property
    def is_right(self) -> bool:
        """Mounted, at least one case verified, and none failed."""
        wrong = self.count(FAILED) or self.trouble
        return self.reason is None and self.count(VERIFIED) > 0 and not wrong


def add_runs(rows: Sequence[Row], runs: Sequence[Run]) -> list[str]:
    """Add each case to the row of its file system. Returns failures before any case: builds."""
    by_name = {row.name: row for row in rows}
    for run in runs:
        if run.fs in by_name:
            by_name[run.fs].runs.append(run)
    return [f"{run.case}: {run.reason}" for run in runs if run.fs not in by_name]


def table(rows: Sequence[Row]) -> str:
    head = ("file system", "type", "mounted", "cases", *FATES)
    cells = (
        (
            *(row.name, row.type, "yes" if row.reason is None else "no", len(row.runs)),
            *map(row.count, FATES),
        )
        for row in rows
    )
    return "\n".join([markdown.table(head, cells, left=3), *remarks(rows)])


def remarks(rows: Sequence[Row]) -> Iterator[str]:
    yield from (f"not mounted: {row.name}: {row.reason}" for row in rows if row.reason is not None)
    skipped: Counter[tuple[str, str]] = Counter()
    for row in rows:
        yield from (f"trouble: {row.name}: {text}" for text in row.trouble)
        for run in row.runs:
            fate, why = row.fate(run)
            if fate == FAILED:
                yield f"failed: {row.name}: {run.stack}: {run.case}: {why}"
            skipped[row.name, why] += fate == SKIPPED
        if row.reason is None and not row.count(VERIFIED):
            yield f"trouble: {row.name}: nothing was verified on it"
    yield from (f"skipped: {fs}: {n} cases: {why}" for (fs, why), n in skipped.items() if n)


def exit_status(rows: Sequence[Row]) -> int:
    """0 if something was mounted and every mounted file system passed."""
    mounted = [row for row in rows if row.reason is None]
    return 0 if mounted and all(row.is_right for row in mounted) else 1
