# SPDX-License-Identifier: BSD-3-Clause
"""The store: every measured value of every session, in Parquet files that DuckDB queries
(docs/analysis.md). One file holds a whole session and appears by one rename, so concurrent ingests
lose nothing. A row is one value of one repeat (SCHEMA), or of a run without any."""

from __future__ import annotations

import contextlib
import json
import os
import re
import weakref
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iogauge.common import json_file, schemas
from iogauge.common.files import write_whole
from iogauge.common.text import Notice

from ..columns import columns as columns_of
from ..errors import NothingFoundError, StoreError, UsageError, reraised
from . import files, months, words
from .files import RECORDS, Bad

if TYPE_CHECKING:
    import numpy as np
    from duckdb import DuckDBPyConnection as Connection

VERSION = "iogauge.store/1"
MARK = "store.json"

# Each column with its DuckDB type. Times are UTC.
SCHEMA = {
    "session": "VARCHAR",
    "started": "TIMESTAMP",
    "interrupted": "BOOLEAN",
    "host": "VARCHAR",
    "harness": "VARCHAR",
    "program": "VARCHAR",
    "libraries": "VARCHAR",
    "kernel": "VARCHAR",
    "system": "VARCHAR",
    "partition": "VARCHAR",
    "stack": "VARCHAR",
    "fs": "VARCHAR",
    "fs_type": "VARCHAR",
    "test": "VARCHAR",
    "case": "VARCHAR",
    "variant": "VARCHAR",
    "is_peak": "BOOLEAN",
    "pattern": "VARCHAR",
    "method": "VARCHAR",
    "mode": "VARCHAR",
    "scale": "VARCHAR",
    "hints": "VARCHAR",
    "mpi_io": "VARCHAR",
    "processes": "BIGINT",
    "nodes": "BIGINT",
    "cores": "BIGINT",
    "fsync": "BOOLEAN",
    "buffer": "VARCHAR",
    "caches": "VARCHAR",
    "payload_bytes": "BIGINT",
    "status": "VARCHAR",
    "reason": "VARCHAR",
    "verdict": "VARCHAR",
    "run": "BIGINT",
    "repeat_no": "BIGINT",
    "order_seed": "BIGINT",
    "time": "VARCHAR",
    "document": "VARCHAR",
    "job_script": "VARCHAR",
    "trace": "VARCHAR",
    "ledger": "VARCHAR",
    "quantity": "VARCHAR",
    "unit": "VARCHAR",
    "repeat": "BIGINT",
    "value": "DOUBLE",
}

# Columns added later, with the value for files stored by earlier versions.
LATER = {"cores": "NULL", "buffer": "'whole'", "interrupted": "false", "order_seed": "NULL"}

OF_RESULT = columns_of("unknown_without_result")

MEMORY = "512MB"  # for DuckDB; the rest of a gibibyte is for Python and the answers

# Nothing depends on the order of rows in files.
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": MEMORY,
    "preserve_insertion_order": False,
}

# Runs whose numbers count. A run that missed its reference failed in ReFrame, but its bytes were
# right: it counts, or a history without its slow runs would expect too much.
GOOD = (
    "(status = 'ok' OR starts_with(reason, 'performance error: ')) AND verdict <> 'mismatch' "
    "AND quantity IS NOT NULL"
)
BAD = (
    "((status = 'failed' AND NOT starts_with(reason, 'performance error: ')) "
    "OR verdict = 'mismatch')"
)


def create(store: Path) -> None:
    mark = store / MARK
    if not mark.exists() and any((store / RECORDS).glob("*")):
        raise StoreError(f"{store}: {RECORDS} has files, but there is no {MARK}: not a store")
    try:
        (store / RECORDS).mkdir(parents=True, exist_ok=True)
        if not mark.exists():
            write_whole(mark, json.dumps({"schema": VERSION}) + "\n")
    except OSError as error:
        raise StoreError(f"{store}: cannot be written: {error.strerror}") from None
    check(store)


def check(store: Path) -> None:
    """Raises StoreError unless `store` has the known version."""
    mark = store / MARK
    if not mark.exists():
        how = "make one with: iogauge store add"
        raise StoreError(f"{store}: expected a store, found no {MARK}; {how}")
    with reraised((json_file.Unreadable, ValueError), StoreError, f"{mark}: "):
        schemas.check(json_file.read(mark), VERSION)


