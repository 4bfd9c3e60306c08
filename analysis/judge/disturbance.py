# SPDX-License-Identifier: BSD-3-Clause
"""Was the machine disturbed? The ceilings tell: on an idle machine the same transfers are equally
fast throughout a session."""

from dataclasses import dataclass
from typing import Any

from ..store import database as store
from ..store.queries import query
from .selection import CASE

UNEVEN = 2.0  # times: the fastest measurement over the slowest


@dataclass(frozen=True)
class Disturbance:
    """How disturbed one file system was. `typical`: the median of how many times the ceiling varied
    in a case."""

    fs: str
    cases: int
    typical: float
    worst: float

    @property
    def disturbed(self) -> bool:
        return self.typical > UNEVEN


def ceilings(db: Any, where: store.Where) -> list[Disturbance]:
    where = where.also("quantity IN ('ceiling_fpp_write', 'ceiling_fpp_read')")
    case = ", ".join(f'"{name}"' for name in CASE)
    rows = store.rows(db, query("disturbance", where=where.sql, case=case), where.values)
    return [Disturbance(**row) for row in rows]


def crowded(db: Any, where: store.Where) -> int:
    """Runs with more processes than cores: they measured the scheduler too."""
    found = db.execute(
        f"SELECT count(DISTINCT run) FROM records WHERE {where.sql} AND processes > cores",
        where.values,
    ).fetchone()
    return int(found[0])
