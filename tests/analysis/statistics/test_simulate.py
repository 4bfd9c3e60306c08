# SPDX-License-Identifier: BSD-3-Clause
"""What the statistics promise, in the short form of `make simulate`."""

from __future__ import annotations

import math

import pytest

from tests.simulate import __main__ as simulate
from tests.simulate import rates
from tests.simulate.noise import ALIKE, INDEPENDENT, KINDS, SECOND_GAINS

USES = 400


def slack(rate: float, uses: int) -> float:
    """Three standard errors: one of a hundred seeds, at most, would pass it by chance alone."""
    return 3 * math.sqrt(rate * (1 - rate) / uses)


@pytest.mark.sampled
@pytest.mark.parametrize("noise", [*KINDS, SECOND_GAINS])
@pytest.mark.parametrize(("cases", "gates"), [(1, 400), (20, 100), (100, 40)])
def test_a_gate_of_pairs_without_a_change_breaks_at_most_once_in_20_uses(
    noise: str, cases: int, gates: int
) -> None:
    assert rates.false_alarms(noise, cases, gates) <= 0.05 + slack(0.05, gates)


@pytest.mark.parametrize("noise", simulate.OF_NIGHTS)
@pytest.mark.parametrize(("cases", "gates"), [(1, 200), (20, 60)])
def test_so_does_a_gate_of_sessions(noise: str, cases: int, gates: int) -> None:
    found = rates.false_alarms(noise, cases, gates, alone=True)
    assert found <= 0.05 + slack(0.05, gates)


@pytest.mark.sampled
@pytest.mark.parametrize("noise", [*KINDS, SECOND_GAINS])
@pytest.mark.parametrize("cases", [20, 100])
def test_of_what_bh_calls_slower_one_in_20_is_not(noise: str, cases: int) -> None:
    false, found = rates.false_parts(noise, cases, 40)
    assert false <= 0.05 + slack(0.05, 40)
    assert noise != "3 %" or found > 0.95


@pytest.mark.sampled(3)
@pytest.mark.parametrize("noise", [*KINDS, SECOND_GAINS])
def test_what_is_said_over_all_cases_is_seldom_wrong(noise: str) -> None:
    """And at 10 % noise one round finds a tenth."""
    found = rates.of_one_round(noise, USES)
    assert max(found.wrong, found.any_group) <= 0.05 + slack(0.05, USES)
    assert noise != "10 %" or found.found > 0.95


@pytest.mark.sampled(3)
@pytest.mark.parametrize("noise", [*KINDS, SECOND_GAINS])
@pytest.mark.parametrize("rounds", [2, 3])
def test_more_rounds_decide_although_cases_differ(noise: str, rounds: int) -> None:
    """What is said of these cases is seldom wrong; at 10 % noise the rounds decide what the first
    could not, and as many more as are promised mostly decide the rest."""
    found = rates.differing(noise, USES, 0.4, rounds)
    assert max(found.wrong, found.any_group, found.not_equal) <= 0.05 + slack(0.05, USES)
    assert found.first < 0.2 and found.decided > found.first
    assert found.kept > 0.6 or found.decided > 0.95
    assert noise not in ("3 %", "10 %") or found.decided > 0.85


@pytest.mark.parametrize("noise", ["10 %", "alike 0.7"])
def test_verdicts_on_bounds_are_seldom_wrong(noise: str) -> None:
    assert rates.accepted(noise, 20, 100) <= 0.05 + slack(0.05, 100)


def test_a_large_loss_is_found_and_more_of_it_with_more_pairs() -> None:
    few, many = (rates.power(0.20, 10, pairs, 60) for pairs in (8, 20))
    assert few.ours < many.ours and many.ours > 0.8


@pytest.mark.sampled
@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.parametrize(
    ("which", "n"), [(which, n) for which, (_, sizes) in rates.INTERVALS.items() for n in sizes]
)
def test_an_interval_that_is_printed_holds_the_truth(which: str, n: int, noise: str) -> None:
    """Conservative by design. Where neighbours are alike, 7 % of short series pass for what they
    are not."""
    found = rates.coverage(which, noise, n, USES)
    alone = which not in ("ratio of pairs", "kinds of files")
    most = 0.07 if noise in ALIKE and alone else 0.05
    assert found.wrong <= most + slack(most, USES)


@pytest.mark.parametrize("noise", INDEPENDENT)
def test_most_independent_samples_give_an_interval(noise: str) -> None:
    assert rates.coverage("ratio of pairs", noise, 6, USES).printed > 0.95
    assert rates.coverage("ratio of sessions", noise, 20, USES).printed > 0.95
    assert rates.coverage("one median", noise, 20, USES).printed > 0.95


@pytest.mark.parametrize("noise", ["10 %", "between jobs"])
@pytest.mark.parametrize("nights", simulate.NIGHTS)
def test_what_learn_wrote_fails_without_cause_as_seldom_as_it_says(noise: str, nights: int) -> None:
    """200 references: any of them in one night of 20."""
    found = rates.false_failures(noise, nights, 20)
    assert found.any <= 0.05 + slack(0.05, 200)
    assert found.learned > 0.95


@pytest.mark.parametrize(("noise", "most"), [("heavy tail", 0.015), ("bimodal", 0.01)])
def test_what_learn_wrote_for_noise_of_another_kind(noise: str, most: float) -> None:
    """The rate is stated for lognormal noise; these are told in docs/analysis.md."""
    assert rates.false_failures(noise, 12, 10).one <= most


def test_the_script_prints_each_table_with_a_row_for_each_kind_of_noise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert simulate.main(["--uses", "2"]) == 0
    said = capsys.readouterr().out
    assert all(title in said for title in simulate.TABLES)
    assert all(f"| {noise} " in said for noise in [*KINDS, SECOND_GAINS])