def connect(
    store: Path, notice: Notice = lambda _: None, since: datetime | None = None
) -> Connection:
    """A connection with the view `records` over all usable files; `notice` reports the others.
    `since`: only sessions from then on (UTC), which reads only their months' files.

    Raises StoreError if there is no store, and NothingFoundError if it is empty.
    """
    import duckdb

    check(store)
    with contextlib.ExitStack() as held:
        handle = months.hold(store)
        if handle is not None:
            held.callback(os.close, handle)
        db = duckdb.connect(config=CONFIG)
        good, bad = usable(store, db)
        if bad:
            notice(files.in_words(store, bad))
        if since:
            good = [path for path in good if path.parent.name >= f"month={since:%Y-%m}"]
        if not good:
            raise NothingFoundError(f"{store}: the store is empty; see iogauge store add")
        db.execute("SET parquet_metadata_cache = true")  # a page makes hundreds of queries
        try:
            source = _source(store, good)
            columns = _columns(db, source)
            recent = f" WHERE started >= TIMESTAMP '{since:%Y-%m-%d %H:%M:%S}'" if since else ""
            db.execute(f"CREATE VIEW records AS SELECT {columns} FROM {source}{recent}")
        except duckdb.Error as error:
            raise StoreError(f"{store}: cannot be read: {' '.join(str(error).split())}") from None
        weakref.finalize(db, held.pop_all().close)
    return db


def _source(store: Path, good: Sequence[Path]) -> str:
    """SQL of all rows of these files."""
    own = [path for path in good if path.is_relative_to(store / RECORDS)]
    return months.select(own, [path for path in good if path not in set(own)])


def _columns(db: Connection, source: str) -> str:
    """The store's columns as SQL, for files that may lack some."""
    there = {row[0] for row in db.execute(f"DESCRIBE FROM {source}").fetchall()}
    return ", ".join(
        f'{_column(name, name in there)}::{kind} AS "{name}"' for name, kind in SCHEMA.items()
    )


def _usable(store: Path, paths: Iterable[Path], db: Connection) -> list[Path]:
    return [path for path in paths if not problem(store, path, db)]


def in_month(store: Path, month: Path, session: str, db: Connection) -> list[tuple[Any, ...]]:
    """The rows of a session in a month's file. `month`: the folder of the sessions' own files."""
    old = _usable(store, months.place(store, month).glob("*.parquet"), db)
    if not old:
        return []
    source = _source(store, old)
    sql = f"SELECT {_columns(db, source)} FROM {source} WHERE session = ?"
    return db.execute(sql, [session]).fetchall()


def missing(store: Path, sessions: Iterable[str]) -> set[str]:
    import duckdb

    lacking = {one for one in sessions if not files.has(store, one)}
    places = list((store / files.MONTHS).glob("*/*/*.parquet"))
    if not lacking or not places:
        return lacking
    with duckdb.connect(config=CONFIG) as db:
        old = _usable(store, places, db)
        if not old:
            return lacking
        sql = f"SELECT DISTINCT session FROM {months.reading(old)} WHERE list_contains(?, session)"
        found = db.execute(sql, [sorted(lacking)]).fetchall()
    return lacking - {str(row[0]) for row in found}


def compact(store: Path) -> list[Path]:
    with months.locked(store / months.ALONE) as alone:
        due = months.due(store) if alone else []
        made = [months.compact(store, month, _columns, MEMORY) for month in due]
    return [path for path in made if path]


def usable(store: Path, db: Connection) -> tuple[list[Path], list[Bad]]:
    bad = [Bad(path, why) for path in files.places(store) if (why := files.damage(store, path))]
    broken = {one.path for one in bad}
    good = [path for path in files.places(store) if path not in broken]
    wrong = _wrong_columns(good, db)
    bad += [Bad(path, why) for path, why in wrong.items()]
    return [path for path in good if path not in wrong], bad


def problem(store: Path, path: Path, db: Connection) -> str:
    """Why a file is unusable; empty if it is usable."""
    return files.damage(store, path) or _wrong_columns([path], db).get(path, "")


