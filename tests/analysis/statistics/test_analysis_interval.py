# SPDX-License-Identifier: BSD-3-Clause
"""Intervals, beside scipy's. test_simulate.py has how often they hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from iogauge.analysis.judge import samples
from iogauge.analysis.statistics import exact, interval

positive = st.floats(1e-3, 1e6, allow_nan=False)


@pytest.mark.parametrize("count", [*range(6, 40), 1023, 1024, 5000])
def test_the_interval_of_pairs_is_scipys(count: int) -> None:
    ratios = np.random.default_rng(count).lognormal(0, 0.2, count)
    test = scipy.stats.quantile_test(ratios, q=1, p=0.5)
    low, high = test.confidence_interval(confidence_level=interval.LEVEL)
    left = exact.outside_one(count, interval.LEVEL)
    assert left is not None
    ordered = np.sort(ratios)
    # scipy gives each end what it takes; ours has as many values outside on both sides.
    assert ordered[left] <= low * (1 + 1e-12)
    assert ordered[-1 - left] >= high * (1 - 1e-12)
    assert left + 1 >= np.searchsorted(ordered, low)


@pytest.mark.parametrize(("n", "m"), [(4, 4), (5, 7), (12, 12), (20, 15)])
def test_the_interval_of_jobs_turns_the_rank_test_round(n: int, m: int) -> None:
    """scipy's test of B over a factor rejects just outside of the interval, and not inside."""
    generator = np.random.default_rng(n * m)
    a, b = generator.lognormal(0, 0.1, n), generator.lognormal(0, 0.1, m)
    left = exact.outside_two(n, m, interval.LEVEL)
    assert left is not None
    ratios = np.sort((b[:, None] / a).ravel())

    def p(factor: float) -> float:
        found = scipy.stats.mannwhitneyu(b, a * factor, alternative="two-sided", method="exact")
        return float(found.pvalue)

    assert p(ratios[left] * (1 - 1e-9)) <= 0.05 < p(ratios[left] * (1 + 1e-9))
    assert p(ratios[-1 - left] * (1 + 1e-9)) <= 0.05 < p(ratios[-1 - left] * (1 - 1e-9))


@pytest.mark.parametrize(("value", "low", "high"), [(1.3, 0.9, 1.4), (0.8, 0.75, 1.1)])
def test_the_wider_side_says_how_many_are_needed(value: float, low: float, high: float) -> None:
    """The end at 1 is the farther one in most intervals that hold it."""
    wide = max(value / low, high / value)
    skew, even = (
        interval.Interval(value, *ends, "pairs", (8,), 8, 6)
        for ends in ((low, high), (value / wide, value * wide))
    )
    assert skew.verdict == "not decided yet"
    assert skew.wanted == even.wanted > 10


def test_a_known_effect_is_found_and_none_is_not() -> None:
    base = np.random.default_rng(2).lognormal(0, 0.05, 30).tolist()
    assert interval.of_two(base, [1.5 * value for value in base]).verdict == "faster"
    assert interval.of_two(base, [0.5 * value for value in base]).verdict == "slower"
    assert interval.of_two(base, base).verdict == "no difference"


def test_pairs_see_what_a_common_load_hides() -> None:
    """A load that halves both sides of a pair hides a tenth from samples that are no pairs."""
    generator = np.random.default_rng(4)
    load = generator.uniform(0.3, 1, 24)
    base = (load * generator.lognormal(0, 0.01, 24)).tolist()
    new = (1.1 * load * generator.lognormal(0, 0.01, 24)).tolist()
    assert interval.of_two(base, new).verdict == "not decided yet"
    assert interval.of_pairs(list(zip(base, new, strict=True))).verdict == "faster"


