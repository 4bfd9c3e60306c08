# SPDX-License-Identifier: BSD-3-Clause
"""The gate: its tests and corrections beside scipy's. test_simulate.py has its promise."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from iogauge.analysis.statistics import exact, gate

Floats = np.ndarray
METHODS: tuple[gate.Method, ...] = ("holm", "bh")


@given(st.integers(0, 30), st.integers(1, 30))
def test_the_sign_test_is_scipys(below: int, n: int) -> None:
    below = min(below, n)
    right = stats.binomtest(below, n, alternative="greater").pvalue
    assert exact.heads(below, n) == pytest.approx(right)


@pytest.mark.parametrize("n", [1023, 1024, 5000])
def test_the_sign_test_takes_years_of_nights(n: int) -> None:
    """Numbers of more than 1,024 binary digits are no floats."""
    for below in (0, n // 2, n // 2 + n // 30, n):
        right = stats.binom.sf(below - 1, n, 0.5)
        assert exact.heads(below, n) == pytest.approx(right)


def test_a_gate_takes_years_of_nights() -> None:
    generator = np.random.default_rng(6)
    base, noise = generator.lognormal(0, 0.1, (2, 5000))
    cases: list[gate.Evidence] = []
    for factor in (0.9, 1.0):
        new = (factor * base * noise).tolist()
        cases += [evidence(base, factor * base * noise)]
        cases += [gate.Evidence("runs", base.tolist(), new[:3000], factor)]
    found = [one.outcome for one in gate.decide(cases, 0.05)]
    assert found == ["slower", "slower", "not slower", "not slower"]


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
        assert list(exact.orders(n, m)) == counts


def test_many_jobs_have_the_normal_law() -> None:
    """Of 60 and 60 jobs: beside scipy's exact one."""
    generator = np.random.default_rng(5)
    base, new = generator.normal(0, 1, 60).tolist(), generator.normal(-0.3, 1, 60).tolist()
    right = stats.mannwhitneyu(new, base, alternative="less", method="exact").pvalue
    assert gate.rank_test(base, new) == pytest.approx(right, rel=0.05)


def evidence(base: Floats, new: Floats) -> gate.Evidence:
    return gate.Evidence("pairs", base.tolist(), new.tolist(), float(np.median(new / base)))


def below(of: int) -> gate.Evidence:
    """Twenty pairs: so many are slower by a tenth, the rest faster."""
    base = np.full(20, 100.0)
    return evidence(base, np.where(np.arange(20) < of, 90.0, 110.0))


def test_what_corrects_for_many_cases_is_scipys() -> None:
    cases = [below(n) for n in (20, 18, 16, 15, 15, 14, 12, 10)]
    found = {method: [d.outcome == "slower" for d in gate.decide(cases, 0.05, method=method)]
             for method in METHODS}  # fmt: skip
    right = stats.false_discovery_control([case.p for case in cases], method="bh") <= gate.RATE
    assert found["bh"] == right.tolist()
    assert found["holm"] == [case.p <= gate.RATE / (8 - i) for i, case in enumerate(cases)]
    assert sum(found["bh"]) > sum(found["holm"]) > 1


def test_benjamini_and_hochberg_hold_the_rate_among_the_alarms() -> None:
    """Of 40 cases 10 lost a fifth: of those that are called slower at most 5 % did not."""
    generator = np.random.default_rng(17)
    wrong = []
    for _ in range(100):
        base, new = generator.lognormal(0, 0.1, (2, 40, 16))
        new[:10] *= 0.8
        cases = [evidence(base[i], new[i]) for i in range(40)]
        called = [i for i, d in enumerate(gate.decide(cases, 0.0, method="bh"))
                  if d.outcome == "slower"]  # fmt: skip
        wrong.append(sum(i >= 10 for i in called) / max(len(called), 1))
    assert np.mean(wrong) <= 0.05


def test_what_cannot_be_decided_says_what_it_takes() -> None:
    """Ten times slower in all of five pairs: enough for one case, too few among two."""
    five = evidence(np.full(5, 100.0), np.full(5, 10.0))
    assert gate.decide([five], 0.05)[0].outcome == "slower"
    same = evidence(np.full(5, 100.0), np.full(5, 100.0))
    one, other = gate.decide([five, same], 0.05)
    assert other.outcome == "undecided" and "6 pairs needed among 2 cases" in other.why
    assert one.outcome == "undecided"
    assert gate.needed(1) == 5 and gate.needed(100) == 11
