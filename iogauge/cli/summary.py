# SPDX-License-Identifier: BSD-3-Clause
"""`summary`: the last session as a table, and on request as a page with one plot."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.analysis.errors import EXIT_NOT_VERIFIED, EXIT_OK
from iogauge.analysis.pages.terminal import print_table
from iogauge.analysis.session.loader import load_session
from iogauge.analysis.session.peaks import Peak
from iogauge.analysis.session.rows import Table, make_table, to_csv
from iogauge.analysis.store import database

from . import formats, options
from .latest import last_report
from .report import PAGE
from .store_add import ingest

if TYPE_CHECKING:
    from iogauge.analysis.pages import first_screen

EXAMPLES = """\
examples:
  iogauge summary                         the last session
  iogauge summary --csv > results.csv     every row with full precision
  iogauge summary --json | jq '.rows[] | select(.status == "failed")'
  iogauge summary output/reports/run-report-3.json --html third.html --png third.png

columns:
  % peak     of the practical peak: a file per process, large aligned POSIX transfers, same job
  % shared   of the second ceiling: one shared file, a contiguous range per process
  *          this ceiling is from the session's peak test: the run itself measured none
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "report", nargs="?", type=options.in_file, metavar="REPORT",
        help="ReFrame's report of a session (default: the last one below the output folder)",
    )  # fmt: skip
    parser.add_argument("--all", action="store_true", help="every row, with peaks and versions")
    options.add_output(parser)
    formats.add_format(parser)
    parser.add_argument(
        "--html", type=options.out_file, metavar="FILE", help="write a page with a plot"
    )
    parser.add_argument(
        "--png", type=options.out_file, metavar="FILE", help="write the plot as a picture"
    )


def run(args: argparse.Namespace) -> int:
    """Print the session. Returns EXIT_NOT_VERIFIED unless every row is verified."""
    report = args.report or last_report(args.output)
    table = make_table(load_session(report))
    if args.json:
        from iogauge.analysis.pages import first_screen

        found = as_json(table) | first_screen.as_json(_ask(table))
        json.dump(found, sys.stdout, indent=1, allow_nan=False)
        print()
    elif args.csv:
        sys.stdout.write(to_csv(table))
    elif args.all or args.wide:
        print_table(table, wide=args.wide)
    else:
        from iogauge.analysis.pages import first_screen

        first_screen.show(table, _ask(table), _ends(table))
    _write_pictures(table, args)
    return EXIT_OK if table.all_verified() else EXIT_NOT_VERIFIED


def _ask(table: Table) -> first_screen.Found:
    """A store of this session alone, and of no other."""
    from iogauge.analysis.pages import first_screen  # here: numpy is slow to load

    with tempfile.TemporaryDirectory() as folder:
        ingest(table.session.report, Path(folder), strict=False)
        return first_screen.ask(table, database.connect(Path(folder)))


def _ends(table: Table) -> list[tuple[str, str]]:
    """The page, and what to go on with."""
    page = table.session.output / PAGE
    here = Path.cwd()
    shown = page.relative_to(here) if page.is_relative_to(here) else page
    runs = sorted((row.run for row in table.rows), key=lambda run: run.order)
    stacks = list(dict.fromkeys(run.stack for run in runs))
    after = "iogauge summary --all"
    if not page.exists():
        return [("next", "iogauge report")]
    if table.all_verified() and len(stacks) > 1:
        after = f"iogauge compare {' '.join(stacks[:2])} --by stack"
    return [("page", str(shown)), ("next", after)]


def _write_pictures(table: Table, args: argparse.Namespace) -> None:
    if not args.html and not args.png:
        return
    from iogauge.analysis.pages import chart, report_page  # here: the chart library is slow to load

    written = report_page.write(table, [args.html]) if args.html else []
    for path in [*written, *([chart.write(table, args.png)] if args.png else [])]:
        options.say_written(path)


def as_json(table: Table) -> dict[str, object]:
    """The session for programs: same columns as the CSV, and the footer's facts."""
    session = table.session
    return {
        "session": {
            "uuid": session.uuid,
            "report": str(session.report),
            "started": session.started.isoformat(),
            "seconds": session.seconds,
            "interrupted": session.interrupted,
            "host": session.host,
            "harness": session.harness,
            "command": session.command,
        },
        "all_verified": table.all_verified(),
        "counts": dict(table.counts()),
        "rows": [row.cells() for row in table.all_rows],
        "peaks": [_peak_json(peak) for peak in table.peaks],
    }


def _peak_json(peak: Peak) -> dict[str, object]:
    what = peak.what
    return {
        "system": what.place.system,
        "partition": what.place.partition,
        "file_system": what.place.fs,
        "stack": what.place.stack,
        "fsync": what.place.fsync,
        "ceiling": what.ceiling,
        "direction": what.direction,
        "processes": what.processes,
        "source": what.source,
        "median_mib_s": peak.bandwidth.median,
        "min_mib_s": peak.bandwidth.low,
        "max_mib_s": peak.bandwidth.high,
    }
