# SPDX-License-Identifier: BSD-3-Clause
"""`compare`: is B faster than A?"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import EXIT_NOT_VERIFIED, EXIT_OK, NothingFoundError, UsageError
from ..judge.sides import CASE, WAYS, Group, case_columns, condition, groups
from ..store import database as store
from . import formats, options, progress

if TYPE_CHECKING:
    from ..judge.interval import Ratio

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

COLUMNS = (
    "pattern", "scale", "method", "mode", "variant", "hints", "stack", "fs", "processes",
    "quantity", "a", "b", "unit", "ratio", "low", "high", "samples", "verdict",
)  # fmt: skip
QUANTITIES = ("write_bw", "read_bw")
SPECIAL = ("peak", "reference", "published")
FALSE_ALARM = 0.05  # of --fail-slower, over all cases

Row = dict[str, Any]


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
    connection = store.connect(args.store)
    where = options.where(args).also("verdict <> 'nothing moved'")
    if args.b in SPECIAL:
        if args.fail_slower is not None and args.b == "published":
            raise UsageError("--fail-slower: published numbers are of other machines: no verdict")
        from ..judge import compare_with

        rows = compare_with.TABLES[args.b](connection, where, args)
        shown = compare_with.COLUMNS[args.b]
    else:
        sides = [condition(connection, args.by, word) for word in (args.a, args.b)]
        with_mode = args.by == "method" and ":" in args.a + args.b
        columns = case_columns([args.by], with_mode)
        both = pairs(groups(connection, where, _quantities(args), sides, columns))
        if not both:
            hint = "; give modes too, such as mpiio:collective" if args.by == "method" else ""
            raise NothingFoundError(
                f"no case has runs of both {args.a!r} and {args.b!r} (--by {args.by})"
                f"{store.fitting(args.where)}{hint}"
            )
        rows = [row(a, b) for a, b in progress.steps(both, "compare", fewest=50)]
        shown = COLUMNS
        if args.fail_slower is not None:
            for line, (a, b) in zip(rows, both, strict=True):
                line["fails"] = fails(a, b, args.fail_slower, len(both))
            shown = (*shown, "fails")
    formats.show(args, rows, shown)
    return EXIT_NOT_VERIFIED if any(line.get("fails") for line in rows) else EXIT_OK


def _quantities(args: argparse.Namespace) -> Sequence[str]:
    return args.quantity or QUANTITIES


def pairs(found: Sequence[Group]) -> list[tuple[Group, Group]]:
    """Groups of the same case and quantity: A's, B's."""
    by_case: dict[tuple[Any, ...], dict[int, Group]] = {}
    for group in found:
        by_case.setdefault((*group.case, group.quantity), {})[group.side] = group
    both = [(of[0], of[1]) for of in by_case.values() if len(of) == 2]
    return sorted(both, key=lambda pair: (list(map(str, pair[0].case)), _rank(pair[0])))


def _rank(group: Group) -> tuple[bool, str]:
    """Writes first, as one does."""
    return not group.quantity.startswith("write"), group.quantity


def measured(a: Group, b: Group, confidence: float | None = None) -> tuple[Ratio, str]:
    """B over A as speeds, and what the samples are: pairs of runs, runs, or repeats."""
    from ..judge import interval

    level = interval.CONFIDENCE if confidence is None else confidence
    of_a, of_b = ({run: statistics.median(v) for run, v in g.runs.items()} for g in (a, b))
    if a.unit == "s":  # a time: what takes longer is slower
        of_a, of_b = ({run: 1 / value for run, value in of.items()} for of in (of_a, of_b))
    shared = [run for run in of_a if run in of_b]
    if len(shared) >= interval.MIN_SAMPLES:
        return interval.paired_ratio([(of_a[r], of_b[r]) for r in shared], level), "pairs"
    if min(len(of_a), len(of_b)) >= interval.MIN_SAMPLES:
        return interval.ratio(list(of_a.values()), list(of_b.values()), level), "runs"
    all_a, all_b = (
        [1 / v if a.unit == "s" else v for values in g.runs.values() for v in values]
        for g in (a, b)
    )
    return interval.ratio(all_a, all_b, level), "repeats"


def row(a: Group, b: Group) -> Row:
    """One line of the table."""
    found, kind = measured(a, b)
    middle = [statistics.median(v for values in g.runs.values() for v in values) for g in (a, b)]
    return {
        **dict(zip(CASE, a.case, strict=True)),
        "quantity": a.quantity,
        "a": middle[0],
        "b": middle[1],
        "unit": a.unit,
        "ratio": found.value,
        "low": found.low,
        "high": found.high,
        "samples": f"{found.base_count}, {found.new_count} {kind}",
        "verdict": found.verdict,
        "a_document": a.about["document"],
        "b_document": b.about["document"],
    }


def fails(a: Group, b: Group, allowed: float, count: int) -> bool:
    """Whether B is slower by more than `allowed`, beyond doubt though `count` cases are looked at.

    Bonferroni's correction: the interval of each of `count` cases may miss the truth once in
    count / FALSE_ALARM.
    """
    found, _ = measured(a, b, 1 - FALSE_ALARM / count)
    return found.verdict == "slower" and found.value <= 1 - allowed
