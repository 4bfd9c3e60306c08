# SPDX-License-Identifier: BSD-3-Clause
"""Simulate what the statistics promise; docs/analysis.md has the ranges: `make simulate`.

python -m tests.simulate [--uses 4000]
python -m tests.simulate --searches 200     of `iogauge tune`: how near the best, and how cheap
python -m tests.simulate --histories 2000   of `iogauge history`: false changes, and drops found
python -m tests.simulate --gains 20000      GAINS of analysis/statistics/change_points.py
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence

from iogauge.analysis.statistics import interval
from tests import markdown

from . import history, promises, rates, searches
from .noise import ALIKE, INDEPENDENT, KINDS, OF_SESSIONS, SECOND_GAINS

CASES, PAIRS, NIGHTS, LOOKS = (1, 20, 100), (8, 12, 20), (12, 20, 30), (7, 9, 12)
AGAIN, SPREAD = (1, 2, 3, 7), 0.4
WAITS, JOBS = (("pairs", 7), ("pairs", 12), ("sessions", 12)), (2, 9, 30, 120)
LOSSES = ((0.10, 10, False), (0.20, 10, False), (0.50, 100, False), (0.10, 100, True))
OF_NIGHTS = [*(noise for noise in KINDS if noise != "bursts"), OF_SESSIONS]

Rows = Iterator[Sequence[str]]


def percent(part: float) -> str:
    return f"{100 * part:.1f}"


def gates(uses: int) -> Rows:
    of = [*(f"{n} case{'s' if n > 1 else ''}" for n in CASES)]
    yield "noise", *(f"pairs, {text}" for text in of), *(f"12 sessions each, {text}" for text in of)
    for noise in [*KINDS, SECOND_GAINS, OF_SESSIONS]:
        found = ["-"] * 6
        for i, n in enumerate(CASES):
            gates = max(uses // 10, 1)
            if noise != OF_SESSIONS:
                found[i] = percent(rates.false_alarms(noise, n, gates))
            if noise in OF_NIGHTS:
                found[3 + i] = percent(rates.false_alarms(noise, n, gates, alone=True))
        yield noise, *found


def corrected(uses: int) -> Rows:
    yield "noise", *(f"{of}, {n} cases" for of in ("7 pairs", "12 sessions") for n in CASES[1:])
    for noise in [*KINDS, SECOND_GAINS, OF_SESSIONS]:
        found = [
            "-" if noise not in (OF_NIGHTS if alone else [*KINDS, SECOND_GAINS]) else " / ".join(
                map(percent, rates.false_parts(noise, n, max(uses // 10, 1), alone=alone)))
            for alone in (False, True) for n in CASES[1:]
        ]  # fmt: skip
        yield noise, *found


def power(uses: int) -> Rows:
    yield "loss", *(f"{pairs} pairs" for pairs in PAIRS)
    for loss, cases, all_lose in LOSSES:
        found = [rates.power(loss, cases, pairs, max(uses // 20, 1), all_lose=all_lose)
                 for pairs in PAIRS]  # fmt: skip
        what = f"-{loss:.0%} of {f'all {cases}' if all_lose else f'one of {cases}'} cases"
        yield what.replace("%", " %"), *(f"{percent(p.sign_test)} / {percent(p.ours)}"
                                         for p in found)  # fmt: skip


def pooled(uses: int) -> Rows:
    yield "noise", "sentence wrong", "any group wrong", "half-width", "finds 10 %", "six sessions"
    for noise in [*KINDS, SECOND_GAINS]:
        one = rates.of_one_round(noise, max(uses // 4, 2))
        yield noise, *map(percent, [*one, promises.six_sessions(noise, max(uses // 10, 1))])


def differing(uses: int) -> Rows:
    yield "noise", *(f"{what}, {n} rounds" for n in AGAIN for what in (
        "wrong / any group", "groups decided by one / by all", "as promised"))  # fmt: skip
    for noise in [*KINDS, SECOND_GAINS]:
        of = [rates.differing(noise, max(uses // 4, 2), SPREAD, n) for n in AGAIN]
        yield noise, *(" / ".join(map(percent, part)) for one in of
                       for part in (one[:2], one[3:5], one[5:]))  # fmt: skip


def gains(uses: int) -> Rows:
    ends = (f"ended when decided, {interval.PAIRS} to {last} rounds" for last in LOOKS)
    yield "noise", "gain", "over another stack", *ends
    for noise in KINDS:
        found = [rates.looked(noise, max(uses // 4, 2), last) for last in LOOKS]
        yield noise, *map(percent, [*rates.false_gains(noise, max(uses // 10, 1)), *found])


def bounds_kept(uses: int) -> Rows:
    yield "noise", *(f"{n} case{'s' if n > 1 else ''}" for n in CASES)
    for noise in [*INDEPENDENT, "alike 0.7"]:
        found = [rates.accepted(noise, n, max(uses // 10, 1)) for n in CASES]
        yield noise, *map(percent, found)
    found = [rates.accepted("10 %", n, max(uses // 10, 1), shared=True) for n in CASES]
    yield OF_SESSIONS, *map(percent, found)


def coverage(uses: int) -> Rows:
    yield "interval", "samples", *KINDS
    for which, (_, sizes) in rates.INTERVALS.items():
        for n in sorted({sizes[0], sizes[-1]}):
            found = [rates.coverage(which, noise, n, uses) for noise in KINDS]
            yield which, str(n), *(f"{percent(1 - c.wrong)} ({100 * c.printed:.0f})" for c in found)


def waits(uses: int) -> Rows:
    yield "noise", *(f"{n} {which}" for which, n in WAITS)
    for noise in KINDS:
        of = [promises.kept(which, noise, n, max(uses // 10, 1)) for which, n in WAITS]
        yield noise, *(" / ".join(map(percent, one)) for one in of)


def peaks(uses: int) -> Rows:
    yield "noise", *(f"{n} jobs" for n in JOBS)
    for noise in promises.NOISES:
        of = [promises.luck(noise, n, max(uses // 20, 1)) for n in JOBS]
        yield noise, *(" / ".join(map(percent, one)) for one in of)


def bounds(uses: int) -> Rows:
    yield "noise", *(f"{n} nights" for n in NIGHTS)
    for noise in [*INDEPENDENT, *list(ALIKE)[:2]]:
        found = [rates.false_failures(noise, n, max(uses // 100, 2)) for n in NIGHTS]
        yield (
            noise,
            *(f"{100 * f.one:.3f} / {100 * f.any:.0f} ({100 * f.learned:.0f})" for f in found),
        )


def tuning(count: int) -> Rows:
    """So many searches among 693 settings, for each noise. Held: of those with an interval."""
    yield "noise", "within 10 % of the best", "runs, of a full sweep's", "advised wrong", "held"
    for noise in INDEPENDENT:
        found = searches.searched(noise, count)
        parts = (found.near, found.runs, found.held, found.printed)
        near, runs, held, printed = (f"{percent(part)} %" for part in parts)
        yield noise, near, runs, str(found.wrong), f"{held} ({printed})"


TABLES = {
    "False alarms of a gate, in %, without any change (at most 5; 400 uses: ±1.1), 7 pairs:":
        gates,
    "Of the cases that `--correct bh` calls slower, not slower (at most 5) / found of those that "
    "are, in %; a quarter lost a fifth:": corrected,
    "The sentence over all cases after one round of 44 cases, and four groups of 11, in %; wrong "
    "after six sessions of 20 cases, each with an effect of 10 % on B over A:":
        pooled,
    "The same after more rounds of 44 cases whose true ratios differ (logarithms: by 0.4), and of "
    "the groups not decided those that are after as many more as promised:": differing,
    "Gains that `iogauge run` finds without any, of eight calls on two stacks, in % (at most 5); "
    "and of one call, if its rounds ended as soon as it is decided:": gains,
    "Not decided, of ratios of 1 to 1.4 / and of these decided by as many as are said to be "
    "needed, in %:": waits,
    "Sessions whose peak moves by a tenth because a peak test / another job was 1.5 to 3 times too "
    "fast / because of a test, above all that others reached / other jobs called disturbed, in %:":
        peaks,
    "Power of a gate, in %: finds this loss at 10 % noise, by the sign test with Holm's "
    "correction / now:": power,
    "Wrong verdicts of `check`, in %, on any of the cases; the bound is the truth, 20 jobs of "
    "one session:": bounds_kept,
    "Intervals, in %: uses without a wrong interval (95), and uses that printed one:": coverage,
    "False failures of `expect learn`, in %, 200 references: of one / nights with any "
    "(of cases learned):":
        bounds,
}  # fmt: skip


def table(rows: Rows) -> str:
    head, *body = rows
    return markdown.table(head, body)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulate")
    parser.add_argument("--uses", type=int, default=4000, help="of each interval (4000)")
    parser.add_argument("--searches", type=int, metavar="N",
                        help="so many searches of `tune` for each noise: their table")  # fmt: skip
    parser.add_argument("--histories", type=int, metavar="N", help="so many of each kind of noise")
    parser.add_argument("--gains", type=int, metavar="N", help="of so many random orders")
    args = parser.parse_args(words)
    asked: dict[Callable[[int], Rows], int | None] = {
        tuning: args.searches, history.rates: args.histories, history.drops: args.histories,
        history.low_nights: args.histories, history.low_by_chance: args.histories,
        history.needed_gains: args.gains,
    }  # fmt: skip
    for rows, count in asked.items():
        if count:
            print(f"{table(rows(count))}\n", flush=True)
    for title, rows in () if any(asked.values()) else TABLES.items():
        print(f"{title}\n\n{table(rows(args.uses))}\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
