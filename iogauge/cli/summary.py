# SPDX-License-Identifier: BSD-3-Clause
"""`summary`: the last session as a table, or as a page with one plot."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.analysis.errors import EXIT_NOT_VERIFIED, EXIT_OK
from iogauge.analysis.pages.footer import print_table
from iogauge.analysis.session.loader import load_session
from iogauge.analysis.session.peaks import Conditions, SessionPeak
from iogauge.analysis.session.rows import Table, make_table, to_csv
from iogauge.analysis.store import database
from iogauge.analysis.store.ingest import ingest

from . import formats, options
from .report import PAGE

if TYPE_CHECKING:
    from iogauge.analysis.pages import first_screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("report", nargs="?", type=options.in_file)
    add("--all", action="store_true")
    options.add_output(parser)
    formats.add_format(parser)
    add("--html", type=options.out_file)
    add("--png", type=options.out_file)


def run(args: argparse.Namespace) -> int:
    table = make_table(load_session(options.report_of(args)))
    if args.json:
        from iogauge.analysis.pages import first_screen

        formats.write_json(as_json(table) | first_screen.as_json(_ask(table)))
    elif args.csv:
        sys.stdout.write(to_csv(table))
    elif args.all or args.wide:
        print_table(table, wide=args.wide)
    else:
        from iogauge.analysis.pages import first_screen

        first_screen.show(table, _ask(table), _ends(table))
    if args.html or args.png:
        from iogauge.analysis.pages import bars, report_page  # here: the library is slow to load

        written = report_page.write(table, [args.html]) if args.html else []
        for path in [*written, *([bars.write(table, args.png)] if args.png else [])]:
            options.say_written(path)
    return EXIT_OK if table.all_verified() else EXIT_NOT_VERIFIED


def _ask(table: Table) -> first_screen.Found:
    from iogauge.analysis.pages import first_screen  # here: numpy is slow to load

    with tempfile.TemporaryDirectory() as folder:
        ingest(table.session.report, Path(folder), strict=False)
        return first_screen.ask(table, database.connect(Path(folder)))


def _ends(table: Table) -> list[tuple[str, str]]:
    page = table.session.output / PAGE
    if not page.exists():
        return [("next", "iogauge report")]
    stacks = sorted({row.run.stack for row in table.rows}, reverse=True)
    after = "iogauge summary --all"
    if table.all_verified() and len(stacks) > 1:
        after = f"iogauge compare {' '.join(stacks[:2])} --by stack"
    return [("page", str(options.shown(page))), ("next", after)]


def as_json(table: Table) -> dict[str, object]:
    session = table.session
    names = ("uuid", "report", "started", "seconds", "interrupted", "host", "harness", "command")
    facts = {name: getattr(session, name) for name in names}
    facts |= {"report": str(session.report), "started": session.started.isoformat()}
    return {
        "session": facts,
        "all_verified": table.all_verified(),
        "counts": dict(table.counts()),
        "rows": [row.cells() for row in table.all_rows],
        "peaks": [_peak_json(*of) for of in table.highest.all().items()],
    }


def _peak_json(of: Conditions, peak: SessionPeak) -> dict[str, object]:
    about = of._asdict()
    number = {"mib_s": peak.value, "source": peak.source, "jobs": peak.jobs}
    return {"file_system": about.pop("fs"), **about, **number}
