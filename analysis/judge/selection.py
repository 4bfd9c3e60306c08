# SPDX-License-Identifier: BSD-3-Clause
"""The two sides of a comparison: which runs are A, which are B, and what must match."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iogauge.common.text import counted

from ..columns import columns
from ..errors import UsageError
from ..store import database as store
from ..store import words
from ..store.database import SCHEMA, Where
from .samples import Job

if TYPE_CHECKING:
    import duckdb

# The columns that define a case. In a comparison both sides agree in all of them, except for what
# it compares by.
CASE = columns("case")
SHOWN = 5  # sessions named in a message


@dataclass(frozen=True)
class Group:
    """One side's results for one case. `jobs`: medians, oldest first. `middle`: of all values."""

    case: tuple[Any, ...]
    side: int
    quantity: str
    unit: str
    jobs: dict[Job, float]
    middle: float
    about: dict[str, Any]


def session_condition(db: duckdb.DuckDBPyConnection, word: str) -> tuple[str, list[Any]]:
    """`last` (also if all of its jobs failed), `last~1` (the one before), or the first letters of
    one session's name; without any, all sessions. Includes the time, so that a query reads only
    that month's files."""
    db.execute(
        "CREATE TEMP TABLE IF NOT EXISTS known AS SELECT DISTINCT session, started FROM records"
    )
    match = re.fullmatch(r"last(?:~(\d+))?", word)
    if not word:
        return "true", []
    if not match:
        sql = "FROM known WHERE starts_with(session, ?) ORDER BY session <> ?, session"
        fits = db.execute(sql, [word, word]).fetchall()
        if len(fits) > 1 and fits[0][0] != word:
            names = ", ".join(session for session, _ in fits[:SHOWN])
            raise UsageError(f"{word}: expected one session, found {len(fits)}: {names}")
        return ("session = ? AND started = ?", list(fits[0])) if fits else ("false", [])
    sql = "FROM known ORDER BY started DESC, session OFFSET ? LIMIT 1"
    if found := db.execute(sql, [int(match[1] or 0)]).fetchone():
        return "session = ? AND started = ?", list(found)
    raise UsageError(f"{word}: the store has fewer sessions")


def sessions_named(db: duckdb.DuckDBPyConnection, word: str) -> str:
    key, _, value = word.partition("=")
    if key != "session" or not value:
        return word
    names = [next(iter(session_condition(db, one)[1]), one) for one in value.split(",")]
    return f"session={','.join(names)}"


COMPARABLE = ("session", "stack", "method", "hints", "fs", "date")

Side = tuple[str, list[Any]]  # which runs, as SQL with its values


def condition(db: duckdb.DuckDBPyConnection, by: str, word: str) -> Side:
    if by == "session":
        return session_condition(db, word)
    exact = Where("true").key(by, [word])  # a type's two names are two sides
    return exact.sql, exact.values


def interrupted(
    db: duckdb.DuckDBPyConnection, where: Where, by: str, words: Sequence[str]
) -> list[str]:
    """The sides' sessions that ended before all their cases."""
    sides = [condition(db, by, word) for word in words]
    chosen = where.also("interrupted").also(
        " OR ".join(f"({sql})" for sql, _ in sides), *(value for _, of in sides for value in of)
    )
    sql = f"SELECT DISTINCT session FROM records WHERE {chosen.sql} ORDER BY session"
    return [str(row[0]) for row in db.execute(sql, chosen.values).fetchall()]


# A file system's type -> other names of it in /proc/mounts.
_TYPES = {"nfs": ("nfs4",), "ceph": ("fuse.ceph-fuse",)}


def keys_condition(keys: Mapping[str, Any]) -> Side:
    where = Where("true")
    for key, value in keys.items():
        where = where.key(key, [str(value), *(_TYPES.get(value, ()) if key == "fs_type" else ())])
    return where.sql, where.values


# Columns that change with others: reserved I/O processes change the process count, collective
# metadata is a mode, and file systems of two types have two names.
_IMPLIED = {"io_processes": ("processes",), "metadata": ("mode",), "fs_type": ("fs",)}


def case_columns(by: Sequence[str], with_mode: bool) -> list[str]:
    """SQL of the columns that must match. `by`: what the sides differ in; `with_mode`: also."""
    fixed = (*SCHEMA, *COMPARABLE, *words.libraries())
    parameters = [key for key in by if key not in fixed]
    left_out = {*by, *(["mode"] if with_mode else []), *(["hints"] if parameters else [])}
    left_out |= {column for key in by for column in _IMPLIED.get(key, ())}
    variant = "variant"
    for key in parameters:
        variant = f"regexp_replace({variant}, '(^|, ){key}=[^,]*', '')"
    columns = {name: f'"{name}"' for name in CASE} | {"variant": f"ltrim({variant}, ', ')"}
    return ["''" if name in left_out else columns[name] for name in CASE]


