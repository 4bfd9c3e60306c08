# SPDX-License-Identifier: BSD-3-Clause
"""What B is to A over all cases: which sample an answer is of, and how far it goes."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from scipy import stats

from iogauge.analysis.judge.overall import more_rounds
from iogauge.analysis.statistics import pooled
from iogauge.analysis.statistics.pooled import of_pairs
from tests.simulate.rates import by_round, seeded

Logs = list[list[float]]


def drawn(cases: int, rounds: int, noise: float = 0.1, spread: float = 0.5) -> Logs:
    generator = seeded("pooled", cases, rounds)
    truths = generator.normal(0, spread, (cases, 1))
    logs: Logs = (truths + generator.normal(0, noise, (cases, rounds))).tolist()
    return logs


def answer(logs: Logs, level: float = 0.95) -> pooled.Pooled:
    return of_pairs([by_round(of) for of in logs], level)


def width(logs: Logs) -> float:
    found = answer(logs).interval
    assert found.low and found.high
    return math.log(found.high / found.low)


@pytest.mark.parametrize("rounds", [2, 3, 7])
def test_how_much_cases_differ_is_no_noise(rounds: int) -> None:
    """Another true ratio of a case moves the answer by its part, and no end towards the other."""
    logs = drawn(11, rounds)
    moved = [[value + 3 for value in logs[0]], *logs[1:]]
    assert width(moved) == pytest.approx(width(logs))
    found = answer(moved).interval.value / answer(logs).interval.value
    assert found == pytest.approx(math.exp(3 / 11))


def test_with_as_many_rounds_of_as_noisy_cases_it_is_students_interval() -> None:
    """Of two strata: scipy's test of Welch has the same statistic, with other degrees of freedom;
    of equal variances it has as many as ours, all."""
    first = [0.1, 0.3, 0.2, 0.5]
    second = [one + 0.7 for one in first]
    found = answer([first, second])
    theirs = stats.ttest_ind(first, [-one for one in second])
    half = stats.t.ppf(0.975, 6) * np.std(first, ddof=1) / math.sqrt(4 * 2)
    assert found.interval.high == pytest.approx(math.exp(0.275 + 0.35 + half))
    assert 1 - found.p == pytest.approx(theirs.pvalue / 2, rel=1e-6)


def test_degrees_of_freedom_follow_the_noisiest_case() -> None:
    """One case of 12 has all the noise: then two rounds are worth one degree."""
    logs = [[0.0, 0.0] for _ in range(11)] + [[-1.0, 1.0]]
    half = stats.t.ppf(0.975, 1) * 1 / 12
    assert width(logs) == pytest.approx(2 * half)


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_gate_and_the_sentence_say_the_same(sign: int) -> None:
    for seed in range(40):
        generator = seeded("same", seed)
        logs = generator.normal(sign * 0.03, 0.1, (8, 3)).tolist()
        found = answer(logs)
        assert (found.interval.verdict == "slower") == (
            found.p <= 0.025 and (found.interval.high or 1) < 1
        )
        assert (found.p <= 0.025) == ((found.interval.high or 1) < 1)


def test_nothing_at_all_differs() -> None:
    found = answer([[0.0, 0.0]] * 8)
    assert (found.interval.low, found.interval.high, found.p) == (1, 1, 1)


def test_a_case_with_one_round_counts_as_more_noise() -> None:
    """A job failed: the case stays in, with what it differs by from the others."""
    logs = drawn(11, 3)
    logs[0] = [value + 2 for value in logs[0]]
    less = [logs[0][:1], *logs[1:]]
    found = answer(less).interval
    assert found.kind == "rounds" and found.samples == (1,)
    means = [statistics.fmean(of) for of in less]
    assert found.value == pytest.approx(math.exp(statistics.fmean(means)))
    assert width(less) > width(logs)


@pytest.mark.parametrize(
    ("rounds", "kind"),
    [([1] * 8, "cases"), ([3] * 3 + [1] * 5, "cases"), ([3] * 4 + [1] * 4, "rounds"),
     ([1] * 3, "pairs"), ([2] * 3, "pairs"), ([3] * 3, "rounds"), ([7], "pairs")],
)  # fmt: skip
def test_the_sample_follows_from_the_rounds_alone(rounds: list[int], kind: str) -> None:
    for logs in (drawn(len(rounds), 7), [[0.0] * 7] * len(rounds)):
        found = answer([of[:n] for of, n in zip(logs, rounds, strict=True)])
        assert found.interval.kind == kind


def test_of_six_sessions_each_is_a_sample() -> None:
    """What all cases of a session share is no more known for many cases. Cases that a session
    lacks change nothing else."""
    generator = seeded("sessions")
    shared, own = generator.normal(0, 0.2, 6), generator.normal(0, 1, 20)
    cases = [{(s, n): shared[s] + mine for s in range(6) for n in range(3)} for mine in own]
    few = of_pairs([{key: v for key, v in case.items() if key[0] < 5} for case in cases])
    assert few.interval.kind == "rounds"
    found = of_pairs(cases)
    assert found.interval.kind == "sessions" and found.interval.samples == (6,)
    assert math.log(found.interval.low or 1) == pytest.approx(own.mean() + shared.min())
    assert math.log(found.interval.high or 1) == pytest.approx(own.mean() + shared.max())
    group = of_pairs(cases, 1 - 0.05 / 4).interval  # one of four groups: all on one side by chance
    assert (group.verdict, group.lacks) == ("not decided yet", "6 sessions; 8 needed")
    del cases[0][0, 1]
    assert of_pairs(cases).interval.samples == (6,)


def test_after_the_first_round_at_least_two_more_are_asked_for() -> None:
    """One more of 11 cases tells too little of the noise."""
    asked = set()
    for seed in range(100):
        generator = seeded("more", seed)
        logs = (0.12 + generator.normal(0, 0.2, (11, 1))).tolist()
        found = answer(logs).interval
        if found.verdict == "not decided yet":
            asked.add(more_rounds(found, 1))
    assert min(asked) == 2


@pytest.mark.parametrize("rounds", [1, 3])
def test_sessions_that_cases_do_not_share_are_no_samples(rounds: int) -> None:
    """A case that ran in one session says nothing of how sessions differ."""
    wrong = 0
    for seed in range(100):
        generator = seeded("disjoint", rounds, seed)
        found = of_pairs(
            [
                {(session, round_): generator.normal(0, 0.2) for round_ in range(rounds)}
                for session in range(6)
                for _ in range(2)
            ]
        ).interval
        assert found.kind == "cases" and found.low and found.high
        assert found.low < found.value < found.high
        wrong += not found.low <= 1 <= found.high
    assert wrong <= 12  # of 100; 5 % are wrong in the mean


@pytest.mark.parametrize("counts", [[7, 2], [7, 2, 2], [7, 7, 2, 2], [3] * 4 + [7] * 4])
def test_unlike_numbers_of_rounds_are_no_more_often_wrong(counts: list[int]) -> None:
    wrong = 0
    for seed in range(400):
        generator = seeded("unlike", *counts, seed)
        found = of_pairs([by_round(generator.normal(0, 0.1, n).tolist()) for n in counts])
        low, high = found.interval.low, found.interval.high
        wrong += low is not None and high is not None and not low <= 1 <= high
    assert wrong <= 33  # of 400; at most 5 % are wrong in the mean
