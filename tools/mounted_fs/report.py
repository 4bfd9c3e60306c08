# SPDX-License-Identifier: BSD-3-Clause
"""What a session on mounted file systems found: cases from ReFrame's report, judged and in a table.

Nothing here mounts or runs anything.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.mounted_fs.table import Known

# The fates of a case, as the table's columns.
VERIFIED, FAILED, EXPECTED, FIXED, SKIPPED = "verified", "failed", "expected", "fixed", "skipped"
FATES = (VERIFIED, FAILED, EXPECTED, FIXED, SKIPPED)


@dataclass(frozen=True)
class Case:
    """One test on one file system with one stack. `why`: what failed, or why it was skipped."""

    fs: str
    environ: str
    test: str
    fate: str
    why: str
    seconds: float


@dataclass
class Row:
    """One file system. `reason`: why it is not mounted, or None; `trouble`: what went wrong with it
    besides its cases."""

    name: str
    type: str
    reason: str | None = None
    cases: list[Case] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return sum(case.seconds for case in self.cases)

    def count(self, fate: str) -> int:
        return sum(case.fate == fate for case in self.cases)

    @property
    def is_right(self) -> bool:
        """Mounted, at least one case verified, and none of them a surprise."""
        surprises = self.count(FAILED) + self.count(FIXED) + len(self.trouble)
        return self.reason is None and self.count(VERIFIED) > 0 and not surprises


def one_line(text: str) -> str:
    return " ".join(text.split())


def document_problem(folder: Path, mounted_as: str) -> str | None:
    """Why a case that passed is not verified on the file system that was mounted, or None."""
    try:
        document = json.loads((folder / "result.json").read_text())
        verdict = document["verification"]["verdict"]
        found = document["system"]["filesystem"]["type"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"it passed, but its document cannot be read: {error!r}"
    if verdict != VERIFIED:
        return f"it passed, but its document says {verdict!r}"
    if found != mounted_as:
        return f"it passed, but its document says that it ran on {found!r}, not {mounted_as!r}"
    return None


def judge(case: dict[str, Any], mounted_as: str, known: Iterable[Known]) -> Case:
    """A test case of ReFrame's report."""
    fs, environ, test = case["fs"], case["environ"], case["display_name"]
    why = one_line(case.get("fail_reason") or "")
    fate = {"pass": VERIFIED, "skip": SKIPPED}.get(case["result"], FAILED)
    if fate == SKIPPED:
        why = one_line(case.get("skip_reason") or "ReFrame gives no reason")
    if fate == VERIFIED:
        problem = document_problem(Path(case["outputdir"]), mounted_as)
        fate, why = (FAILED, problem) if problem else (fate, "")
    entry = next((k for k in known if k.is_about(fs, environ, test)), None)
    if entry and fate == FAILED and re.search(entry.message, why):
        fate, why = EXPECTED, f"{why} [known: {entry.why}]"
    elif entry and fate == VERIFIED:
        fate, why = FIXED, f"it passes now: remove its row ({entry.why})"
    return Case(fs, environ, test, fate, why, float(case.get("time_total") or 0.0))


def newest(folder: Path) -> Path:
    """ReFrame's, of the session that ended last; `ValueError` where there is none."""
    found = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    if not found:
        raise ValueError(f"ReFrame left no report in {folder}")
    return found[-1]


def add_cases(rows: Sequence[Row], report: dict[str, Any], known: Sequence[Known]) -> list[str]:
    """Puts each case into the row of its file system. Returns what failed before there were cases:
    the builds."""
    by_name = {row.name: row for row in rows}
    problems = []
    for case in report["runs"][-1]["testcases"]:
        if not case["fixture"]:
            row = by_name[case["fs"]]
            row.cases.append(judge(case, row.type, known))
        elif case["result"] not in ("pass", "skip"):
            problems.append(f"{case['display_name']}: {one_line(case.get('fail_reason') or '')}")
    return problems


def table(rows: Sequence[Row]) -> str:
    """All file systems, mounted or not, then each case that is not verified, with its reason."""
    lines: list[tuple[str, ...]] = [("file system", "type", "mounted", "cases", *FATES, "seconds")]
    for row in rows:
        counts = [str(row.count(fate)) for fate in FATES]
        lines.append(
            (row.name, row.type, "yes", str(len(row.cases)), *counts, f"{row.seconds:.0f}")
            if row.reason is None
            else (row.name, row.type, "no", *["-"] * (len(FATES) + 2))
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(
            word.ljust(width) if n < 3 else word.rjust(width)
            for n, (word, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*text, *remarks(rows)])


def remarks(rows: Sequence[Row]) -> list[str]:
    """What the table has no room for, one line each."""
    lines = [f"not mounted: {row.name}: {row.reason}" for row in rows if row.reason is not None]
    lines += [f"trouble: {row.name}: {text}" for row in rows for text in row.trouble]
    cases = [case for row in rows for case in row.cases]
    for fate in (FAILED, FIXED, EXPECTED):
        lines += [
            f"{fate}: {case.fs}: {case.environ}: {case.test}: {case.why}"
            for case in cases
            if case.fate == fate
        ]
    skipped = Counter((case.fs, case.why) for case in cases if case.fate == SKIPPED)
    lines += [f"skipped: {fs}: {count} cases: {why}" for (fs, why), count in skipped.items()]
    lines += [
        f"trouble: {row.name}: nothing was verified on it"
        for row in rows
        if row.reason is None and not row.count(VERIFIED)
    ]
    return lines


def exit_status(rows: Sequence[Row]) -> int:
    """0: something was mounted, and all that was is right."""
    mounted = [row for row in rows if row.reason is None]
    return 0 if mounted and all(row.is_right for row in mounted) else 1
