# SPDX-License-Identifier: BSD-3-Clause
"""Error rates of each statistic, for one kind of noise."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from iogauge.analysis.judge import advice, findings, learned, overall
from iogauge.analysis.judge.samples import Job
from iogauge.analysis.session.model import DIRECTIONS
from iogauge.analysis.statistics import (
    bound_test,
    change_points,
    exact,
    gate,
    interval,
    pooled,
    prediction,
)
from iogauge.analysis.statistics.bound_test import Limit, Samples
from iogauge.measure import rounds

from .noise import KINDS, SESSION, Floats, nights, session, true_median

ROUNDS = rounds.ROUNDS  # of a session
ROUNDING = 1 + 1e-9
GROUPS = 4  # of the cases of a first round


def seeded(*words: object) -> np.random.Generator:
    return np.random.default_rng(list(" ".join(map(str, words)).encode()))


def in_pairs(base: Floats, new: Floats) -> list[gate.Evidence]:
    """Of each case, by round."""
    logs = np.log(new / base)
    return [gate.Evidence(float(np.exp(np.median(of))), by_round(of.tolist())) for of in logs]


def by_round(values: Sequence[float]) -> dict[tuple[int, int], float]:
    """Of one session."""
    return {(0, n): value for n, value in enumerate(values)}


def in_sessions(base: Floats, new: Floats) -> list[gate.Evidence]:
    """Of each case, by session."""
    return [
        gate.Evidence(float(np.median(y) / np.median(x)), {}, dict(enumerate(x.tolist())),
                      dict(enumerate(y.tolist())))
        for x, y in zip(base, new, strict=True)
    ]  # fmt: skip


def _evidence(
    noise: str, generator: np.random.Generator, cases: int, alone: bool, lost: int = 0
) -> list[gate.Evidence]:
    """Of pairs, or `alone`, of 12 sessions on each side. `lost`: so many cases, a fifth each."""
    if alone:
        both = nights(noise, generator, cases, 2 * interval.JOBS)
        a, b = both[:, : interval.JOBS], both[:, interval.JOBS :]
    else:
        a, b = session(noise, generator, cases, ROUNDS)
    b[:lost] *= 0.8
    return in_sessions(a, b) if alone else in_pairs(a, b)


def false_alarms(noise: str, cases: int, gates: int, *, alone: bool = False) -> float:
    """Gates that break without a change."""
    generator = seeded("gate", noise, cases, alone)
    broken = 0
    for _ in range(gates):
        found = _evidence(noise, generator, cases, alone)
        decided = (one.outcome for one in gate.decide(found, 0.0))
        broken += gate.is_slower(found, 0.0) or "slower" in decided
    return broken / gates


def false_parts(noise: str, cases: int, gates: int, *, alone: bool = False) -> tuple[float, float]:
    """By `--correct bh`, of cases of which a quarter lost a fifth: the mean part of false ones
    among those it calls slower, and of the others that it finds."""
    generator, lost = seeded("bh", noise, cases, alone), cases // 4
    false = right = 0.0
    for _ in range(gates):
        found = gate.decide(_evidence(noise, generator, cases, alone, lost), 0.0, method="bh")
        called = [i >= lost for i, one in enumerate(found) if one.outcome == "slower"]
        false += sum(called) / max(len(called), 1)
        right += (len(called) - sum(called)) / lost
    return false / gates, right / gates


class Power(NamedTuple):
    """Parts of gates that find a loss: by the sign test with Holm's correction, and by ours."""

    sign_test: float
    ours: float


def power(loss: float, cases: int, pairs: int, gates: int, *, all_lose: bool = False) -> Power:
    """Of one case among others, or of all of them together, at 10 % noise."""
    generator, signs, ours = seeded("power", loss, cases, pairs), 0, 0
    for _ in range(gates):
        a, b = session("10 %", generator, cases, pairs)
        b[: cases if all_lose else 1] *= 1 - loss
        p = [exact.heads(int((y < x).sum()), pairs) for x, y in zip(a, b, strict=True)]
        signs += any(gate.holm(p, gate.RATE)[: cases if all_lose else 1])
        found = in_pairs(a, b)
        ours += gate.is_slower(found, 0) if all_lose else (
            gate.decide(found, 0.0)[0].outcome == "slower")  # fmt: skip
    return Power(signs / gates, ours / gates)


class Overall(NamedTuple):
    """Of the first round of a session, its cases in groups: how often the sentence about all of
    them is wrong, and any of those about groups; half the width of the first's interval, as a
    fraction; and how often it finds that all gained a tenth."""

    wrong: float
    any_group: float
    half: float
    found: float


