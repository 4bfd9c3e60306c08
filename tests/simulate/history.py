# SPDX-License-Identifier: BSD-3-Clause
"""False changes and missed drops of the search for changes, and of the last low nights."""

import functools
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import numpy as np

from iogauge.analysis.judge.history import History, judge
from iogauge.analysis.statistics import change_points
from iogauge.analysis.statistics.change_points import Floats

from .noise import alike_steps

Generator = np.random.Generator
SIGMA = 0.05  # of the noise
LENGTHS = (30, 100, 365)
SIZES = (0.9, 0.8, 0.75)  # level after a drop, relative to before
AFTER = (6, 10, 20)  # nights after the drop
LOW_NIGHTS, LOW_SIZES, LOW_SIGMAS = range(1, 13), (0.5, 0.7), (0.03, 0.1, 0.3)
RUNS = (10, 16, 20, 30)  # of an unchanged history
FIRST = datetime(2026, 1, 1)

# Noise of the logarithm, about as wide as a normal one of 1.
NOISES: dict[str, Callable[[Generator, int], Floats]] = {
    "lognormal": lambda draw, count: draw.normal(size=count),
    "heavy tail (t, 2 degrees)": lambda draw, count: 0.7 * draw.standard_t(2, size=count),
    "bimodal": lambda draw, count: draw.choice([-1.0, 1.0], count) + 0.2 * draw.normal(size=count),
} | {f"serial correlation {r}": functools.partial(alike_steps, r) for r in (0.3, 0.5, 0.7)}


def history(draw: Generator, noise: str, count: int, sigma: float = SIGMA) -> Floats:
    return np.asarray(100 * np.exp(sigma * NOISES[noise](draw, count)), dtype=np.float64)


def false_changes(noise: str, count: int, histories: int, seed: int = 1) -> int:
    draw = np.random.default_rng(seed)
    return sum(bool(change_points.find(history(draw, noise, count))) for _ in range(histories))


def found(size: float, before: int, after: int, histories: int, seed: int = 1) -> tuple[int, int]:
    """How many drops are found, and how many of them within a night of their date."""
    draw = np.random.default_rng(seed)
    seen = dated = 0
    for _ in range(histories):
        values = history(draw, "lognormal", before + after)
        values[before:] *= size
        cuts = change_points.find(values)
        seen += bool(cuts)
        dated += any(abs(cut - before) <= 1 for cut in cuts)
    return seen, dated


def judged(values: list[float]) -> History:
    at = [FIRST + timedelta(days=day) for day in range(len(values))]
    one = History({"quantity": "write_bw"}, at, values)
    judge(one, change_points.SMALLEST)
    return one


def steady(size: float, sigma: float, before: int, after: int, histories: int) -> int:
    """How many are called neither low nor regressed after so many nights at `size` of the speed."""
    draw, count = np.random.default_rng([before, after, int(100 * size)]), 0
    for _ in range(histories):
        values = history(draw, "lognormal", before + after, sigma)
        values[before:] *= size
        count += not judged(values.tolist()).bad
    return count


def falsely_low(noise: str, sigma: float, runs: int, histories: int) -> int:
    """How many unchanged histories are called low or regressed."""
    draw = np.random.default_rng(runs)
    return sum(judged(history(draw, noise, runs, sigma).tolist()).bad for _ in range(histories))


def gains(count: int, histories: int, seed: int = 1) -> float:
    """The gain of the best cut that random orders exceed with rate FALSE_RATE."""
    draw = np.random.default_rng(seed)
    scores = change_points.normal(count)
    best = [
        change_points.binary_segmentation(draw.permutation(scores), gain=1e9).max_gain
        for _ in range(histories)
    ]
    return float(np.quantile(best, 1 - change_points.FALSE_RATE))


def rates(histories: int) -> Iterator[list[str]]:
    """Unchanged histories that show a change, in %."""
    yield ["noise", *(f"{n} nights" for n in LENGTHS)]
    for noise in NOISES:
        parts = (false_changes(noise, n, histories) / histories for n in LENGTHS)
        yield [noise, *(f"{100 * part:.2f}" for part in parts)]


def drops(histories: int) -> Iterator[list[str]]:
    """Drops that are found (and dated within a night), in %, after 60 nights."""
    yield [f"drop, at {SIGMA:.0%} noise", *(f"{n} nights later" for n in AFTER)]
    for size in SIZES:
        pairs = [found(size, 60, after, histories) for after in AFTER]
        parts = [[100 * x / histories for x in pair] for pair in pairs]
        yield [f"{size - 1:+.0%}", *(f"{seen:.0f} ({dated:.0f})" for seen, dated in parts)]


def low_nights(histories: int) -> Iterator[list[str]]:
    """Machines that lost speed after 20 nights and are called steady, in %."""
    yield ["speed, noise; nights since", *map(str, LOW_NIGHTS)]
    for sigma in LOW_SIGMAS:
        for size in LOW_SIZES:
            of = [steady(size, sigma, 20, after, histories) / histories for after in LOW_NIGHTS]
            yield [f"{size:.0%}, {sigma:.0%}", *(f"{100 * part:.1f}" for part in of)]


def low_by_chance(histories: int) -> Iterator[list[str]]:
    """Unchanged histories that are called low or regressed, in %."""
    yield ["noise", *(f"{runs} runs" for runs in RUNS)]
    for noise in NOISES:
        for sigma in LOW_SIGMAS:
            of = [falsely_low(noise, sigma, runs, histories) / histories for runs in RUNS]
            yield [f"{noise}, {sigma:.0%}", *(f"{100 * part:.1f}" for part in of)]


def needed_gains(histories: int) -> Iterator[list[str]]:
    yield ["nights", "gain"]
    for count in change_points.GAINS:
        yield [str(count), f"{gains(count, histories):.1f}"]
