# SPDX-License-Identifier: BSD-3-Clause
"""`expect learn`: a system's own history as references/sites/SYSTEM.yaml."""

import argparse
from contextlib import suppress
from datetime import date, datetime, timezone
from pathlib import Path

from iogauge.analysis.columns import columns
from iogauge.analysis.errors import EXIT_OK, NothingFoundError, UsageError
from iogauge.analysis.judge import learned, references
from iogauge.common.files import write_whole
from iogauge.common.text import notice

from . import formats, options

NAMED = 5  # refused cases that are named
WIDE = 5  # a reference so far below its value catches little
COLUMNS = columns("learned")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("system")
    options.add_where(parser)
    add("--name")
    add("--replace", action="store_true")
    add("--false-failures", type=_fraction, default=learned.FALSE_FAILURES)
    add("--references", type=options.out_folder, default=references.SITES)
    options.add_store(parser)
    formats.add_format(parser)


def _fraction(text: str) -> float:
    with suppress(ValueError):
        if 0 < (value := float(text)) <= 1:
            return value
    raise argparse.ArgumentTypeError(f"expected a fraction such as 0.05, found {text!r}")


def run(args: argparse.Namespace) -> int:
    path = references.site_file(args.system, args.references)
    if path.exists() and not args.replace and not formats.for_programs(args):
        raise UsageError(f"{path}: exists; --replace overwrites it")
    db = options.connect(args)
    where = options.where(args, db).key("system", [args.system])
    today = datetime.now(timezone.utc).date()
    found = learned.learn(db, where, args.name or f"{args.system}-{today}", args.false_failures)
    for row in found.refused[:NAMED]:
        case = "{test} on {stack}, {processes} processes, {quantity}".format_map(row)
        notice(f"refused: {case} {learned.why_refused(row)}")
    if len(found.refused) > NAMED:
        notice(f"refused: {len(found.refused) - NAMED} more")
    if not found.learned:
        most = max((row["samples"] for row in found.refused), default=0)
        raise NothingFoundError(
            f"{args.system}: no case has {learned.MIN_NIGHTS} independent sessions; "
            f"{len(found.refused)} cases have at most {most}"
        )
    formats.show(args, found.learned, COLUMNS, note=found.told)
    if wide := sum(row["low"] < row["value"] / WIDE for row in found.learned):
        notice(f"{wide} vary so much that they fail only below 1/{WIDE} of their value")
    if not formats.for_programs(args):
        write(path, args.system, found, today)
        options.say_written(path)
    return EXIT_OK


def write(path: Path, system: str, baseline: learned.Baseline, today: date) -> None:
    import yaml

    data = learned.site_data(system, baseline, today)
    text = "# Written by `iogauge expect learn`: what this system's own history expects.\n"
    text += f"# {baseline.told}\n"
    text += yaml.safe_dump(data, sort_keys=False, width=100)
    write_whole(path, text)
