# SPDX-License-Identifier: BSD-3-Clause
"""`export`: a session or a run in formats of other programs."""

import argparse
import json
import sys

from iogauge.analysis.bundle.verdicts import accepted
from iogauge.analysis.errors import EXIT_OK, UsageError
from iogauge.analysis.judge import acceptance
from iogauge.analysis.ledger import traced
from iogauge.analysis.session.loader import load_session
from iogauge.analysis.session.rows import Table, make_table
from iogauge.common.files import write_whole

from . import options

FORMS = ("openmetrics", "junit", "timeline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("form", choices=FORMS)
    add("report", nargs="?", type=options.in_path)
    add("--acceptance", type=options.in_file)
    add("--to", type=options.out_file)
    options.add_output(parser)


def run(args: argparse.Namespace) -> int:
    if args.acceptance and args.form != "junit":
        raise UsageError("--acceptance is for junit only")
    if args.form == "timeline":
        from iogauge.analysis.pages import timeline

        options.need(args.report, "a traced run")
        folder = args.report or traced.last_traced(args.output)
        found = traced.load(folder if folder.is_dir() else folder.parent)
        text = json.dumps(timeline.events(found), allow_nan=False) + "\n"
    else:
        text = _session(args)
    if not args.to:
        sys.stdout.write(text)
        return EXIT_OK
    write_whole(args.to, text)
    options.say_written(args.to)
    return EXIT_OK


def _session(args: argparse.Namespace) -> str:
    from iogauge.analysis.pages import junit, metrics

    promised = acceptance.read(args.acceptance) if args.acceptance else None
    report = options.report_of(args)
    table: Table = make_table(load_session(report))
    if args.form == "openmetrics":
        return metrics.openmetrics(table)
    if not promised:
        return junit.xml(table)
    return junit.xml(table, promised.name, accepted(report, promised, table.session))