def _wrong_columns(paths: Sequence[Path], db: Connection) -> dict[Path, str]:
    """Files whose columns differ from SCHEMA, with the reason; by one query if that works."""
    import duckdb

    wrong: dict[Path, str] = {}
    found: dict[Path, dict[str, str]] = {path: {} for path in paths}

    def look(some: Sequence[Path]) -> None:
        sql = "SELECT file_name, name, type FROM parquet_schema(?)"
        for file, column, kind in db.execute(sql, [list(map(str, some))]).fetchall():
            found[Path(file)][column] = kind

    try:
        look(paths)
    except duckdb.Error:
        for path in paths:
            try:
                look([path])
            except duckdb.Error as error:
                wrong[path] = f"it is not a Parquet file: {' '.join(str(error).split())[:200]}"
    for path, columns in found.items():
        for name, kind in SCHEMA.items():
            if columns.get(name, _PHYSICAL[kind] if name in LATER else None) != _PHYSICAL[kind]:
                wrong.setdefault(path, f"it holds something else: no column {name!r} of a session")
    return wrong


# Types of SCHEMA as Parquet stores them.
_PHYSICAL = {
    "VARCHAR": "BYTE_ARRAY",
    "TIMESTAMP": "INT64",
    "BIGINT": "INT64",
    "BOOLEAN": "BOOLEAN",
    "DOUBLE": "DOUBLE",
}


def _column(name: str, there: bool) -> str:
    """A column as SQL. `there`: whether any file has it; files without it give NULL."""
    if name not in LATER:
        return f'"{name}"'
    return f'coalesce("{name}", {LATER[name]})' if there else LATER[name]


def fitting(words: Sequence[str]) -> str:
    """The end of a message that nothing was found: ` that fits fs=disk and method=posix`."""
    return f" that fits {' and '.join(words)}" if words else ""


class Where:
    """A condition on runs: SQL text with its values."""

    def __init__(self, sql: str = GOOD, values: Sequence[Any] = ()) -> None:
        self.sql = sql
        self.values = list(values)

    def also(self, sql: str, *values: Any) -> Where:
        return Where(f"{self.sql} AND ({sql})", [*self.values, *values])

    def key(self, key: str, values: Iterable[str | int]) -> Where:
        """One KEY=VALUE of --where; values in published tables may be numbers. A run without a
        result document may have any value of what only the document says."""
        wanted: list[Any] = list(map(str, values))
        if key in words.CONDITIONS:
            found = [words.CONDITIONS[key](word) for word in wanted]
            sql, wanted = " OR ".join(sql for sql, _ in found), [v for _, of in found for v in of]
        elif key in SCHEMA:
            sql = f'CAST("{key}" AS VARCHAR) IN ({", ".join("?" for _ in wanted)})'
        elif key in words.libraries():
            sql, *wanted = words.version(key, wanted)
        else:
            one = "|".join(re.escape(value) for value in wanted)
            sql, wanted = "regexp_matches(variant, ?)", [rf"(^|, ){re.escape(key)}=({one})(,|$)"]
        if key in (*OF_RESULT, *words.libraries()):
            sql += " OR verdict = ''"
        return self.also(sql, *wanted)

    @classmethod
    def parse(cls, given: Iterable[str], start: Where | None = None) -> Where:
        """Parse the words of --where. Raises UsageError for one that is not KEY=VALUE."""
        where = start or cls()
        for word in given:
            key, equals, value = word.partition("=")
            if not (equals and re.fullmatch(r"\w+", key)):
                columns = ", ".join(SCHEMA)
                raise UsageError(f"--where {word}: expected KEY=VALUE; columns are {columns}")
            values = [value] if key in ("hints", "case") else value.split(",")
            for one in values:
                if re.match(r"\w+=", one):
                    why = f"a --where for each KEY, such as --where {one}"
                    raise UsageError(f"--where {word}: expected KEY=VALUE; use {why}")
            where = where.key(key, values)
        return where


def rows(db: Connection, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    answer = db.execute(sql, list(values))
    names = [column[0] for column in answer.description or []]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def by_id(db: Connection, sql: str, values: Sequence[Any] = ()) -> dict[int, dict[str, np.ndarray]]:
    """The columns of a result, split by `id`. The result must be ordered by `id`."""
    import numpy as np

    found = db.execute(sql, list(values)).fetchnumpy()
    ids, first = np.unique(found.pop("id"), return_index=True)
    parts = {name: np.split(column, first[1:]) for name, column in found.items()}
    return {int(one): {name: cut[i] for name, cut in parts.items()} for i, one in enumerate(ids)}
