# SPDX-License-Identifier: BSD-3-Clause
"""`store add`: sessions into the store."""

from __future__ import annotations

import argparse
import functools
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iogauge.analysis.errors import (
    EXIT_DATA,
    EXIT_OK,
    LONGEST,
    AnalysisError,
    MissingReportError,
    StoreError,
)
from iogauge.analysis.session import results_db
from iogauge.analysis.session.loader import all_reports, load_session, measured, read_report
from iogauge.analysis.session.model import CEILINGS, DIRECTIONS, Run, Session
from iogauge.analysis.store import database as store
from iogauge.analysis.store import files
from iogauge.analysis.store import run_files as traced
from iogauge.common import progress
from iogauge.common.text import folder_name, one_line

from . import formats, options
from .latest import last_report

if TYPE_CHECKING:
    import polars

EXAMPLES = """\
examples:
  iogauge store add                                   all sessions below output/
  iogauge store add output/reports/run-report-3.json  one session
  iogauge store add ~/.reframe/reports/results.db     all sessions of ReFrame's database
  iogauge store add --output /scratch/me/output --store /project/iogauge/store

Ingesting a session again changes nothing; where its files hold less than they did (the output
folder was cleaned), the store keeps what it has. A file of the store that is damaged, or is no
session, is moved to STORE/set-aside; the sessions below the output folder are then stored again.
"""

COLUMNS = ("session", "state", "runs", "records", "file")

Row = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "reports", nargs="*", type=options.in_file, metavar="REPORT",
        help="ReFrame's reports, or its results.db (default: all reports below the output folder)",
    )  # fmt: skip
    parser.add_argument("--last", action="store_true", help="only the last session below it")
    parser.add_argument("--quiet", action="store_true", help="say nothing of what was stored")
    options.add_store(parser)
    formats.add_format(parser, "what was ingested")


def run(args: argparse.Namespace) -> int:
    """Ingest the reports one after the other; one that cannot be used does not stop the others."""
    reports, place = args.reports, options.store_of(args)
    if not reports:
        reports = [last_report(args.output)] if args.last else all_reports(args.output)
    done, problems = [], 0
    clean(place)
    for report in progress.steps(reports, "ingest"):
        try:
            if results_db.is_database(report):
                found = list(results_db.reports(report))
            else:
                data = read_report(report)
                found = [data] if args.reports or measured(data) else []
            for data in found:
                done.append(ingest(report, place, data))
        except AnalysisError as error:
            problems += 1
            options.say(f"iogauge: not stored: {one_line(str(error), LONGEST)}")
    if not done and not problems:
        raise MissingReportError(f"{args.output}: expected reports of sessions, found dry runs")
    if done:
        store.compact(place)
        columns = [name for name in COLUMNS if name != "file"]
        if not args.quiet:
            formats.show(args, done, columns, note=f"store: {place}")
    return EXIT_DATA if problems else EXIT_OK


def ingest(
    report: Path, folder: Path, data: dict[str, Any] | None = None, *, strict: bool = True
) -> Row:
    """Put one session into the store, and say what became of it.

    `data`: the report as read before, or a row of the database `report`. The store is touched only
    after all of the session was read. Raises an AnalysisError where the report, or a document of a
    run that ReFrame took for good, cannot be used; unless `strict`, such a run is a failed one.
    """
    session = load_session(report, strict=strict, data=data)
    frame = to_frame(session, folder.resolve())
    store.create(folder)
    path, state = _put(frame, session, folder)
    return {
        "session": session.uuid,
        "state": state,
        "runs": len(session.runs),
        "records": frame.height,
        "file": str(path),
    }


def to_frame(session: Session, folder: Path) -> polars.DataFrame:
    """A session as rows of the store at `folder` (store.SCHEMA)."""
    import polars

    kinds: dict[str, Any] = {
        "VARCHAR": polars.String, "BIGINT": polars.Int64, "BOOLEAN": polars.Boolean,
        "DOUBLE": polars.Float64, "TIMESTAMP": polars.Datetime("us"),
    }  # fmt: skip
    schema = {name: kinds[kind] for name, kind in store.SCHEMA.items()}
    measured = ("quantity", "unit", "repeat", "value")
    runs: list[Row] = []
    values: list[tuple[Any, ...]] = []
    for number, one in enumerate(session.runs):
        runs.append({"run": number, **_run_cells(session, one, folder)})
        values += [(number, *entry) for entry in _values(one)] or [(number, *[None] * 4)]
    of_runs = polars.DataFrame(runs, {n: k for n, k in schema.items() if n not in measured})
    of_values = polars.DataFrame(
        values, {"run": polars.Int64, **{name: schema[name] for name in measured}}, orient="row"
    )
    return of_values.join(of_runs, on="run", how="left", maintain_order="left").select(list(schema))