@pytest.mark.parametrize("count", range(1, interval.PAIRS))
def test_too_few_pairs_are_a_verdict_and_say_what_it_takes(count: int) -> None:
    found = interval.of_pairs([(1.0, 2.0)] * count)
    assert found.verdict == "not decided yet"
    assert found.lacks == f"{count} pair{'s' if count > 1 else ''}; 6 needed"
    assert interval.of_pairs([(1.0, 2.0)] * interval.PAIRS).lacks == ""


@pytest.mark.parametrize("count", [6, 7, 12, 40, 100])
def test_the_interval_of_pairs_turns_the_signed_rank_test_round(count: int) -> None:
    """scipy's test of the ratios over a factor rejects just outside of it, and not inside."""
    ratios = np.random.default_rng(count).lognormal(0.1, 0.2, count)
    found = interval.of_ratios(ratios.tolist(), "pairs", alike=False)

    def p(factor: float) -> float:
        logs = np.log(ratios / factor)
        return float(scipy.stats.wilcoxon(logs, mode="exact").pvalue)

    assert found.low is not None and found.high is not None
    assert p(found.low * (1 - 1e-9)) <= 0.052 and p(found.low * (1 + 1e-9)) > 0.048
    assert p(found.high * (1 + 1e-9)) <= 0.052 and p(found.high * (1 - 1e-9)) > 0.048


def test_nothing_farther_than_a_fifth_is_an_answer() -> None:
    """And an interval that holds more is not, and says how many pairs it would take."""
    near = interval.of_ratios([0.95, 1.06, 0.97, 1.04, 0.99, 1.02], "pairs")
    assert near.verdict == "no difference" and near.lacks == ""
    assert near.most == pytest.approx(max(1.06, 1 / 0.95) - 1)
    wide = interval.of_ratios([0.7, 1.5, 0.8, 1.3, 0.9, 1.1], "pairs")
    assert wide.verdict == "not decided yet" and wide.wanted > 6 and str(wide.wanted) in wide.lacks
    near_one = interval.Interval(1.25, 0.9998, 1.35, "pairs", (7,), 7.0, 6)
    assert near_one.lacks == "7 pairs; 9 needed"  # never as many as there are


def test_too_few_jobs_say_what_it_takes() -> None:
    few, many = [1.0] * 11, [2.0] * 50
    assert interval.of_two(few, many).verdict == "not decided yet"
    assert interval.of_two(many, few).lacks == "50 sessions and 11 sessions; 12 needed"
    assert interval.of_median(few).low is None


def test_jobs_that_are_alike_are_worth_less() -> None:
    """A slow rise over 20 jobs, and the same values mixed."""
    rise = np.linspace(1, 2, 20)
    mixed = np.random.default_rng(0).permutation(rise)
    found = interval.of_median(rise.tolist())
    assert found.low is None and "20 jobs, correlated: effectively 1;" in found.lacks
    assert interval.of_median(mixed.tolist()).low is not None


def test_half_as_many_that_are_worth_it_make_the_interval_wider() -> None:
    generator = np.random.default_rng(8)
    steps = generator.normal(0, 1, 100)
    alike = np.convolve(steps, np.ones(3) / 3, "same")
    few, many = (
        interval.of_median(np.exp(alike).tolist()),
        interval.of_median(np.exp(generator.permutation(alike)).tolist()),
    )
    assert None not in (few.low, few.high, many.low, many.high)
    assert few.worth < many.worth
    assert few.low < many.low and few.high > many.high  # type: ignore[operator]


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_speed_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite numbers above zero"):
        interval.of_two([1.0] * 9 + [bad], [1.0] * 10)
    with pytest.raises(ValueError, match="finite numbers above zero"):
        interval.of_pairs([(1.0, bad)])


def jobs(session: int, places: range, speed: float, *, drawn: bool) -> dict[samples.Job, float]:
    return {
        samples.Job(session, n, place, drawn): speed * (1 + n) for n, place in enumerate(places)
    }


