# SPDX-License-Identifier: BSD-3-Clause
"""How often the search for changes is wrong, and how often it finds a drop: by simulation.

python -m tools.history_rates [--histories 2000]     the table of docs/analysis.md
python -m tools.history_rates --gains                GAINS of analysis/statistics/change_points.py
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np

from iogauge.analysis.statistics import change_points
from iogauge.analysis.statistics.change_points import Floats

Generator = np.random.Generator
SIGMA = 0.05  # of the noise
LENGTHS = (30, 100, 365)
SIZES = (0.9, 0.8, 0.75)  # what a drop leaves of the level
AFTER = (6, 10, 20)  # nights after the drop


def correlated(correlation: float) -> Callable[[Generator, int], Floats]:
    """Nights of which each looks like the one before."""

    def made(draw: Generator, count: int) -> Floats:
        steps = draw.normal(size=count)
        for i in range(1, count):
            steps[i] = correlation * steps[i - 1] + (1 - correlation**2) ** 0.5 * steps[i]
        return steps

    return made


# Noise of the logarithm, about as wide as a normal one of 1.
NOISES: dict[str, Callable[[Generator, int], Floats]] = {
    "lognormal": lambda draw, count: draw.normal(size=count),
    "heavy tail (t, 2 degrees)": lambda draw, count: 0.7 * draw.standard_t(2, size=count),
    "bimodal": lambda draw, count: draw.choice([-1.0, 1.0], count) + 0.2 * draw.normal(size=count),
    "serial correlation 0.3": correlated(0.3),
    "serial correlation 0.5": correlated(0.5),
    "serial correlation 0.7": correlated(0.7),
}


def history(draw: Generator, noise: str, count: int, sigma: float = SIGMA) -> Floats:
    """Nights of a case that does not change."""
    return np.asarray(100 * np.exp(sigma * NOISES[noise](draw, count)), dtype=np.float64)


def false_changes(noise: str, count: int, histories: int, seed: int = 1) -> int:
    """How many of so many unchanged histories show a change."""
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


def gains(count: int, histories: int, seed: int = 1) -> float:
    """What the best cut gains at most, but in FALSE_RATE of random orders."""
    draw = np.random.default_rng(seed)
    scores = change_points.normal(count)
    best = [
        change_points.binary_segmentation(draw.permutation(scores), gain=1e9).max_gain
        for _ in range(histories)
    ]
    return float(np.quantile(best, 1 - change_points.FALSE_RATE))


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tools.history_rates", description=__doc__)
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--gains", action="store_true")
    args = parser.parse_args()
    if args.gains:
        for count in change_points.GAINS:
            print(f"{count:5} {gains(count, max(args.histories, 20_000)):6.1f}", flush=True)
        return 0
    print("unchanged histories that show a change, %, by nights")
    for noise in NOISES:
        rates = [100 * false_changes(noise, n, args.histories) / args.histories for n in LENGTHS]
        print(f"{noise:28}" + "".join(f"{rate:8.2f}" for rate in rates), flush=True)
    print(f"drops found (dated within a night), %, by nights after; noise {SIGMA:.0%}, 60 before")
    for size in SIZES:
        pairs = [found(size, 60, after, args.histories // 5) for after in AFTER]
        cells = [tuple(500 * x / args.histories for x in pair) for pair in pairs]
        text = "".join(f"  {seen:3.0f} ({dated:3.0f})" for seen, dated in cells)
        print(f"{size - 1:+5.0%}{text}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
