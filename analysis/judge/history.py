# SPDX-License-Identifier: BSD-3-Clause
"""Histories: each case's runs over time, its changes of level, and what changed with them."""

import functools
import itertools
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import numpy as np

from ..session.model import RATES, USUAL, better, speeds
from ..statistics import change_points, interval
from ..store import database as store
from ..store.baselines import Baseline
from ..store.queries import query

# Identifies a history. Hints are left out: a change of hints is something to find.
KEY = ("system", "partition", "fs", "stack", "case", "processes", "fsync", "quantity")
# Other columns of a case.
ABOUT = ("pattern", "scale", "method", "mode", "variant", "unit")
# What may have changed with the level, with its label.
CIRCUMSTANCES = {
    "program": "kernels",
    "harness": "harness",
    "libraries": "libraries",
    "mpi_io": "MPI-IO",
    "hints": "hints",
    "kernel": "operating system",
    "host": "host",
    "cores": "cores",
    "nodes": "nodes",
    "fs_type": "file system",
    "caches": "caches",
    "buffer": "buffer",
}
NEAR = 2  # runs on each side of a change that are searched for what changed
MOST = 60  # runs on each side used for the interval
AT_ONCE = 100  # sessions that are read together
FEWEST = 8  # earlier runs of a level that the last runs are compared with
MANY = 15  # earlier runs; the median of the last 3 or more then counts, not the best
# The last 1, 2, 3, ... runs are low if each is below this fraction of the lowest earlier run. By
# chance, of 10 to 30 runs (simulated): 0.4 % of histories with 10 % noise, 5 % with 30 %, and 4 %
# with 10 % if each run is like the one before (correlation 0.7).
LOW = (0.85, 0.90, *[0.95] * 13)
State = Literal["regressed", "recovered", "faster", "acknowledged"]
Status = Literal["regressed", "last run low", "steady", "faster", "acknowledged", "too few runs"]
Row = dict[str, Any]


@dataclass
class Change:
    """A new level. `ratio`: new speed over old, with 95 % interval; None: too few runs."""

    index: int
    date: datetime
    ratio: float
    low: float | None
    high: float | None
    state: State
    what: tuple[str, ...] = ()


@dataclass
class History:
    """The runs of a case, oldest first. What follows from the changes needs all of them."""

    case: Mapping[str, Any]
    at: list[datetime]
    values: list[float]
    changes: list[Change] = field(default_factory=list)
    baseline: Baseline | None = None

    @property
    def regressed(self) -> list[Change]:
        return [change for change in self.changes if change.state == "regressed"]

    @functools.cached_property
    def status(self) -> Status:
        if self.regressed:
            return "regressed"
        if self.last_is_low:
            return "last run low"
        if len(self.values) < change_points.MIN_RUNS:
            return "too few runs"
        states = [change.state for change in self.changes]
        if states and states[-1] == "acknowledged":
            return "acknowledged"
        return "faster" if states and states[-1] == "faster" else "steady"

    @functools.cached_property
    def last_is_low(self) -> bool:
        """Whether the last runs are below their level, but too few to call a change."""
        first, end, _ = self.levels[-1]
        speeds = self.speeds[first:end]
        return any(
            typical(speeds[-count:]) < part * min(speeds[:-count][-MOST:])
            for count, part in enumerate(LOW, 1)
            for earlier in [len(speeds) - count]
            for typical in [statistics.median if count > 2 and earlier >= MANY else max]
            if earlier >= FEWEST
        )

    @property
    def bad(self) -> bool:
        return self.status in ("regressed", "last run low")

    @functools.cached_property
    def speeds(self) -> list[float]:
        return speeds(self.case["quantity"], self.values)

    @property
    def since(self) -> datetime | None:
        return self.regressed[0].date if self.regressed else None

    @functools.cached_property
    def levels(self) -> list[tuple[int, int, float]]:
        """Each level: its first run, the end, and the median of its values."""
        ends = [0, *(change.index for change in self.changes), len(self.values)]
        return [(a, b, statistics.median(self.values[a:b])) for a, b in itertools.pairwise(ends)]

    @property
    def of_best(self) -> float:
        """The speed now relative to before the regression; 1 without one."""
        if not self.regressed:
            return 1.0
        before = next(level for _, end, level in self.levels if end == self.regressed[0].index)
        now = self.levels[-1][2]
        return before / now if better(self.case["quantity"]) < 0 else now / before


def find(
    db: Any,
    where: store.Where,
    given: Sequence[Baseline] = (),
    quantities: Sequence[str] = USUAL,
    smallest: float = change_points.SMALLEST,
) -> list[History]:
    found = _load(db, where, given, quantities)
    for one in found:
        judge(one, smallest)
    _circumstances(db, where, found)
    return found


def of_session(db: Any, session: str, given: Sequence[Baseline]) -> list[History]:
    systems, cases, when = db.execute(
        """SELECT array_agg(DISTINCT system), array_agg(DISTINCT "case"), max(started)
        FROM records WHERE session = ?""",
        [session],
    ).fetchone()
    # As values, not as subqueries: those would keep all rows in memory.
    where = store.Where().also(
        'list_contains(?, system) AND list_contains(?, "case") AND started <= ?',
        systems,
        cases,
        when,
    )
    return [one for one in find(db, where, given) if one.at[-1] == when]


