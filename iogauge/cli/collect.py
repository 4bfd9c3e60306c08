# SPDX-License-Identifier: BSD-3-Clause
"""`collect`: what the scripts of `iogauge run --dry-run` left becomes a session."""

from __future__ import annotations

import argparse

from iogauge.measure import offline

from . import options

EXAMPLES = """\
examples:
  iogauge run --site dawn -n S3d --dry-run -o scripts    then, on dawn, run scripts/*/*/*/job.sh
  iogauge collect scripts                                the folder that was carried back
  iogauge store add --last

The results are verified, reported and stored as those of any other session.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=options.in_path, metavar="DIR", help="with the results")


def run(args: argparse.Namespace) -> int:
    """The exit status is ReFrame's."""
    return offline.collect(args.folder)
