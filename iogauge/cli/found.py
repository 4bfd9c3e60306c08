# SPDX-License-Identifier: BSD-3-Clause
"""`found`: what a session found, in ten lines of words."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from iogauge.analysis.errors import EXIT_OK
from iogauge.analysis.session.loader import read_report
from iogauge.common.text import plain_lines

from . import formats, options
from .latest import last_report

EXAMPLES = """\
examples:
  iogauge found                                    of the last session
  iogauge found output/reports/run-report-3.json   of this one

A way is the fastest by the median of its jobs. Its gain over mpiio:collective on the same stack,
and that of its stack over others with the same call, have their interval, from 6 rounds or more;
without one, what is missing is said. `make run` ends with it.
"""

WIDTH = 100
COLUMNS = ("about", "found")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "report", nargs="?", type=Path, metavar="REPORT",
        help="ReFrame's report of a stored session (default: the last one below the output folder)",
    )  # fmt: skip
    options.add_store(parser)
    formats.add_format(parser, "the lines")


def run(args: argparse.Namespace) -> int:
    """Print the lines. Raises NothingFoundError for a session that wrote nothing."""
    from iogauge.analysis.judge.findings import in_words  # here: numpy is slow to load

    report = args.report or last_report(args.output)
    uuid = str(read_report(report)["session_info"]["uuid"])
    connection = options.connect(args)
    lines = in_words(connection, options.where_session(uuid))
    if formats.for_programs(args):
        parts = [line.partition(": ") for line in lines]
        formats.show(args, [{"about": a, "found": text} for a, _, text in parts if text], COLUMNS)
    else:
        for line in lines:
            text = plain_lines(line)
            print(textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False))
    return EXIT_OK
