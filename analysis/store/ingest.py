# SPDX-License-Identifier: BSD-3-Clause
"""Adding sessions to the store."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iogauge.common.paths import below
from iogauge.common.text import Notice, folder_name

from ..columns import columns
from ..errors import StoreError, reraised
from ..session.loader import load_session
from ..session.model import BANDWIDTHS, CEILINGS, DIRECTIONS, Run, Session, unit_of
from . import database as store
from . import files, months
from . import run_files as traced

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

Row = dict[str, Any]


def ingest(
    report: Path,
    folder: Path,
    data: dict[str, Any] | None = None,
    *,
    strict: bool = True,
    notice: Notice = lambda _: None,
) -> Row:
    """Add one session to the store, and say what was done. `data`: the report as read before,
    or a row of the database `report`. The store is touched only after all of the session was read.
    `notice`: is told of a damaged file. Raises an AnalysisError if the report, or a document of
    a run that passed in ReFrame, cannot be used; unless `strict`, such a run is a failed one."""
    session = load_session(report, strict=strict, data=data)
    with _rows_of(session, folder.resolve()) as db:
        store.create(folder)
        path, state = _put(db, session, folder, notice)
        return {
            "session": session.uuid,
            "state": state,
            "runs": len(session.runs),
            "records": _count(db, "records"),
            "file": str(path),
        }


def _rows_of(session: Session, folder: Path) -> Connection:
    import duckdb

    runs: list[Row] = []
    values: list[tuple[Any, ...]] = []
    for number, one in enumerate(session.runs):
        runs.append({"run": number, **_run_cells(session, one, folder)})
        values += [(number, *entry) for entry in _values(one)] or [(number, *[None] * 4)]
    of_runs = {name: [run[name] for run in runs] for name in store.SCHEMA if name not in _MEASURED}
    of_values = dict(zip(("run", *_MEASURED), map(list, zip(*values, strict=True)), strict=True))
    db = duckdb.connect(config={"threads": 1})  # the same rows give the same file
    for table, given in (("runs", of_runs), ("measured", of_values)):
        unnested = ", ".join(f'unnest(?::{store.SCHEMA[name]}[]) AS "{name}"' for name in given)
        cells = [[_cell(value) for value in column] for column in given.values()]
        db.execute(f"CREATE TABLE {table} AS SELECT {unnested}", cells)
    names = ", ".join(f'"{name}"' for name in store.SCHEMA)
    db.execute(
        f"CREATE TABLE records AS SELECT {names} FROM measured JOIN runs USING (run) "
        "ORDER BY measured.rowid"
    )
    return db


def _cell(value: Any) -> Any:
    """A value as DuckDB takes it: text from a report may have half a surrogate pair."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


_MEASURED = ("quantity", "unit", "repeat", "value")


def _run_cells(session: Session, one: Run, folder: Path) -> Row:
    result = one.result
    libraries = result.libraries if result else {}
    of_result: Row = {name: getattr(result, name, None) for name in _OF_RESULT}
    return {
        **{name: getattr(one, name) for name in _OF_RUN},
        **of_result,
        "started": session.started.replace(tzinfo=None),
        "host": session.host,
        "interrupted": session.interrupted,
        "harness": session.harness,
        "libraries": ", ".join(f"{key} {libraries[key]}" for key in sorted(libraries)),
        "hints": " ".join(map("=".join, sorted(result.hints.items()))) if result else "",
        "repeat_no": one.repeat,
        "order_seed": session.order_seed,
        "document": _path(one.document, folder),
        "job_script": _path(one.job_script, folder),
        "trace": _path(traced.log(one.folder), folder),
        "ledger": traced.verdict(one.folder),
    }


_OF_RUN = columns("of_run")
_OF_RESULT = columns("of_result")


def _path(path: Path | None, folder: Path) -> str:
    """Relative to the store's parent where it is below it: both are moved and copied together."""
    return str(below(folder.parent, path.resolve())) if path else ""


def _values(one: Run) -> Iterator[tuple[str, str, int | None, float]]:
    """(quantity, unit, repeat, value) of a run, its files' size and its ledger's too."""
    if one.result and one.result.file_bytes:
        yield "file_bytes", unit_of("file_bytes"), None, float(one.result.file_bytes)
    for sample in one.samples:
        known: dict[str, float | None] = {
            name: sample.bandwidth(direction) for direction, name in BANDWIDTHS.items()
        }
        for ceiling in CEILINGS:
            for direction in DIRECTIONS:
                value = sample.ceilings.get((ceiling, direction))
                known[f"ceiling_{ceiling}_{direction}"] = value
        for name, value in {**sample.values, **known}.items():
            if value is not None:
                yield name, unit_of(name), sample.repeat, value
    for name, value in traced.numbers(one.folder).items():
        yield name, unit_of(name), None, value


def _put(db: Connection, session: Session, folder: Path, notice: Notice) -> tuple[Path, str]:
    """Write the session's file unless the stored one is the same or has more."""
    # both come from the report, which may hold anything
    with reraised(ValueError, StoreError, f"{session.report}: "):
        system, name = map(folder_name, (session.runs[0].system, session.uuid))
    place = folder / store.RECORDS / f"system={system}" / f"month={session.started:%Y-%m}"
    path = place / f"{name}.parquet"
    with tempfile.TemporaryDirectory() as part:
        data = months.parquet(db, "FROM records", Path(part) / path.name)
    count = _count(db, "records")
    try:
        there = os.path.lexists(path)
        if there and not (why := store.problem(folder, path, db)):
            if path.read_bytes() == data:
                return path, "unchanged"
            stored = months.reading([path])
            names = [row[0] for row in db.execute(f"DESCRIBE FROM {stored}").fetchall()]
            if names == list(store.SCHEMA) and _count(db, stored) > count:
                return path, "kept"
        elif not there and (rows := store.in_month(folder, place, session.uuid, db)):
            if len(rows) > count:
                return path, "kept"
            made = db.execute("FROM records").fetchall()
            if sorted(map(repr, rows)) == sorted(map(repr, made)):
                return path, "unchanged"
            there = True
        elif there:
            notice(_set_aside(folder, files.Bad(path, why)))
        files.save(folder, path, data)
        return path, "replaced" if there else "new"
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from None


def _count(db: Connection, source: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {source}").fetchall()[0][0])


def _set_aside(folder: Path, bad: files.Bad) -> str:
    return f"{bad.path}: {bad.why}; moved to {files.set_aside(folder, bad)}"


def clean(folder: Path, notice: Notice) -> None:
    import duckdb

    if (folder / store.MARK).is_file() and (folder / store.RECORDS).is_dir():
        with duckdb.connect(config=store.CONFIG) as db:
            for bad in store.usable(folder, db)[1]:
                notice(_set_aside(folder, bad))
        files.remove_remains(folder)