def test_the_same_round_makes_a_pair() -> None:
    """Two jobs of A that B does not have are left out."""
    base = jobs(1, range(0, 80, 10), 1.0, drawn=True)
    found = samples.speedup(base, jobs(1, range(5, 65, 10), 2.0, drawn=True))
    assert (found.counted, found.verdict) == ("6 pairs", "faster")
    assert found.value == pytest.approx(2)
    elsewhere = jobs(2, range(6), 2.0, drawn=True)
    assert samples.speedup(base, elsewhere).counted == "1, 1 session"


def test_a_row_shows_the_speeds_that_its_ratio_is_of() -> None:
    """A has eight jobs, the one pair of them the slowest: 1 beside 2, not beside 4.5."""
    base = jobs(1, range(0, 80, 10), 1.0, drawn=True)
    one = jobs(1, range(5, 6), 2.0, drawn=True)
    assert samples.speedup(base, one).value == pytest.approx(2)
    assert samples.middle(base, one) == 2
    elsewhere = jobs(2, range(3), 2.0, drawn=True)
    assert samples.middle(base, elsewhere) == 4


@pytest.mark.parametrize(("step", "pairs"), [(1, 8), (8, 0)])
def test_without_a_drawn_order_only_neighbors_are_pairs(step: int, pairs: int) -> None:
    """A after B in each round; or eight of A, then eight of B."""
    places = range(0, 16, 2) if step == 1 else range(8)
    base = jobs(1, places, 1.0, drawn=False)
    new = jobs(1, range(places.start + step, places.stop + step, places.step), 2.0, drawn=False)
    assert len(samples.pairs(base, new)) == pairs


@given(st.lists(positive, min_size=12, max_size=40), st.floats(0.1, 10))
@settings(max_examples=50)
def test_a_factor_moves_ratio_and_interval_alike(values: list[float], factor: float) -> None:
    one = interval.of_two(values, values)
    other = interval.of_two(values, [factor * value for value in values])
    assert other.value == pytest.approx(factor * one.value)
    if one.low is not None and one.high is not None:
        assert (other.low, other.high) == pytest.approx((factor * one.low, factor * one.high))
        assert one.low <= one.value * (1 + 1e-9)
        assert one.high >= one.value * (1 - 1e-9)


def test_long_samples_are_thinned_and_say_the_same() -> None:
    generator = np.random.default_rng(3)
    base, new = generator.lognormal(0, 0.2, 400), generator.lognormal(0.1, 0.2, 400)
    found = interval.of_two(base.tolist(), new.tolist())
    whole = np.sort((new[:, None] / base).ravel())
    assert found.value == pytest.approx(float(np.median(whole)), rel=0.002)
    assert found.low is not None and found.high is not None
    assert found.low < 1.105 < found.high


@pytest.mark.parametrize("count", [13, 23, 103])
def test_a_short_series_says_less_of_its_correlation(count: int) -> None:
    """Fisher: its variance is 1 / (n - 3). One series alone is drawn to 0."""
    values = np.cumsum(np.sin(np.arange(float(count)) ** 2))
    spread = interval._SPREAD_OF_R**2
    expected = interval.correlation(values) * spread / (spread + 1 / (count - 3))
    assert interval.shared_correlations([values]) == pytest.approx([expected])


def test_two_short_sides_are_alike_in_either_order() -> None:
    """Each of less than JOBS: neither is the longer one, which would say how the other is."""
    generator = np.random.default_rng(8)
    for _ in range(20):
        steady, drifting = np.exp(0.05 * generator.standard_normal((2, 8)))
        drifting *= np.exp(0.05 * np.cumsum(generator.standard_normal(8)))
        there = interval.of_two(steady.tolist(), drifting.tolist(), 5)
        back = interval.of_two(drifting.tolist(), steady.tolist(), 5)
        assert there.worth == back.worth
        assert (there.low is None) == (back.low is None)
        if there.low and back.high:
            assert there.low == pytest.approx(1 / back.high)
