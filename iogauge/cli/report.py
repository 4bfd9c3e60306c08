# SPDX-License-Identifier: BSD-3-Clause
"""`report`: a session as a page, with its history from the store."""

import argparse
import functools
from collections.abc import Sequence
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple

from iogauge.analysis.errors import EXIT_OK
from iogauge.analysis.judge import history, share_of_peak
from iogauge.analysis.pages.report_tables import TABLES, Section, spack
from iogauge.analysis.pages.report_tables import history as history_section
from iogauge.analysis.session.loader import load_session
from iogauge.analysis.session.rows import Table, make_table
from iogauge.analysis.store import baselines
from iogauge.analysis.store import database as store
from iogauge.analysis.store.ingest import ingest
from iogauge.common import progress
from iogauge.common.apart import apart
from iogauge.common.files import write_whole
from iogauge.common.text import notice

from . import formats, options

PAGE = "report.html"
DAY = timedelta(days=1)
YEAR = timedelta(days=366)  # before the session, in tables; histories cover all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("report", nargs="?", type=options.in_file)
    add("--html", type=options.out_file)
    add("--png", type=options.out_folder)
    add("--tables", type=options.out_folder)
    add("--quiet", action="store_true")
    options.add_store(parser)
    formats.add_format(parser)


class Found(NamedTuple):
    """All that the store says. `around`: of Around; None without a page. `damaged`: so is a file of
    the store."""

    table: Table
    sections: list[Section]
    histories: Sequence[history.History]
    around: tuple[Any, Any, Any] | None
    damaged: bool


def run(args: argparse.Namespace) -> int:
    # DuckDB's memory is free before the charts take as much.
    table, sections, histories, around, args.damaged = apart("report", _find, args)
    root = options.store_of(args).resolve().parent
    tables: dict[str, Sequence[formats.Record]] = {
        "overview": [row.cells() for row in table.all_rows],
        **{section.name: section.rows for section in sections},
    }
    if args.csv:
        formats.write_csv(tables["overview"], ())
    elif args.json:
        rows = {name: list(map(formats.joined, of)) for name, of in tables.items()}
        formats.write_json({"session": table.session.uuid, **rows})
    written = []
    if around:
        from iogauge.analysis.pages import report_page  # here: the chart library is slow to load

        about = report_page.Around(*around, sections, histories, root)
        each = functools.partial(progress.steps, what="charts")
        written += report_page.write(table, _pages(args, table), about, each)
    files: dict[Path, str | bytes] = {}
    if args.tables:
        texts = {name: formats.csv_text(of, ()) for name, of in tables.items() if of}
        files |= {args.tables / f"{name}.csv": text for name, text in texts.items()}
    if args.png:
        from iogauge.analysis.pages import report_page

        pictures = report_page.pictures(table, sections)
        files |= {args.png / f"{name}.png": data for name, data in pictures.items()}
    for path, data in files.items():
        write_whole(path, data)
    for path in () if args.quiet else [*written, *files]:
        options.say_written(path)
    return EXIT_OK


def _find(args: argparse.Namespace) -> Found:
    report = options.report_of(args)
    place = options.store_of(args)
    ingest(report, place, notice=notice)  # mostly it is there already
    store.compact(place)
    table = make_table(load_session(report))
    root = place.resolve().parent
    db = options.connect(args)
    histories = history.of_session(db, table.session.uuid, baselines.load(place))
    start = table.session.started.astimezone(timezone.utc).replace(tzinfo=None)
    recent = store.connect(place, since=start - YEAR)
    sections = [make(recent, table.session.uuid) for make in progress.steps(TABLES, "tables")]
    sections.append(history_section(histories, db, table.session.uuid))
    sections.append(spack(table, root))
    # reads the files of the session's month only
    day = store.connect(place, since=start - DAY)
    around = _around(day, table, root) if _pages(args, table) else None
    return Found(table, sections, histories, around, getattr(args, "damaged", False))


def _pages(args: argparse.Namespace, table: Table) -> list[Path]:
    """The files to write. One is in the session's own folder, but only if that is below the output
    folder: the report holds its path, and may hold anything."""
    if args.html:
        return [args.html]
    if formats.for_programs(args):
        return []
    session = table.session
    own = args.output.resolve() in session.output.resolve().parents
    return [args.output / PAGE, *([session.output / PAGE] if own else [])]


def _around(db: Any, table: Table, root: Path) -> tuple[Any, Any, Any]:
    """The first of Around."""
    from iogauge.analysis.pages import answers

    where = store.Where().key("session", [table.session.uuid])
    cases = share_of_peak.of_cases(db, where)
    found = answers.rows(db, where, cases, root, table.highest)
    cases = [case for case in cases if case["efficiency"] is not None]
    troubles = answers.troubles(db, where)
    return found, cases, troubles