def of_one_round(noise: str, uses: int, cases: int = 44) -> Overall:
    generator = seeded("overall", noise)
    wrong = groups = found = 0
    widths = []
    for _ in range(uses):
        logs = np.diff(np.log(session(noise, generator, cases, 1)), axis=0)[0, :, 0]
        whole = pooled.of_pairs([{(0, 0): value} for value in logs.tolist()]).interval
        wrong += whole.verdict in ("faster", "slower")
        parts = np.split(logs, GROUPS)
        level = 1 - (1 - interval.LEVEL) / GROUPS
        groups += any(
            pooled.of_pairs([{(0, 0): v} for v in part.tolist()], level).interval.verdict
            in ("faster", "slower")
            for part in parts
        )
        gained = pooled.of_pairs([{(0, 0): value} for value in (logs + np.log(1.1)).tolist()])
        found += gained.interval.verdict == "faster"
        widths.append(np.log((whole.high or 1) / (whole.low or 1)) / 2)
    return Overall(wrong / uses, groups / uses, float(np.median(widths)), found / uses)


class Differing(NamedTuple):
    """Of cases that truly differ, in four groups of 11: uses whose sentence has an interval that
    does not hold the mean over these cases, or any group has; groups whose "no difference above" is
    wrong; groups decided by the first round, and by all; and of those that were not, the part that
    is after as many more rounds as promised (of 30 at most)."""

    wrong: float
    any_group: float
    not_equal: float
    first: float
    decided: float
    kept: float


