# SPDX-License-Identifier: BSD-3-Clause
"""The keys of --where and --by, and the error for an unknown one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from iogauge.common.text import nearest

from ..errors import UsageError
from . import words
from .database import SCHEMA

if TYPE_CHECKING:
    import duckdb


def parameters(db: duckdb.DuckDBPyConnection) -> list[str]:
    found = db.execute("SELECT DISTINCT variant FROM records").fetchall()
    names = {name for (text,) in found for name in re.findall(r"(?:^|, )(\w+)=", text or "")}
    return sorted(names)


def check(
    db: duckdb.DuckDBPyConnection,
    option: str,
    keys: Iterable[str],
    more: Sequence[str] = (),
) -> None:
    """Raises UsageError for a key that no run can have; `more`: further keys of `option`."""
    fixed = [*more, *SCHEMA, *words.CONDITIONS, *words.libraries()]
    unknown = [key for key in keys if key not in fixed]
    if not unknown:
        return
    own = parameters(db)
    for key in unknown:
        if key not in own:
            near = nearest(key, [*fixed, *own])
            meant = f" (did you mean {near}?)" if near else ""
            raise UsageError(
                f"{option} {key}: no such key{meant}; known are {', '.join(dict.fromkeys(fixed))}, "
                f"and of parameters of tests {', '.join(own) or 'none'}"
            )
