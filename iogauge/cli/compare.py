# SPDX-License-Identifier: BSD-3-Clause
"""`compare`: is B faster than A?"""

from __future__ import annotations

import argparse
import functools
import re
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from iogauge.analysis.errors import EXIT_DATA, EXIT_NOT_VERIFIED, EXIT_OK, UsageError
from iogauge.analysis.judge.selection import COMPARABLE, interrupted
from iogauge.analysis.session.model import USUAL
from iogauge.analysis.store import keys
from iogauge.common import progress
from iogauge.common.text import counted, notice

from . import formats, options

if TYPE_CHECKING:
    from iogauge.analysis.judge import compare_runs


REASONS = 3  # undecided cases printed with a reason
NAMED = 5  # cases named per outcome
FEW = 8  # rows printed whatever their verdict
Row = dict[str, Any]

SPECIAL = ("peak", "reference", "published")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("a")
    add("b")
    add("--by", default="session")
    options.add_where(parser)
    add("--quantity", action="append")
    add("--fail-slower", type=percent)
    add("--allow-undecided", action="store_true")
    add("--correct", choices=("holm", "bh"), default="holm")
    add("--all", action="store_true")
    add("--html", type=options.out_file)
    options.add_store(parser)
    formats.add_format(parser)


def percent(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)%?", text)
    if not match or float(match[1]) >= 100:
        raise argparse.ArgumentTypeError(f"expected a percentage such as 5%, found {text!r}")
    return float(match[1]) / 100


def run(args: argparse.Namespace) -> int:
    from iogauge.analysis.judge import compare_references, compare_runs  # here: numpy is slow

    if args.fail_slower is not None and args.b in ("peak", "published"):
        raise UsageError(f"--fail-slower: {args.b} gives no verdict; expected runs or reference")
    if args.html and args.b in SPECIAL:
        raise UsageError(f"--html: a page compares runs with runs; {args.b}: see the report's page")
    db = options.connect(args)
    where = options.where(args, db).also("verdict <> 'nothing moved'")
    keys.check(db, "--by", [args.by], COMPARABLE)
    keys.check_quantities(db, args.quantity or ())
    words = [args.a] if args.b in SPECIAL else [args.a, args.b]
    for session in interrupted(db, where, args.by, words):
        notice(f"session {session} was interrupted: cases are missing in it")
    question = compare_runs.Question(
        args.a,
        args.b,
        args.by,
        args.quantity or USUAL,
        args.fail_slower,
        args.correct,
        args.where,
    )
    slower, answers = "", list[str]()
    if args.b in SPECIAL:
        rows = compare_references.TABLES[args.b](db, where, question)
        formats.show(args, rows, compare_references.COLUMNS[args.b])
    else:
        each = functools.partial(progress.steps, what="compare", fewest=50)
        found = compare_runs.compare(db, where, question, each)
        rows, answers = _show(args, found), found.answers
        slower = "slower over all cases together" if found.slower else ""
    code, message = (EXIT_OK, "") if args.fail_slower is None else _gate(args, rows, slower)
    if args.html:
        _write_page(args, rows, {"gate": message, "answers": "\n".join(answers)})
    if message:
        notice(message)
    return code


def _show(args: argparse.Namespace, found: compare_runs.Compared) -> list[Row]:
    """Print it. Returns all rows, the most important first."""
    from iogauge.analysis.judge import compare_runs
    from iogauge.analysis.pages import screen

    columns = compare_runs.COLUMNS + (() if args.fail_slower is None else ("gate", "fails"))
    if formats.for_programs(args):
        formats.show(args, found.rows, columns)
        return found.rows
    for line in found.answers:
        screen.console().print(screen.shown(line), soft_wrap=not sys.stdout.isatty())
    outcomes = compare_runs.by_outcome(found.rows)
    rows = [row for of in outcomes.values() for row in of]
    folds = not args.all and len(rows) > FEW
    shown = [
        row
        for word, of in outcomes.items()
        for row in of
        if not folds or word not in compare_runs.FOLDED
    ]
    counts = ", ".join(f"{len(of)} {word}" for word, of in outcomes.items())
    note = f"single results: {counts}{'' if len(shown) == len(rows) else '; --all shows them'}"
    lacks = Counter(str(row["lacks"]) for row in shown if row.get("lacks"))
    often = lacks.most_common(REASONS)
    open_ = [f"not decided yet, {counted(count, 'case')}: {why}" for why, count in often]
    note = "\n".join([*open_, note])
    print()
    if shown:
        formats.show(args, shown, columns, note=note)
    else:
        screen.console().print(screen.shown(note), soft_wrap=not sys.stdout.isatty())
    return rows


def _gate(args: argparse.Namespace, rows: Sequence[Row], slower: str) -> tuple[int, str]:
    """The exit status and its grounds. `slower`: whether all cases together are slower."""
    from iogauge.analysis.judge import compare_runs

    outcomes = compare_runs.by_outcome(rows)
    if slower or any(line["fails"] for line in rows):
        code = EXIT_NOT_VERIFIED
    else:
        code = EXIT_DATA if "undecided" in outcomes and not args.allow_undecided else EXIT_OK
    return code, _in_words(outcomes, code, slower)


def _write_page(args: argparse.Namespace, rows: Sequence[Row], texts: dict[str, str]) -> None:
    from iogauge.analysis.pages import compare_page  # here: it is slow to load

    title = f"{args.b} (B) over {args.a} (A), by {args.by}"
    words = ["compare", args.a, args.b, "--by", args.by]
    words += [f"--where={word}" for word in args.where]
    words += [f"--quantity={name}" for name in args.quantity or ()]
    if args.fail_slower is not None:
        words += [f"--fail-slower={100 * args.fail_slower:g}%", f"--correct={args.correct}"]
    root = options.store_of(args).resolve().parent
    compare_page.write(args.html, rows, title, {"command": shlex.join(words), **texts}, root)
    options.say_written(args.html)


def _in_words(outcomes: Mapping[str, Sequence[Row]], code: int, slower: str) -> str:
    text = ", ".join(f"{len(of)} {outcome}" for outcome, of in outcomes.items())
    text = f"{slower}; {text}" if slower else text
    word = {EXIT_OK: "passed", EXIT_NOT_VERIFIED: "broken", EXIT_DATA: "not decided"}[code]
    lines = [f"gate {word}: {text}"]
    for outcome in ("failed", "missing", "slower", "undecided"):
        of = outcomes.get(outcome, ())
        for row in of[:NAMED]:
            names = ("test", "pattern", "scale", "method", "mode", "stack", "fs", "quantity")
            case = " ".join(str(row[name]) for name in names if row.get(name))
            lines.append(f"  {case}: {row['gate']}")
        if len(of) > NAMED:
            lines.append(f"  ... and {len(of) - NAMED} more {outcome}")
    return "\n".join(lines)
