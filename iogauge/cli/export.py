# SPDX-License-Identifier: BSD-3-Clause
"""`export`: a session or a run in the forms that other programs read."""

from __future__ import annotations

import argparse
import json
import sys

from iogauge.analysis.errors import EXIT_OK, UsageError
from iogauge.analysis.judge import acceptance
from iogauge.analysis.ledger import traced
from iogauge.analysis.session.loader import load_session
from iogauge.analysis.session.rows import Table, make_table
from iogauge.common.files import write_whole

from . import options
from .bundle_make import accepted
from .latest import last_report

EXAMPLES = """\
examples:
  iogauge export openmetrics --to /var/lib/node_exporter/iogauge.prom
  iogauge export junit --acceptance acceptance.yaml --to junit.xml
  iogauge export timeline --to run.json          open it in ui.perfetto.dev
  iogauge export timeline output/20261120T174318/local/host/mpich/S3d_483802d4

openmetrics  text for Prometheus: gauges by case, of the session
junit        XML for CI systems: each case, why it failed or was skipped, verdicts on promises
timeline     Trace Event JSON of a traced run: phases, and each access where -S dxt=true kept them
"""

FORMS = ("openmetrics", "junit", "timeline")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("form", choices=FORMS)
    parser.add_argument(
        "what", nargs="?", type=options.in_path, metavar="REPORT|RUN",
        help="ReFrame's report; for timeline, the folder of a traced run (default: the last one)",
    )  # fmt: skip
    parser.add_argument(
        "--acceptance",
        type=options.in_file,
        metavar="FILE",
        help="junit: with the verdicts on these bounds",
    )
    parser.add_argument(
        "--to",
        type=options.out_file,
        metavar="FILE",
        help="there whole or not at all (default: print it)",
    )
    options.add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Write or print it. Raises UsageError for --acceptance where it says nothing."""
    if args.acceptance and args.form != "junit":
        raise UsageError("--acceptance: with junit only")
    text = _timeline(args) if args.form == "timeline" else _session(args)
    if not args.to:
        sys.stdout.write(text)
        return EXIT_OK
    write_whole(args.to, text)
    options.say_written(args.to)
    return EXIT_OK


def _session(args: argparse.Namespace) -> str:
    from iogauge.analysis.pages import junit, metrics

    promised = acceptance.read(args.acceptance) if args.acceptance else None
    report = args.what or last_report(args.output)
    table: Table = make_table(load_session(report))
    if args.form == "openmetrics":
        return metrics.openmetrics(table)
    if not promised:
        return junit.xml(table)
    return junit.xml(table, promised.name, accepted(report, promised, table.session))


def _timeline(args: argparse.Namespace) -> str:
    from iogauge.analysis.pages import timeline

    folder = args.what or traced.last_traced(args.output)
    found = traced.load(folder if folder.is_dir() else folder.parent)
    return json.dumps(timeline.events(found), allow_nan=False) + "\n"
