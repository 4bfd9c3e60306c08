# SPDX-License-Identifier: BSD-3-Clause
"""The keys of --where and --by, and the error for an unknown one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from iogauge.common.text import unknown

from ..errors import UsageError
from . import words
from .database import SCHEMA

if TYPE_CHECKING:
    import duckdb


def check(
    db: duckdb.DuckDBPyConnection,
    option: str,
    keys: Iterable[str],
    more: Sequence[str] = (),
) -> None:
    """Raises UsageError for a key that no run can have; `more`: further keys of `option`."""
    fixed = dict.fromkeys([*more, *SCHEMA, *words.CONDITIONS, *words.libraries()])
    for key in keys:
        if key not in fixed:
            found = db.execute("SELECT DISTINCT variant FROM records").fetchall()
            own = {one for (text,) in found for one in re.findall(r"(?:^|, )(\w+)=", text or "")}
            if key not in own:
                raise UsageError(f"{option} {unknown(key, [*fixed, *sorted(own)])}")


def check_quantities(db: duckdb.DuckDBPyConnection, asked: Iterable[str]) -> None:
    """Raises UsageError for a quantity that no run has."""
    sql = "SELECT DISTINCT quantity FROM records WHERE quantity <> '' ORDER BY quantity"
    known = [name for (name,) in db.execute(sql).fetchall()]
    for name in asked:
        if name not in known:
            raise UsageError(f"--quantity {unknown(name, known)}")
