# SPDX-License-Identifier: BSD-3-Clause
"""`expect accept`, `list` and `remove`: accepted changes of performance."""

import argparse
from dataclasses import asdict
from datetime import datetime, timezone

from iogauge.analysis.errors import EXIT_OK, NothingFoundError, UsageError, reraised
from iogauge.analysis.store import baselines
from iogauge.analysis.store import database as store
from iogauge.common import user
from iogauge.common.text import notice

from . import formats, options

COLUMNS = ("name", "since", "who", "when", "where", "why")


def add_accept(parser: argparse.ArgumentParser) -> None:
    options.add_where(parser)
    parser.add_argument("--why")
    parser.add_argument("--who")
    parser.add_argument("--since")
    options.add_store(parser)


def add_list(parser: argparse.ArgumentParser) -> None:
    options.add_store(parser)
    formats.add_format(parser)


def add_remove(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name")
    options.add_store(parser)


def run_list(args: argparse.Namespace) -> int:
    found = baselines.load(options.store_of(args))
    formats.show(args, [{**asdict(one), "where": " ".join(one.where)} for one in found], COLUMNS)
    return EXIT_OK


def run_remove(args: argparse.Namespace) -> int:
    baselines.remove(options.store_of(args), args.name)
    notice(f"removed {args.name}")
    return EXIT_OK


def run_accept(args: argparse.Namespace) -> int:
    if not args.why or not args.where:
        raise UsageError("expect accept: --where (which histories) and --why are required")
    db = options.connect(args)
    chosen = options.where(args, db)
    case = 'hash("case", stack, fs, processes, fsync)'
    sql = f"SELECT count(DISTINCT {case}) FROM records WHERE {chosen.sql}"
    count = db.execute(sql, chosen.values).fetchone()[0]  # type: ignore[index]
    if not count:
        raise NothingFoundError(f"no run{store.fitting(args.where)}")
    now = f"{datetime.now(timezone.utc).replace(tzinfo=None):%Y-%m-%dT%H:%M:%S}"
    one = baselines.Baseline(
        tuple(args.where), _time(args.since) or now, args.who or user.name(), now, args.why
    )
    path = baselines.add(options.store_of(args), one)
    notice(f"accepted change {path.stem}: {count} cases, since {one.since}, by {one.who}")
    return EXIT_OK


def _time(text: str | None) -> str:
    """A day means its end."""
    if not text:
        return ""
    with reraised(ValueError, UsageError, f"--since {text}: expected a date as 2026-11-20: "):
        found = datetime.fromisoformat(text)
    if found.tzinfo is not None:
        raise UsageError(f"--since {text}: expected UTC without a zone")
    return f"{text}T23:59:59" if len(text) == len("2026-11-20") else text
