# SPDX-License-Identifier: BSD-3-Clause
"""`learn`: what a system's own history lets one expect, as references/sites/SYSTEM.yaml."""

from __future__ import annotations

import argparse
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from iogauge.files import write_whole

from ..errors import EXIT_OK, OutputError, TooFewSamplesError
from ..judge import references
from ..judge.expectations import MARGIN, MIN_RUNS, learn, site_data
from . import formats, options

EXAMPLES = """\
examples:
  python -m analysis learn local                       writes references/sites/local.yaml
  python -m analysis learn dawn --where stack=openmpi  of one stack's history
  python -m analysis learn local --csv                 what it would write, as a table

A sample is a run (the median of its repeats), and a case needs 8. The bounds are the 5 % and the
95 % quantile of its runs, and 5 % of the median beyond (--margin). Tests of `make run` then have
them as ReFrame's `reference`: a run below its bound fails.
"""

NAMED = 5  # refused cases that are named one by one
COLUMNS = (
    "partition", "stack", "test", "processes", "quantity", "value", "low", "high", "unit",
    "samples",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", help="ReFrame's name of the system")
    options.add_where(parser)
    parser.add_argument("--margin", type=float, default=MARGIN, help="part of the median (0.05)")
    parser.add_argument("--references", type=Path, default=references.SITES, metavar="DIR",
                        help="folder of the reference files (default: IOGAUGE_REFERENCES, or "
                        "references)")  # fmt: skip
    options.add_store(parser)
    formats.add_format(parser, "what was learned, and write no file,")


def run(args: argparse.Namespace) -> int:
    """Write the site file. Raises TooFewSamplesError where no case has samples enough."""
    connection = options.connect(args)
    where = options.where(args, connection).key("system", [args.system])
    learned, refused = learn(connection, where, args.margin)
    for row in refused[:NAMED]:
        options.say(f"refused: {_name(row)} has {row['samples']} of {MIN_RUNS} runs")
    if len(refused) > NAMED:
        options.say(f"refused: {len(refused) - NAMED} more")
    if not learned:
        most = max((row["samples"] for row in refused), default=0)
        raise TooFewSamplesError(
            f"{args.system}: no case has {MIN_RUNS} runs; {len(refused)} cases have at most {most}"
        )
    formats.show(args, learned, COLUMNS)
    if not formats.for_programs(args):
        path = references.site_file(args.system, args.references)
        write(path, args.system, learned)
        options.say_written(path)
    return EXIT_OK


def _name(row: dict[str, Any]) -> str:
    return f"{row['test']} on {row['stack']}, {row['processes']} processes, {row['quantity']}"


def write(path: Path, system: str, learned: list[dict[str, Any]]) -> None:
    """The site file, by one rename. Raises OutputError where it cannot be written."""
    import yaml

    data = site_data(system, learned, datetime.now(timezone.utc).date())
    text = "# Written by `python -m analysis learn`: what this system's own history expects.\n"
    text += yaml.safe_dump(data, sort_keys=False, width=100)
    try:
        write_whole(path, text)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None