def _load(
    db: Any, where: store.Where, given: Sequence[Baseline], quantities: Sequence[str]
) -> list[History]:
    marks = ", ".join("?" for _ in quantities)
    columns = ", ".join(f'"{name}"' for name in KEY)
    sql = f"{where.sql} AND verdict <> 'nothing moved' AND NOT is_peak AND quantity IN ({marks})"
    values = [*where.values, *quantities]
    conditions = [one.condition() for one in given]
    own = "".join(f", bool_or({sql}) AS b{i}" for i, (sql, _) in enumerate(conditions))
    about = ", ".join(f"any_value({name}) AS {name}" for name in ABOUT)
    rate = f"quantity IN {tuple(RATES.values())}"  # of many small files
    every = f"QUALIFY {rate} OR NOT bool_or({rate}) OVER (PARTITION BY any_value(pattern))"
    files = every if quantities is USUAL else ""
    cases = store.rows(
        db,
        f"""SELECT hash({columns}) AS id, {columns}, {about}{own}
        FROM records WHERE {sql} GROUP BY {columns} {files} ORDER BY {columns}""",
        [*(value for _, of in conditions for value in of), *values],
    )
    times = db.execute(
        f"SELECT DISTINCT started FROM records WHERE {sql} ORDER BY 1", values
    ).fetchall()
    runs: dict[int, list[dict[str, Any]]] = defaultdict(list)
    # Some sessions at a time: DuckDB keeps all values of a median.
    lasts = [*times[AT_ONCE - 1 :: AT_ONCE], *times[-1:]]
    for (first,), (last,) in zip(times[::AT_ONCE], lasts, strict=False):
        jobs = query("history", columns=columns, where=sql)
        part = store.by_id(db, jobs, [*values, first, last])
        for one, of in part.items():
            runs[one].append(of)
    known: dict[bytes, list[datetime]] = {}  # most cases have the same sessions
    found = []
    for row in cases:
        parts = runs[row.pop("id")]
        moments, middles = (np.concatenate([of[k] for of in parts]) for k in ("moment", "middle"))
        at = known.setdefault(moments.tobytes(), moments.astype("datetime64[us]").tolist())
        mine = [one for i, one in enumerate(given) if row.pop(f"b{i}")]
        baseline = max(mine, key=lambda one: one.moment, default=None)
        found.append(History(row, at, middles.tolist(), baseline=baseline))
    return found


def judge(one: History, smallest: float) -> None:
    speeds = np.asarray(one.speeds)
    cuts = change_points.find(speeds, smallest)
    levels = change_points.levels(speeds, cuts)
    ends = [0, *cuts, len(speeds)]
    for i, cut in enumerate(cuts):
        before, after = speeds[ends[i] : cut][-MOST:], speeds[cut : ends[i + 2]][:MOST]
        ratio = interval.of_two(before.tolist(), after.tolist(), change_points.LEAST)
        state: State
        if one.baseline and one.at[cut] <= one.baseline.moment:
            state = "acknowledged"
        elif levels[i + 1] > levels[i]:
            state = "faster"
        else:
            state = "regressed" if levels[-1] < (1 - smallest) * levels[i] else "recovered"
        one.changes.append(
            Change(cut, one.at[cut], levels[i + 1] / levels[i], ratio.low, ratio.high, state)
        )


def _circumstances(db: Any, where: store.Where, found: Sequence[History]) -> None:
    times = {at for one in found for change in one.changes for at in one.at[_near(change.index)]}
    if not times:
        return
    columns = ", ".join(f'"{name}"' for name in KEY[:-1])
    wanted = ", ".join(f"any_value({name}) AS {name}" for name in CIRCUMSTANCES)
    rows = store.rows(
        db,
        f"""SELECT {columns}, started, {wanted} FROM records
        WHERE {where.sql} AND list_contains(?, started) GROUP BY {columns}, started""",
        [*where.values, sorted(times)],
    )
    known = {(tuple(row[name] for name in KEY[:-1]), row["started"]): row for row in rows}
    for one in found:
        case = tuple(one.case[name] for name in KEY[:-1])
        for change in one.changes:
            keys = [(case, at) for at in one.at[_near(change.index)]]
            near = [known[key] for key in keys if key in known]
            change.what = tuple(differences(near[0], near[-1])) if near else ()


def _near(index: int) -> slice:
    return slice(max(index - NEAR, 0), index + NEAR)


def differences(before: Row, after: Row) -> list[str]:
    """What differs, as text: `libraries: mpi Open MPI v4.1.4 -> v5.0.1`."""
    found = []
    for name, title in CIRCUMSTANCES.items():
        old, new = (str(row[name] if row[name] is not None else "") for row in (before, after))
        if old != new:
            parts = [set(text.split(", ")) for text in (old, new)]
            gone, come = (", ".join(sorted(a - b)) for a, b in (parts, parts[::-1]))
            found.append(f"{title}: {gone or 'none'} -> {come or 'none'}")
    return found