def _run_cells(session: Session, one: Run, folder: Path) -> Row:
    """What all rows of a run have in common."""
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
        "hints": store.hints_text(result.hints) if result else "",
        "repeat_no": one.repeat,
        "document": _path(one.document, folder),
        "job_script": _path(one.job_script, folder),
        "trace": _path(traced.log(one.folder), folder),
        "ledger": traced.verdict(one.folder),
    }


_OF_RUN = (
    "session", "system", "partition", "stack", "fs", "test", "case", "variant", "is_peak",
    "pattern", "method", "mode", "scale", "processes", "status", "reason", "verdict",
)  # fmt: skip
_OF_RESULT = ("program", "kernel", "fs_type", "nodes", "fsync", "buffer", "caches", "payload_bytes",
              "mpi_io", "time", "cores")  # fmt: skip


def _path(path: Path | None, folder: Path) -> str:
    """Relative to the store's parent where it is below it: both are moved and copied together."""
    if path is None:
        return ""
    real = path.resolve()
    return str(real.relative_to(folder.parent) if real.is_relative_to(folder.parent) else real)


def _values(one: Run) -> Iterator[tuple[str, str, int | None, float]]:
    """(quantity, unit, repeat, value) of a run, its files' size and its ledger's too."""
    if one.result and one.result.file_bytes:
        yield "file_bytes", unit_of("file_bytes"), None, float(one.result.file_bytes)
    for sample in one.samples:
        known: dict[str, float | None] = {
            f"{direction}_bw": sample.bandwidth(direction) for direction in DIRECTIONS
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


@functools.cache
def unit_of(quantity: str) -> str:
    """The unit, from the words of a quantity's name."""
    words = set(quantity.split("_"))
    return next((unit for unit, of in _UNITS.items() if words & of), "1")


_UNITS = {
    "MiB/s": {"bw", "ceiling"},
    "files/s": {"rate"},
    "s": {"phase", "stretch", "seconds", "busy", "blocked"},
    "bytes": {"bytes", "payload", "overhead", "peak", "limit"},
}


def _put(frame: polars.DataFrame, session: Session, folder: Path) -> tuple[Path, str]:
    """Write the session's file unless the stored one is the same or holds more."""
    import polars

    try:  # the report says both, and may say anything
        system, name = map(folder_name, (session.runs[0].system, session.uuid))
    except ValueError as error:
        raise StoreError(f"{session.report}: {error}") from None
    place = folder / store.RECORDS / f"system={system}" / f"month={session.started:%Y-%m}"
    path = place / f"{name}.parquet"
    made = io.BytesIO()
    frame.write_parquet(made, compression="zstd", compression_level=1)
    data = made.getvalue()
    try:
        there = os.path.lexists(path)
        if there and not (why := store.problem(folder, path)):
            stored = path.read_bytes()
            if stored == data:
                return path, "unchanged"
            if polars.read_parquet_schema(io.BytesIO(stored)) == frame.schema:
                held = polars.scan_parquet(io.BytesIO(stored), hive_partitioning=False)
                if held.select(polars.len()).collect().item() > frame.height:
                    return path, "kept"
        elif not there and (rows := store.in_month(folder, place, session.uuid)):
            if len(rows) > frame.height:
                return path, "kept"
            if sorted(map(repr, rows)) == sorted(map(repr, frame.rows())):
                return path, "unchanged"
            there = True
        elif there:
            _set_aside(folder, files.Bad(path, why))
        files.save(folder, path, data)
        return path, "replaced" if there else "new"
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from None


def _set_aside(folder: Path, bad: files.Bad) -> None:
    place = files.set_aside(folder, bad)
    options.say(f"iogauge: {bad.path}: {bad.why}; it is {place} now")


def clean(folder: Path) -> None:
    """Set aside what is no session of the store, and remove what killed ingests left."""
    if (folder / store.RECORDS).is_dir():
        for bad in store.usable(folder)[1]:
            _set_aside(folder, bad)
        files.remove_remains(folder)