def groups(
    db: duckdb.DuckDBPyConnection,
    where: Where,
    quantities: Sequence[str],
    sides: Sequence[Side],
    columns: Sequence[str],
) -> list[Group]:
    tests: list[str] = []
    values: list[Any] = []
    for sql, given in sides:
        tests.append(f"WHEN {sql} THEN '{len(tests)}'")
        values += given
    names = [f"c{i}" for i in range(len(columns))]
    case = ", ".join(f"{sql} AS {name}" for sql, name in zip(columns, names, strict=True))
    marks = ", ".join("?" for _ in quantities)
    chosen = f"""
        WITH chosen AS (
            SELECT CASE {" ".join(tests)} END AS side, {case}, quantity, unit, value,
                session, run, repeat_no, processes AS n, cores, fs_type, document,
                started, order_seed
            FROM records WHERE {where.sql} AND quantity IN ({marks}) AND NOT is_peak
        )"""
    values += [*where.values, *quantities]
    key = ", ".join(("side", *names, "quantity"))
    found = store.rows(
        db,
        f"""{chosen}
        SELECT hash({key}) AS id, {key}, any_value(unit) AS unit, any_value(n) AS processes,
            any_value(cores) AS cores, any_value(fs_type) AS fs_type,
            min_by(document, (started, run)) AS document, median(value) AS middle
        FROM chosen WHERE side IS NOT NULL GROUP BY {key} ORDER BY min(started)""",
        values,
    )
    made = {
        row["id"]: Group(
            tuple(row[name] for name in names),
            int(row["side"]),
            row["quantity"],
            row["unit"],
            {},
            row["middle"],
            row,
        )
        for row in found
    }
    if not made:
        return []
    # A separate query, with numbers for a case's many words: of perhaps a million jobs.
    jobs = store.by_id(
        db,
        f"""{chosen}
        SELECT hash({key}) AS id, hash(session) AS session, repeat_no AS round, min(run) AS place,
            bool_and(order_seed IS NOT NULL) AS drawn, median(value) AS middle
        FROM chosen WHERE side IS NOT NULL GROUP BY id, session, repeat_no
        ORDER BY id, max(started), session, min(run)""",
        values,
    )
    known: dict[Job, Job] = {}  # what wrote has read, too: one object
    for one, of_case in jobs.items():
        cells = [of_case[name].tolist() for name in (*Job._fields, "middle")]
        of_jobs = ((Job(*of), middle) for *of, middle in zip(*cells, strict=True))
        made[one].jobs.update((known.setdefault(job, job), middle) for job, middle in of_jobs)
    return list(made.values())


def with_stack(
    db: duckdb.DuckDBPyConnection, where: Where, sides: Sequence[Side], by: Sequence[str]
) -> list[str]:
    """`by`, and the stack if versions are compared that no stack has both of."""
    if set(words.libraries()).isdisjoint(by):
        return [*by]
    names = []
    for sql, values in sides:
        chosen = where.also(sql, *values)
        found = f"SELECT DISTINCT stack FROM records WHERE {chosen.sql}"
        names.append(set(db.execute(found, chosen.values).fetchall()))
    return [*by] if set.intersection(*names) else [*by, "stack"]


def failed_cases(
    db: duckdb.DuckDBPyConnection, where: Where, columns: Sequence[str]
) -> dict[tuple[Any, ...], str]:
    """`2 of 6 jobs: REASON` for each case with failed jobs. `columns`: SQL of what names a case."""
    chosen = where.sql.replace(store.GOOD, f"({store.GOOD} OR {store.BAD})", 1)
    jobs = "count(DISTINCT (session, run))"
    found = db.execute(
        f"""SELECT {", ".join(columns)}, {jobs} FILTER ({store.BAD}) AS failed, {jobs},
            min_by(reason, (started, run)) FILTER ({store.BAD} AND reason <> '')
        FROM records WHERE {chosen} GROUP BY ALL HAVING failed > 0""",
        where.values,
    ).fetchall()
    return {
        tuple(case): f"{failed} of {counted(jobs, 'job')}: {reason or 'no reason recorded'}"
        for *case, failed, jobs, reason in found
    }


def known(case: Sequence[Any]) -> tuple[Any, ...]:
    """What is known of a case that left no result."""
    return tuple(one for name, one in zip(CASE, case, strict=True) if name not in store.OF_RESULT)
