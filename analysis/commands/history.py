# SPDX-License-Identifier: BSD-3-Clause
"""`history`: how fast each case was over time, when that changed, and what changed with it."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import EXIT_NOT_VERIFIED, EXIT_OK, NothingFoundError
from ..store import baselines
from ..store import database as store
from . import formats, options
from .compare import percent

if TYPE_CHECKING:
    from ..judge.history import Change, History

EXAMPLES = """\
examples:
  python -m analysis history                               all changes of all cases
  python -m analysis history --where pattern=s3d,stack=mpich --all --plot s3d.png
  python -m analysis history --quantity write_phase_close --where method=hdf5
  python -m analysis history --fail-regressed              exit 1 while a drop is not acknowledged

A drop stays `regressed` until the level is back (`recovered`), or until somebody acknowledges it:
  python -m analysis baseline set --where stack=mpich --why "MPICH 4.2, accepted in ticket 17"
"""

COLUMNS = ("pattern", "scale", "method", "mode", "variant", "stack", "fs", "processes", "quantity",
           "over_time", "runs", "date", "change", "state", "what_changed")  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    options.add_where(parser)
    parser.add_argument(
        "--quantity", action="append", metavar="NAME",
        help="such as write_phase_create (default: write_bw and read_bw)",
    )  # fmt: skip
    parser.add_argument("--smallest", type=percent, default=0.05, metavar="PERCENT",
                        help="smaller changes are none (default: 5%%)")  # fmt: skip
    parser.add_argument("--all", action="store_true", help="also cases without a change")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a .png or .svg of them")
    parser.add_argument("--fail-regressed", action="store_true",
                        help="exit 1 where a drop was not acknowledged")  # fmt: skip
    options.add_store(parser)
    formats.add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Print the changes. Raises NothingFoundError where no run fits."""
    from ..judge import history  # here: numpy is slow to load

    connection = options.connect(args)
    where = options.where(args, connection)
    given = baselines.load(options.store_of(args))
    quantities = args.quantity or history.QUANTITIES
    found = history.find(connection, where, given, quantities, args.smallest)
    if not found:
        raise NothingFoundError(f"no run{store.fitting(args.where)}")
    formats.show(args, rows(found, everything=args.all or formats.for_programs(args)), COLUMNS)
    if args.plot:
        from ..pages import history_chart  # here: the chart library is slow to load

        history_chart.write(args.plot, found)
        options.say_written(args.plot)
    options.say(in_words(found))
    broken = args.fail_regressed and any(one.regressed for one in found)
    return EXIT_NOT_VERIFIED if broken else EXIT_OK


def rows(found: Sequence[History], *, everything: bool) -> list[dict[str, Any]]:
    """A row for each change, the worst first; with `everything` one for each case without."""
    made = []
    for one in sorted(found, key=lambda one: one.of_best):
        changes: list[Change | None] = [*one.changes]
        if not changes and everything:
            changes = [None]
        made += [row(one, change) for change in changes]
    return made


def row(one: History, change: Change | None) -> dict[str, Any]:
    from ..pages.words import change_text, over_time

    known = one.baseline
    return {
        **one.case,
        "over_time": over_time(one.values),
        "runs": len(one.values), "first": one.at[0], "last": one.at[-1],
        "now": one.values[-1],
        "date": f"{change.date:%Y-%m-%d}" if change else None,
        "change": change_text(change) if change else "",
        "ratio": change.ratio if change else None,
        "low": change.low if change else None,
        "high": change.high if change else None,
        "state": change.state if change else one.status,
        "what_changed": change.what if change else (),
        "status": one.status,
        "baseline": f"{known.since}, {known.who}: {known.why}" if known else "",
    }  # fmt: skip


def in_words(found: Sequence[History]) -> str:
    counts = Counter(one.status for one in found)
    said = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    return f"{len(found)} histories: {said}"
