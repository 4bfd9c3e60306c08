# SPDX-License-Identifier: BSD-3-Clause
"""Histories as table rows: one for each change, the worst first."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..columns import columns
from ..judge.history import Change, History
from .words import over_time

COLUMNS = columns("history")


def rows(found: Sequence[History], *, everything: bool) -> list[dict[str, Any]]:
    """A row for each change; with `everything`, also one for each unchanged case."""
    made = []
    for one in sorted(found, key=lambda one: (not one.bad, one.of_best)):
        changes: list[Change | None] = [*one.changes]
        if one.last_is_low or (not changes and everything):
            changes.append(None)
        made += [_row(one, change) for change in changes]
    return made


def _row(one: History, change: Change | None) -> dict[str, Any]:
    known = one.baseline
    return {
        **one.case,
        "over_time": over_time(one.values),
        "runs": len(one.values),
        "first": one.at[0],
        "last": one.at[-1],
        "now": one.values[-1],
        "date": f"{change.date:%Y-%m-%d}" if change else None,
        "change": change_text(change) if change else "",
        **{name: getattr(change, name, None) for name in ("ratio", "low", "high")},
        "state": change.state if change else one.status,
        "what_changed": change.what if change else (),
        "status": one.status,
        "baseline": f"{known.since}, {known.who}: {known.why}" if known else "",
    }


def change_text(change: Change) -> str:
    """`-24 % (-27 to -21)`: the change of speed with its interval."""
    text = f"{100 * (change.ratio - 1):+.0f} %"
    if change.low is None or change.high is None:
        return text
    return f"{text} ({100 * (change.low - 1):+.0f} to {100 * (change.high - 1):+.0f})"


def in_words(found: Sequence[History]) -> str:
    counts = Counter(one.status for one in found)
    text = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    return f"{len(found)} histories: {text}"


def bad_lines(found: Sequence[History]) -> list[str]:
    """A line for each history with a problem, the worst first."""
    lines = []
    for one in sorted((one for one in found if one.bad), key=lambda one: one.of_best):
        names = ("pattern", "scale", "method", "mode", "variant", "stack", "fs", "quantity")
        case = " ".join(str(one.case[name]) for name in names if one.case[name])
        if one.regressed:
            lost = 100 * (1 - one.of_best)
            lines.append(f"{case}: {lost:.0f} % slower since {one.since:%Y-%m-%d}")
        else:
            lines.append(f"{case}: the last run is far below all before it")
    return lines
