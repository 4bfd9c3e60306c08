# SPDX-License-Identifier: BSD-3-Clause
"""`compare`: is B faster than A?"""

from __future__ import annotations

import argparse
import functools
import re

from ..errors import EXIT_NOT_VERIFIED, EXIT_OK, UsageError
from ..judge.sides import WAYS
from ..store import database as store
from . import formats, options, progress

EXAMPLES = """\
examples:
  python -m analysis compare last~1 last                  the last session with the one before
  python -m analysis compare openmpi mpich --by stack --where pattern=s3d
  python -m analysis compare mpiio:independent mpiio:collective --by method --where pattern=s3d
  python -m analysis compare cb-disable cb-enable --by hint_set     a parameter of a test
  python -m analysis compare 2026-10-01..2026-10-31 2026-11-01..2026-11-30 --by date
  python -m analysis compare last~1 last --fail-slower 5%  exit 1 where B is slower: a gate
  python -m analysis compare last peak                     with the practical peak of the same job
  python -m analysis compare last reference                with references/sites/SYSTEM.yaml
  python -m analysis compare last published                beside published numbers

The ratio is B over A as speeds: 1.2 is 20 % faster, also for times. Its interval is the 95 %
bootstrap interval. Runs of A and B in the same session are paired; where each side has fewer than
6 runs, the repeats of its runs are the samples. --fail-slower allows one false alarm in 20 gates,
however many cases it looks at. docs/analysis.md says more.
"""

SPECIAL = ("peak", "reference", "published")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="the base: a session (last, last~1, the first "
                        "letters of its name), or what --by says")  # fmt: skip
    parser.add_argument("b", metavar="B", help=f"as A, or one of {', '.join(SPECIAL)}")
    parser.add_argument(
        "--by", default="session", metavar="WHAT",
        help=f"what A and B are: {', '.join(WAYS)}, or a test's parameter (default: session)",
    )  # fmt: skip
    options.add_where(parser)
    parser.add_argument(
        "--quantity", action="append", metavar="NAME",
        help="what to compare, such as write_phase_create (default: write_bw and read_bw)",
    )  # fmt: skip
    parser.add_argument("--fail-slower", type=_percent, metavar="PERCENT",
                        help="exit 1 where B is slower than A by this much")  # fmt: skip
    options.add_store(parser)
    formats.add_format(parser)


def _percent(text: str) -> float:
    """`5%` or `5` as 0.05."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)%?", text)
    if not match or float(match[1]) >= 100:
        raise argparse.ArgumentTypeError(f"expected a percentage such as 5%, found {text!r}")
    return float(match[1]) / 100


def run(args: argparse.Namespace) -> int:
    """Print the comparison. EXIT_NOT_VERIFIED where --fail-slower found something."""
    from ..judge import compare_with, comparison  # here: numpy is slow to load

    if args.fail_slower is not None and args.b == "published":
        raise UsageError("--fail-slower: published numbers are of other machines: no verdict")
    connection = store.connect(args.store)
    where = options.where(args).also("verdict <> 'nothing moved'")
    question = comparison.Question(
        args.a, args.b, args.by, args.quantity or comparison.QUANTITIES, args.fail_slower,
        args.where,
    )  # fmt: skip
    if args.b in SPECIAL:
        rows = compare_with.TABLES[args.b](connection, where, question)
        shown = compare_with.COLUMNS[args.b]
    else:
        each = functools.partial(progress.steps, what="compare", fewest=50)
        rows = comparison.compare(connection, where, question, each)
        shown = comparison.COLUMNS + (() if args.fail_slower is None else ("fails",))
    formats.show(args, rows, shown)
    return EXIT_NOT_VERIFIED if any(line.get("fails") for line in rows) else EXIT_OK
