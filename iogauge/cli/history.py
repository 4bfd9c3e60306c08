# SPDX-License-Identifier: BSD-3-Clause
"""`history`: the performance of each case over time, its changes, and what changed with it."""

import argparse

from iogauge.analysis.errors import EXIT_NOT_VERIFIED, EXIT_OK, NothingFoundError
from iogauge.analysis.session.model import USUAL
from iogauge.analysis.store import baselines, keys
from iogauge.analysis.store import database as store
from iogauge.common.text import notice

from . import formats, options
from .compare import percent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    options.add_where(parser)
    add("--quantity", action="append")
    add("--smallest", type=percent, default=0.05)
    add("--all", action="store_true")
    add("--plot", type=options.out_file)
    add("--fail-regressed", action="store_true")
    options.add_store(parser)
    formats.add_format(parser)


def run(args: argparse.Namespace) -> int:
    from iogauge.analysis.judge import history  # here: numpy is slow to load
    from iogauge.analysis.pages import history_table

    db = options.connect(args)
    where = options.where(args, db)
    keys.check_quantities(db, args.quantity or ())
    given = baselines.load(options.store_of(args))
    quantities = args.quantity or USUAL
    found = history.find(db, where, given, quantities, args.smallest)
    if not found:
        raise NothingFoundError(f"no run{store.fitting(args.where)}")
    rows = history_table.rows(found, everything=args.all or formats.for_programs(args))
    formats.show(args, rows, history_table.COLUMNS)
    if args.plot:
        from iogauge.analysis.pages import history_chart  # here: the chart library is slow to load

        history_chart.write(args.plot, found)
        options.say_written(args.plot)
        if len(found) > (most := history_chart.MOST):
            notice(f"it shows {most} of {len(found)} cases, the largest drops first")
    notice(history_table.in_words(found))
    broken = args.fail_regressed and any(one.bad for one in found)
    return EXIT_NOT_VERIFIED if broken else EXIT_OK
