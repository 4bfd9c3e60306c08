# SPDX-License-Identifier: BSD-3-Clause
"""The statistics, against scipy and against simulated data whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.judge import interval

SIMULATIONS = 2000
TRUTH = 1.2
positive = st.floats(1e-3, 1e6, allow_nan=False)


@pytest.fixture
def fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulation needs no smooth end of each single interval."""
    monkeypatch.setattr(interval, "DRAWS", 1000)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(("count", "spread"), [(8, 0.1), (12, 0.3), (40, 0.05)])
@pytest.mark.usefixtures("fewer_draws")
def test_the_95_percent_interval_covers_the_truth(count: int, spread: float, paired: bool) -> None:
    generator = np.random.default_rng(count)
    covered = 0
    for _ in range(SIMULATIONS):
        base = np.exp(generator.normal(0, spread, count))
        new = TRUTH * np.exp(generator.normal(0, spread, count))
        if paired:
            found = interval.paired_ratio(list(zip(base.tolist(), new.tolist(), strict=True)))
        else:
            found = interval.ratio(base.tolist(), new.tolist())
        assert found.low is not None and found.high is not None
        covered += found.low <= TRUTH <= found.high
    assert 0.93 <= covered / SIMULATIONS <= 0.97


def test_the_interval_is_near_that_of_scipy() -> None:
    """The plain percentile bootstrap of another library, on a sample large enough to be smooth."""
    generator = np.random.default_rng(1)
    base, new = generator.lognormal(0, 0.2, 201), generator.lognormal(0.1, 0.2, 201)

    def statistic(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(np.median(b, axis=axis) / np.median(a, axis=axis))

    theirs = scipy.stats.bootstrap(
        (base, new), statistic, method="percentile", vectorized=True, rng=generator
    ).confidence_interval
    ours = interval.ratio(base.tolist(), new.tolist())
    assert ours.value == pytest.approx(np.median(new) / np.median(base))
    assert ours.low == pytest.approx(theirs.low, rel=0.01)
    assert ours.high == pytest.approx(theirs.high, rel=0.01)


def test_a_known_effect_is_found_and_none_is_not() -> None:
    generator = np.random.default_rng(2)
    base = generator.lognormal(0, 0.05, 30).tolist()
    assert interval.ratio(base, [1.5 * value for value in base]).verdict == "faster"
    assert interval.ratio(base, [0.5 * value for value in base]).verdict == "slower"
    assert interval.ratio(base, base).verdict == "no difference seen"


def test_pairs_see_what_a_common_load_hides() -> None:
    """A load that halves both sides of a pair hides a tenth from unpaired samples."""
    generator = np.random.default_rng(3)
    load = generator.uniform(0.3, 1, 12)
    base = (load * generator.lognormal(0, 0.01, 12)).tolist()
    new = (1.1 * load * generator.lognormal(0, 0.01, 12)).tolist()
    assert interval.ratio(base, new).verdict == "no difference seen"
    assert interval.paired_ratio(list(zip(base, new, strict=True))).verdict == "faster"


@pytest.mark.parametrize("count", range(1, interval.MIN_SAMPLES))
def test_too_few_samples_are_a_verdict(count: int) -> None:
    few, many = [1.0] * count, [2.0] * 50
    assert interval.ratio(few, many).verdict == "too few samples"
    assert interval.ratio(many, few).verdict == "too few samples"
    assert interval.paired_ratio([(1.0, 2.0)] * count).verdict == "too few samples"
    assert interval.median_interval(few) is None


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_speed_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite numbers above zero"):
        interval.ratio([1.0] * 9 + [bad], [1.0] * 10)


@given(st.lists(positive, min_size=6, max_size=40), st.floats(0.1, 10))
@settings(max_examples=50, deadline=None)
def test_a_factor_moves_ratio_and_interval_alike(values: list[float], factor: float) -> None:
    one = interval.ratio(values, values)
    other = interval.ratio(values, [factor * value for value in values])
    assert one.low is not None and one.high is not None
    assert other.value == pytest.approx(factor * one.value)
    assert (other.low, other.high) == pytest.approx((factor * one.low, factor * one.high))
    assert one.low <= one.value * (1 + 1e-9)
    assert one.high >= one.value * (1 - 1e-9)
