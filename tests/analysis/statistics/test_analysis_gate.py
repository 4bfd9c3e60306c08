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
from tests.simulate import rates


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


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=12))
def test_the_signed_ranks_are_all_signs(values: list[int]) -> None:
    """Of every way to give the differences their signs; ties and zeros included."""
    sizes = [abs(value) for value in values if value]
    ranks = stats.rankdata(sizes) if sizes else []
    found = sum(rank for rank, value in zip(ranks, filter(None, values), strict=True) if value > 0)
    sums = [sum(rank for rank, up in zip(ranks, ups, strict=True) if up)
            for ups in itertools.product((0, 1), repeat=len(sizes))]  # fmt: skip
    right = sum(total <= found + 1e-9 for total in sums) / len(sums)
    assert exact.signed(values) == pytest.approx(right)


def test_many_signed_ranks_have_the_normal_law() -> None:
    values = np.random.default_rng(3).normal(0.2, 1, 200)
    right = stats.wilcoxon(values, alternative="less", mode="exact").pvalue
    assert exact.signed(values.tolist()) == pytest.approx(right, rel=0.02)


def test_a_gate_takes_years_of_nights() -> None:
    generator = np.random.default_rng(6)
    base, noise = generator.lognormal(0, 0.1, (2, 5000))
    cases: list[gate.Evidence] = []
    for factor in (0.9, 1.0):
        new = (factor * base * noise)[None]
        cases += rates.in_pairs(base[None], new)
        cases += rates.in_sessions(base[None], new[:, :3000])
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


def below(of: int) -> gate.Evidence:
    """Twenty pairs: so many take twice as long, the rest half as long."""
    base = np.full((1, 20), 100.0)
    return rates.in_pairs(base, np.where(np.arange(20) < of, 50.0, 200.0)[None])[0]


def test_what_corrects_for_many_cases_is_scipys() -> None:
    cases = [below(n) for n in (20, 18, 16, 15, 15, 14, 12, 10)]
    values = [gate.chance(case, 0) for case in cases]
    found = [one.outcome == "slower" for one in gate.decide(cases, 0.05, method="bh")]
    assert found == (stats.false_discovery_control(values, method="bh") <= gate.RATE).tolist()
    assert gate.holm(values, gate.RATE) == [p <= gate.RATE / (8 - i) for i, p in enumerate(values)]
    assert sum(found) > sum(gate.holm(values, gate.RATE)) > 1


def test_benjamini_and_hochberg_hold_the_rate_among_the_alarms() -> None:
    """Of 40 cases 10 lost a fifth: of those that are called slower at most 5 % did not."""
    generator = np.random.default_rng(17)
    wrong = []
    for _ in range(100):
        base, new = generator.lognormal(0, 0.1, (2, 40, 16))
        new[:10] *= 0.8
        cases = rates.in_pairs(base, new)
        called = [i for i, d in enumerate(gate.decide(cases, 0.0, method="bh"))
                  if d.outcome == "slower"]  # fmt: skip
        wrong.append(sum(i >= 10 for i in called) / max(len(called), 1))
    assert np.mean(wrong) <= 0.05


def test_what_cannot_be_decided_says_what_it_takes() -> None:
    """Ten times slower in all of five pairs, and in all of six."""
    five, six = (rates.in_pairs(np.full((1, n), 100.0), np.full((1, n), 10.0))[0] for n in (5, 6))
    (found,) = gate.decide([five], 0.05)
    assert found.outcome == "undecided" and "5 pairs of jobs, 6 needed" in found.why
    assert gate.decide([six], 0.05)[0].outcome == "slower"


def test_sizes_count() -> None:
    """Of 100 cases one is twice as slow in ten pairs: the sign test with Holm's correction, whose
    least chance is 100 / 1024, can never find that."""
    base, new = rates.session("10 %", rates.seeded("sizes"), 100, 10)
    new[7] /= 2
    found = [one.outcome == "slower" for one in gate.decide(rates.in_pairs(base, new), 0.05)]
    assert [i for i, slower in enumerate(found) if slower] == [7]


def test_all_cases_together_are_slower_in_one_round() -> None:
    """By a tenth, of 44 cases, where no case alone can be decided."""
    base, new = rates.session("10 %", rates.seeded("all together"), 44, 1)
    cases = rates.in_pairs(base, 0.85 * new)
    assert gate.is_slower(cases, 0.05) and not gate.is_slower(rates.in_pairs(base, new), 0.05)
    assert {one.outcome for one in gate.decide(cases, 0.05)} == {"undecided"}
