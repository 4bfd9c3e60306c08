# SPDX-License-Identifier: BSD-3-Clause
"""The gate's promise: without a change it breaks at most once in 20 uses, whatever the noise."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.judge import gate

Floats = np.ndarray
GATES = 400
# Twice the standard error of a rate of 5 % over so many gates.
SLACK = 2 * (0.05 * 0.95 / GATES) ** 0.5


@given(st.integers(0, 30), st.integers(1, 30))
def test_the_sign_test_is_scipys(below: int, n: int) -> None:
    below = min(below, n)
    right = stats.binomtest(below, n, alternative="greater").pvalue
    assert gate.sign_test(below, n) == pytest.approx(right)


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=8, unique=True),
    st.lists(st.integers(0, 10**6), min_size=1, max_size=8, unique=True),
)
def test_the_rank_test_is_scipys(a: list[int], b: list[int]) -> None:
    base, new = [2.0 * x for x in a], [2.0 * x + 1 for x in b]  # no value twice
    right = stats.mannwhitneyu(new, base, alternative="less", method="exact").pvalue
    assert gate.rank_test(base, new) == pytest.approx(right)


def test_the_ways_are_all_orders() -> None:
    for n, m in itertools.product(range(1, 5), repeat=2):
        orders = set(itertools.permutations("a" * n + "b" * m))
        counts = [0] * (n * m + 1)
        for order in orders:
            counts[sum(x == "a" and "b" in y for i, x in enumerate(order) for y in order[i:])] += 1
        assert list(gate._ways(n, m)) == counts


def lognormal(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return generator.lognormal(0, 0.1, shape)


def heavy(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.exp(0.05 * generator.standard_t(2, shape))


def bimodal(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    slow = generator.random(shape) < 0.3
    return np.where(slow, 0.6, 1.0) * generator.lognormal(0, 0.05, shape)


def autocorrelated(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """What both runs of a pair meet, and a noise of their own: as jobs in turn have it."""
    steps = generator.normal(0, 0.1, shape)
    for i in range(1, shape[-1]):
        steps[..., i] += 0.9 * steps[..., i - 1]
    return np.exp(steps[..., :]) * generator.lognormal(0, 0.05, shape)


NOISES = (lognormal, heavy, bimodal)


def evidence(kind: gate.Kind, base: Floats, new: Floats) -> gate.Evidence:
    ratio = float(np.median(new / base) if kind == "pairs" else np.median(new) / np.median(base))
    return gate.Evidence(kind, list(map(float, base)), list(map(float, new)), ratio)


@pytest.mark.parametrize("cases", [1, 10, 100, 200])
@pytest.mark.parametrize("kind", ["pairs", "runs"])
@pytest.mark.parametrize("noise", NOISES)
def test_false_alarms(
    noise: Callable[[np.random.Generator, tuple[int, ...]], Floats], kind: gate.Kind, cases: int
) -> None:
    """Nothing changed: a gate over all cases breaks at most as often as it says. Jobs differ by 5 %
    more than their noise."""
    generator = np.random.default_rng(7)
    n = gate.needed(cases) + 1
    gates = GATES if cases <= 10 else 60
    broken = 0
    for _ in range(gates):
        jobs = generator.lognormal(0, 0.05, (2, cases, n))
        values = noise(generator, (2, cases, n)) * jobs
        found = [evidence(kind, values[0, i], values[1, i]) for i in range(cases)]
        broken += any(d.outcome == "slower" for d in gate.decide(found, 0.05))
    assert broken / gates <= 0.05 + SLACK * (GATES / gates) ** 0.5


def test_false_alarms_where_each_job_is_like_the_one_before() -> None:
    """Pairs meet the same drift, so what is left of their ratios is no drift."""
    generator = np.random.default_rng(11)
    broken = 0
    for _ in range(GATES):
        drift = autocorrelated(generator, (10, 10))
        values = [drift * generator.lognormal(0, 0.1, (10, 10)) for _ in "ab"]
        found = [evidence("pairs", values[0][i], values[1][i]) for i in range(10)]
        broken += any(d.outcome == "slower" for d in gate.decide(found, 0.05))
    assert broken / GATES <= 0.05 + SLACK


@pytest.mark.parametrize("loss", [0.05, 0.10, 0.20])
def test_power(loss: float, record_property: Callable[[str, object], None]) -> None:
    """What the gate finds with 12 pairs among 10 cases, at 10 % noise. A loss of 20 % is found
    nearly always, and more of it the larger it is."""
    generator = np.random.default_rng(13)
    hits = 0
    for _ in range(GATES):
        base, new = generator.lognormal(0, 0.1, (2, 10, 12))
        new[0] *= 1 - loss
        found = [evidence("pairs", base[i], new[i]) for i in range(10)]
        hits += gate.decide(found, 0.0)[0].outcome == "slower"
    record_property("power", hits / GATES)
    print(f"a loss of {loss:.0%}: found in {hits / GATES:.0%} of gates")
    assert hits / GATES >= {0.05: 0.0, 0.10: 0.05, 0.20: 0.5}[loss]


def test_what_cannot_be_decided_says_what_it_takes() -> None:
    """Ten times slower in all of five pairs: enough for one case, too few among two."""
    five = evidence("pairs", np.full(5, 100.0), np.full(5, 10.0))
    assert gate.decide([five], 0.05)[0].outcome == "slower"
    same = evidence("pairs", np.full(5, 100.0), np.full(5, 100.0))
    one, other = gate.decide([five, same], 0.05)
    assert other.outcome == "undecided" and "6 pairs needed among 2 cases" in other.why
    assert one.outcome == "undecided"
    assert gate.needed(1) == 5 and gate.needed(100) == 11
