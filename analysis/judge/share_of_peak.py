# SPDX-License-Identifier: BSD-3-Clause
"""How much of its ceiling each method reaches, and why a share may exceed 100 %.

Each repeat is compared with the ceiling measured right beside it (compare_references.py, rows.py).
Only if there is none is the session's peak test used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from iogauge.common.text import percent

from ..errors import NothingFoundError
from ..session.model import Ceiling, Direction
from ..session.rows import Row as SessionRow
from ..statistics.spread import Spread
from ..store import database as store
from . import compare_references
from .compare_runs import Question

Row = dict[str, Any]
PLACE = ("pattern", "fs", "stack", "method", "quantity")

# If a share exceeds 100 % only by jobs, not by all repeats.
SOME_JOBS = "the middle one of its jobs is above its ceiling; all repeats together are not"

_FILES: dict[Ceiling, str] = {"fpp": "a file per process", "shared": "one shared file"}

SHORT = 0.1  # seconds: shorter repeats are not steady


def of_cases(connection: Any, where: store.Where) -> list[Row]:
    """The share of the practical peak that each verified case reached; empty if no ceiling was
    measured. Patterns of many small files are left out: their bandwidth is not the point."""
    many = store.rows(
        connection,
        f"""SELECT DISTINCT pattern FROM records
        WHERE {where.sql} AND quantity = 'series_create_rate'""",
        where.values,
    )
    where = where.also("verdict = 'verified'")
    where = where.also("NOT list_contains(?, pattern)", [row["pattern"] for row in many])
    try:
        return compare_references.with_peak(connection, where, Question(""))
    except NothingFoundError:
        return []


def best(rows: Sequence[Row]) -> dict[tuple[Any, ...], Row]:
    """For each pattern, file system, stack, method and quantity, the case with the largest share,
    and the number of `cases` it was chosen from."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(row[name] for name in PLACE)
        before = found.get(key)
        cases = before["cases"] + 1 if before else 1
        top = before if before and before["efficiency"] >= row["efficiency"] else row
        found[key] = {**top, "cases": cases}
    return found


def why_above(row: SessionRow, ceiling: Ceiling, direction: Direction) -> str:
    """Why a run exceeded its ceiling, with the numbers; empty if it did not."""
    share = row.share(ceiling, direction)
    if share is None or share.value <= 1:
        return ""
    if share.source == "peak test":
        return (
            "the ceiling is from a peak test of the session, another job at another moment: this "
            "run measured none"
        )
    key = (ceiling, direction)
    samples = [
        (ours, theirs, sample.values.get(f"{direction}_seconds"))
        for sample in row.samples
        if (ours := sample.bandwidth(direction)) and (theirs := sample.ceilings.get(key))
    ]
    parts = Spread.of(ours / theirs for ours, theirs, _ in samples)
    ceilings = Spread.of(theirs for _, theirs, _ in samples)
    assert parts and ceilings  # the share is computed from them
    said = [f"the ceiling beside it was {_between(ceilings, '{:.0f}'.format)} MiB/s"]
    if parts.count > 1:
        said.append(f"the {parts.count} repeats reached {_between(parts, percent)} of theirs")
    said.append(_meaning(parts, ceiling))
    times = [seconds for *_, seconds in samples if seconds is not None]
    if times and min(times) < SHORT:
        said.append(f"a repeat took {1000 * min(times):.2g} ms, too short to be steady")
    return "; ".join(said)


def _meaning(parts: Spread, ceiling: Ceiling) -> str:
    if parts.count == 1:
        return "of one repeat no spread is known"
    if parts.low <= 1:
        return "so the ceiling is within what the repeats differ by"
    return f"so here large aligned POSIX transfers to {_FILES[ceiling]} are not the fastest method"


def _between(spread: Spread, form: Callable[[float], str]) -> str:
    low, high = form(spread.low), form(spread.high)
    return low if low == high else f"{low} to {high}"
