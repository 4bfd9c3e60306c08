# SPDX-License-Identifier: BSD-3-Clause
"""How many samples a decision takes, answers over six sessions, and what luck does to a peak."""

import math
from typing import NamedTuple

import numpy as np

from iogauge.analysis.session.peaks import Place, Reached, Source
from iogauge.analysis.statistics import interval, pooled

from .noise import BUSY, KINDS, SESSION, Floats, session
from .rates import seeded

SIZES = (1.0, 1.1, 1.2, 1.4)  # true ratios
MOST = 60  # more samples than that are not waited for
TESTS, REPEATS = 3, 5  # peak tests of a session
SOURCES: tuple[Source, Source] = ("same job", "case")
NOISES = KINDS | BUSY


class Kept(NamedTuple):
    """Of uses with a ratio of SIZES: the part not decided by the first samples, and of those the
    part that is by as many as are said to be needed."""

    open: float
    kept: float


def kept(which: str, noise: str, n: int, uses: int) -> Kept:
    """`which`: of pairs, or of sessions on each side."""
    generator, undecided, later = seeded("kept", which, noise, n), 0, []
    for _ in range(uses):
        if which == "pairs":
            a, b = (of[0] for of in session(noise, generator, 1, n + MOST))
        else:
            a, b = KINDS[noise](generator, (2, n + MOST))
        b = b * generator.choice(SIZES)
        found = _of_first(which, a, b, n)
        undecided += bool(found.lacks)
        if found.lacks and found.wanted <= n + MOST:
            later.append(not _of_first(which, a, b, found.wanted).lacks)
    return Kept(undecided / uses, sum(later) / max(len(later), 1))


def _of_first(which: str, a: Floats, b: Floats, n: int) -> interval.Interval:
    if which == "pairs":
        return interval.of_pairs(list(zip(a[:n].tolist(), b[:n].tolist(), strict=True)))
    return interval.of_two(a[:n].tolist(), b[:n].tolist())


def six_sessions(noise: str, uses: int, cases: int = 20, rounds: int = 3) -> float:
    """Of pairs in six sessions, B's gain in each of which is by chance 10 %: intervals over all
    cases without the truth."""
    generator, wrong = seeded("six sessions", noise), 0
    for _ in range(uses):
        of: list[dict[tuple[int, int], float]] = [{} for _ in range(cases)]
        for number in range(interval.PAIRS):
            a, b = session(noise, generator, cases, rounds)
            logs = np.log(b / a) + generator.normal(0, SESSION)
            for case, values in zip(of, logs.tolist(), strict=True):
                case |= {(number, place): value for place, value in enumerate(values)}
        wrong += pooled.of_pairs(of).interval.verdict in ("faster", "slower")
    return wrong / uses


class Luck(NamedTuple):
    """Parts of sessions whose peak moves by more than a tenth because one job was 1.5 to 3 times
    too fast: a whole peak test, or any other; or moves as much above all that others reached; and
    the part of other jobs called disturbed then."""

    test: float
    job: float
    beyond: float
    disturbed: float


def luck(noise: str, jobs: int, uses: int) -> Luck:
    """Of three peak tests and so many POSIX jobs, one after the other; the tests are spread out."""
    generator, moved = seeded("peak", noise, jobs), np.zeros(4)
    for _ in range(uses):
        state = NOISES[noise](generator, (jobs + TESTS,))
        near = generator.lognormal(0, 0.03, (jobs + TESTS, REPEATS)) * state[:, None]
        places = np.linspace(0, jobs + TESTS - 1, TESTS).astype(int)
        found = [Reached(-1 - n, math.inf, value, "peak test")
                 for n, place in enumerate(places) for value in near[place].tolist()]  # fmt: skip
        for job, values in enumerate(np.delete(near, places, axis=0)[:, :2].tolist()):
            found += [Reached(job, math.inf, value, source)
                      for source, value in zip(SOURCES, values, strict=True)]  # fmt: skip
        before, by = Place(found).peak(), generator.uniform(1.5, 3)
        assert before
        for which, lucky in enumerate((-1 - generator.integers(TESTS), generator.integers(jobs))):
            fast = [
                one._replace(value=by * one.value) if one.job == lucky else one for one in found
            ]
            after = Place(fast).peak()
            assert after
            moved[which] += abs(after.value / before.value - 1) > 0.1
            moved[2] += after.value > 1.1 * max(one.value for one in found) and which == 0
            own = [one.value for one in found if one.source == "same job"]
            new = [after.disturbed(value) and not before.disturbed(value) for value in own]
            moved[3] += sum(new) / jobs / 2
    return Luck(*(moved / uses).tolist())