def differing(
    noise: str, uses: int, spread: float, rounds: int = 3, cases: int = 44, most: int = 30
) -> Differing:
    """`spread`: of the logarithms of true ratios, one group faster by a fifth as well."""
    generator = seeded("differing", noise, spread, rounds)
    count, promised, level = np.zeros(5), np.zeros(2), 1 - (1 - interval.LEVEL) / GROUPS
    for _ in range(uses):
        a, b = session(noise, generator, cases, rounds + most)
        truths = generator.normal(0, spread, cases)
        truths[: cases // GROUPS] += np.log(1.2)
        logs = np.log(b / a) + truths[:, None]
        of = [by_round(line) for line in logs[:, :rounds].tolist()]
        count[0] += _misses(pooled.of_pairs(of).interval, truths)
        missed = False
        for part in np.split(np.arange(cases), GROUPS):
            mine, truth = [of[i] for i in part], truths[part]
            found = pooled.of_pairs(mine, level).interval
            once = pooled.of_pairs([{(0, 0): one[0, 0]} for one in mine], level).interval
            missed |= _misses(found, truth)
            beyond = abs(truth.mean()) > np.log1p(found.most)
            count[2] += found.verdict == "no difference" and beyond
            count[3] += once.verdict != "not decided yet"
            count[4] += found.verdict != "not decided yet"
            more = 0 if not found.lacks else overall.more_rounds(found, rounds)
            if 0 < more <= most:
                later = [by_round(line) for line in logs[part, : rounds + more].tolist()]
                after = pooled.of_pairs(later, level).interval
                promised += after.verdict != "not decided yet", 1
        count[1] += missed
    each = count / uses / [1, 1, GROUPS, GROUPS, GROUPS]
    kept = promised[0] / max(promised[1], 1)
    return Differing(*np.append(each, kept).tolist())


def _misses(found: interval.Interval, truths: Floats) -> bool:
    low, high = found.low or 0.0, found.high or np.inf
    return not low / ROUNDING <= np.exp(truths.mean()) <= high * ROUNDING


class FalseGains(NamedTuple):
    """Sessions that call the fastest call faster than the default, and than itself elsewhere."""

    gain: float
    stack: float


def false_gains(noise: str, sessions: int, room: float = 40.0) -> FalseGains:
    """Eight calls on two stacks, all as fast as the default; with `room` for 40 more jobs, two run
    in each of six rounds, and all in two of these."""
    generator, wrong = seeded("rounds", noise), np.zeros(2)
    names = [advice.DEFAULT, *(f"way {n}" for n in range(7))]
    for _ in range(sessions):
        speeds = KINDS[noise](generator, (ROUNDS * 16,)).reshape(ROUNDS, 8, 2).transpose(1, 2, 0)
        first = [
            rounds.Candidate(("s3d",), name, name, {way: dict(zip("ab", of[:, 0], strict=True))
                                                   for way in DIRECTIONS})
            for name, of in zip(names, speeds, strict=True)
        ]  # fmt: skip
        tiers = rounds.in_order(first)
        always, some = rounds.shared(tiers, rounds.on_stacks(first), room)
        again = {(job, 1 + n) for job in always for n in range(ROUNDS - 1)}
        again |= {(job, 1 + n) for job in rounds.on_stacks(first) for n in some}
        group = [
            {"method": name.partition(":")[0], "call": name, "variant": "", "hints": "",
             "stack": stack, "found": {
                 Job(1, n, n, True): speed for n, speed in enumerate(jobs.tolist())
                 if n == 0 or ((name, stack), n) in again}}
            for name, of in zip(names, speeds, strict=True)
            for stack, jobs in zip("ab", of, strict=True)
        ]  # fmt: skip
        place = findings.place("", "", "", group, advice.DEFAULT)
        said = [[place.gain] if place.gain else [], place.stacks.values()]
        wrong += [any(one.verdict == "faster" for one in of) for of in said]
    return FalseGains(*(wrong / sessions).tolist())


def looked(noise: str, uses: int, last: int) -> float:
    """Of two that do not differ: rounds that go on, up to so many, until one is called faster."""
    generator, wrong = seeded("looked", noise), 0
    for _ in range(uses):
        a, b = (of[0].tolist() for of in session(noise, generator, 1, last))
        pairs = list(zip(a, b, strict=True))
        wrong += any(
            interval.of_pairs(pairs[:n]).verdict in ("faster", "slower")
            for n in range(interval.PAIRS, last + 1)
        )
    return wrong / uses


def accepted(noise: str, cases: int, uses: int, *, shared: bool = False) -> float:
    """Bounds at the true median that are called kept or broken. `shared`: an effect of sessions."""
    generator, wrong = seeded("accept", noise, cases, shared), 0
    truth = Limit(true_median(noise), at_least=True)
    for _ in range(uses):
        effect = generator.lognormal(0, SESSION) if shared else 1.0
        jobs = effect * KINDS[noise](generator, (cases, 20))
        decided = bound_test.decide([Samples(of.tolist(), truth) for of in jobs], 0.95)
        wrong += any(one.verdict in ("met", "not met") for one in decided)
    return wrong / uses


class Coverage(NamedTuple):
    """Parts of all uses: with an interval, and with one that does not hold the truth."""

    printed: float
    wrong: float


Drawn = tuple[interval.Interval, float]  # an interval, and the truth


def _of_pairs(noise: str, generator: np.random.Generator, n: int) -> Drawn:
    a, b = session(noise, generator, 1, n)
    return interval.of_pairs(list(zip(a[0].tolist(), b[0].tolist(), strict=True))), 1.0


def _of_two(noise: str, generator: np.random.Generator, n: int) -> Drawn:
    a, b = KINDS[noise](generator, (2, n))
    return interval.of_two(a.tolist(), b.tolist()), 1.0


def _of_change(noise: str, generator: np.random.Generator, n: int) -> Drawn:
    """Of a change of level after 20 nights whose date is known, as `iogauge history` has it."""
    nights = KINDS[noise](generator, (20 + n,))
    return interval.of_two(nights[:20].tolist(), nights[20:].tolist(), change_points.LEAST), 1.0


def _of_one(noise: str, generator: np.random.Generator, n: int) -> Drawn:
    return interval.of_median(KINDS[noise](generator, (n,)).tolist()), true_median(noise)


def _of_kinds(noise: str, generator: np.random.Generator, n: int) -> Drawn:
    """Two calls of a kind of file and six of another: the fastest of each have n rounds."""
    jobs = generator.permuted(KINDS[noise](generator, (n * 8,)).reshape(n, 8), axis=1)
    best = jobs[0, :2].argmax(), 2 + jobs[0, 2:].argmax()
    group = [
        {"method": "posix" if i < 2 else "mpiio", "call": str(i),
         **dict.fromkeys(("stack", "variant", "hints"), ""),
         "found": dict(zip((Job(1, place, i, True) for place in range(n if i in best else 1)),
                           jobs[:, i].tolist(), strict=False))}
        for i in range(8)
    ]  # fmt: skip
    speed = advice.by_kind(group, advice.DEFAULT)[1].speed
    assert speed
    return speed, 1.0


Make = Callable[[str, np.random.Generator, int], Drawn]
INTERVALS: dict[str, tuple[Make, tuple[int, ...]]] = {
    "ratio of pairs": (_of_pairs, (6, 8, 12, 20)),
    "ratio of sessions": (_of_two, (12, 20, 40)),
    "one median": (_of_one, (12, 20, 40)),
    "kinds of files": (_of_kinds, (ROUNDS,)),
    "change of level": (_of_change, (5, 12)),
}


def coverage(which: str, noise: str, n: int, uses: int) -> Coverage:
    make, generator = INTERVALS[which][0], seeded(which, noise, n)
    printed = wrong = 0
    for _ in range(uses):
        found, truth = make(noise, generator, n)
        if found.low is not None and found.high is not None:
            printed += 1
            wrong += not found.low <= truth <= found.high
    return Coverage(printed / uses, wrong / uses)


class FalseFailures(NamedTuple):
    """References that fail in a night, nights with any, and cases with enough to be learned."""

    one: float
    any: float
    learned: float


def false_failures(noise: str, count: int, systems: int, references: int = 200) -> FalseFailures:
    """Bounds from so many nights, applied to the next ten, of systems that did not change."""
    generator, following = seeded("learn", noise, count), 10
    rate = min(learned.MOST, learned.FALSE_FAILURES / references)
    fails = np.zeros((systems, following))
    kept = 0
    for system in range(systems):
        history = KINDS[noise](generator, (references, count + following))
        known = interval.shared_correlations(list(np.log(history[:, :count])))
        for case, r in zip(history, known, strict=True):
            if not prediction.is_enough(case[:count].tolist(), r):
                continue
            kept += 1
            low = prediction.bounds(case[:count].tolist(), rate, r)["low"]
            fails[system] += case[count:] < low
    one = float(fails.sum() / max(kept * following, 1))
    return FalseFailures(one, float((fails > 0).mean()), kept / (systems * references))
