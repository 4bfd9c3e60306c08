# SPDX-License-Identifier: BSD-3-Clause
"""Each method's share of the session's peak (session/peaks.py), and why it may exceed 100 %."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from iogauge.common.text import counted

from ..errors import NothingFoundError
from ..session.model import Ceiling, Direction
from ..session.peaks import SHORT, too_short
from ..session.rows import Row as SessionRow
from ..store import database as store
from . import compare_references
from .compare_runs import Question

Row = dict[str, Any]
PLACE = ("pattern", "fs", "stack", "method", "quantity")

# if the other jobs do not exceed 100 %
SOME_JOBS = "the median is above the session's peak only with the disturbed jobs"

_FILES: dict[Ceiling, str] = {"fpp": "a file per process", "shared": "one shared file"}


def of_cases(db: Any, where: store.Where) -> list[Row]:
    """The share of the practical peak that each verified case reached, None where the machine was
    disturbed; empty if no ceiling was measured. Rates of small files are left out."""
    where = where.also("verdict = 'verified'")
    with suppress(NothingFoundError):
        rows = compare_references.with_peak(db, where, Question(""))
        # Creating a few files is a burst, many times as fast as creating many.
        return [row for row in rows if row["unit"] != "files/s"]
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
    """Why the row is above the peak, with numbers; empty if it is not."""
    share = row.share(ceiling, direction)
    if share is None or share.value <= 1:
        return ""
    text = (
        f"the session's peak, of {counted(share.count, 'job')}, was {share.peak:.0f} MiB/s "
        f"({_FILES[ceiling]}), and {row.run.call} reached {share.value * share.peak:.0f}"
    )
    times = [sample.values.get(f"{direction}_seconds") for sample in row.samples]
    shortest = min((seconds for seconds in times if seconds is not None), default=SHORT)
    return "; ".join(filter(None, (text, too_short(shortest))))
