# SPDX-License-Identifier: BSD-3-Clause
"""Simulate what the statistics promise; the tables go into docs/analysis.md: `make simulate`.

    python -m tools.simulate [--uses 4000] [--file FILE] [--print]
    python -m tools.simulate --searches 200     of `iogauge tune`: how near the best, and how cheap
    python -m tools.simulate --histories 2000   of `iogauge history`: false changes, and drops found
    python -m tools.simulate --gains 20000      GAINS of analysis/statistics/change_points.py

The same numbers come out each time: every table has a seed of its own. The tests hold a short form
against the promises (tests/analysis/judge/test_simulate.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from iogauge.common import paths
from iogauge.common.files import write_whole

from . import history, rates, searches
from .noise import INDEPENDENT, KINDS

USAGE = "python -m tools.simulate [--uses 4000] [--file FILE] [--print]"
BEGIN, END = "<!-- simulated: begin -->", "<!-- simulated: end -->"
CASES, LOSSES, PAIRS, NIGHTS = (1, 10, 100, 200), (0.05, 0.10, 0.20), (8, 12, 20), (12, 20, 30)

Rows = Iterator[Sequence[str]]


def percent(part: float) -> str:
    return f"{100 * part:.1f}"


def gates(uses: int) -> Rows:
    yield "noise", *(f"{n} case{'s' if n > 1 else ''}" for n in CASES)
    for noise in KINDS:
        found = [rates.false_alarms(noise, n, max(uses // n, uses // 10, 1)) for n in CASES]
        yield noise, *map(percent, found)


def power(uses: int) -> Rows:
    yield "loss", *(f"{pairs} pairs" for pairs in PAIRS)
    for loss in LOSSES:
        found = [rates.power(loss, 10, pairs, max(uses // 10, 1)) for pairs in PAIRS]
        yield f"-{loss:.0%}".replace("%", " %"), *map(percent, found)


def coverage(uses: int) -> Rows:
    yield "interval", "samples", *KINDS
    for which, (_, sizes) in rates.INTERVALS.items():
        for n in (sizes[0], sizes[-1]):
            found = [rates.coverage(which, noise, n, uses) for noise in KINDS]
            yield which, str(n), *(f"{percent(1 - c.wrong)} ({100 * c.printed:.0f})" for c in found)


def bounds(uses: int) -> Rows:
    yield "noise", *(f"{n} nights" for n in NIGHTS)
    for noise in KINDS:
        found = [rates.false_failures(noise, n, max(uses // 100, 2)) for n in NIGHTS]
        yield (
            noise,
            *(f"{100 * f.one:.3f} / {100 * f.any:.0f} ({100 * f.learned:.0f})" for f in found),
        )


def tuning(count: int) -> Rows:
    """So many searches of `tune` among 693 settings, for each noise."""
    yield "noise", "within 10 % of the best", "runs, of a full sweep's", "advised wrong", "held"
    for noise in INDEPENDENT:
        found = searches.searched(noise, count)
        near, runs, held = (f"{percent(part)} %" for part in (found.near, found.runs, found.held))
        yield noise, near, runs, str(found.wrong), held


TABLES = {
    "**False alarms of a gate**, in %, without any change (one pair more than needed; at most 5):":
        gates,
    "**Power of a gate**, in %: finds the one of 10 cases with this loss, at 10 % noise:": power,
    "**Intervals**, in %: uses without a wrong interval (95), and uses that printed one:": coverage,
    "**False failures of `expect learn`**, in %, 200 references: of one / nights with any "
    "(of cases learned):":
        bounds,
}  # fmt: skip


def table(rows: Rows) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def text(uses: int) -> str:
    return "\n\n".join(f"{title}\n\n{table(rows(uses))}" for title, rows in TABLES.items())


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.simulate", usage=USAGE)
    parser.add_argument("--uses", type=int, default=4000, help="of each interval (4000)")
    parser.add_argument("--file", type=Path, default=paths.data("docs/analysis.md"))
    parser.add_argument("--print", action="store_true", help="write no file")
    parser.add_argument("--searches", type=int, metavar="N",
                        help="so many searches of `tune` for each noise: their table")  # fmt: skip
    parser.add_argument("--histories", type=int, metavar="N", help="so many of each kind of noise")
    parser.add_argument("--gains", type=int, metavar="N", help="of so many random orders")
    args = parser.parse_args(words)
    asked: dict[Callable[[int], Rows], int | None] = {
        tuning: args.searches, history.rates: args.histories, history.drops: args.histories,
        history.needed_gains: args.gains,
    }  # fmt: skip
    for rows, count in asked.items():
        if count:
            print(f"{table(rows(count))}\n", flush=True)
    if any(asked.values()):
        return 0
    made = text(args.uses)
    if args.print:
        print(made)
        return 0
    before, _, rest = args.file.read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        parser.error(f"{args.file}: expected the lines {BEGIN} and {END}")
    write_whole(args.file, f"{before}{BEGIN}\n\n{made}\n\n{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
