# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of noise, as factors of a speed of 1. The last axis of a shape is time: a job each."""

import functools
import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, ...]], Floats]

REPEATS = 3  # of a job whose median counts
SECOND = 1.05  # gain of the second of two neighbors
SESSION = 0.1  # spread of a session's common effect


def lognormal(spread: float, generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """10 % is a quiet machine."""
    return generator.lognormal(0, spread, shape)


def heavy_tail(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Student's t with 2 degrees of freedom: no variance."""
    return np.exp(0.05 * generator.standard_t(2, shape))


def bimodal(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Three of ten jobs have 60 % of the speed."""
    slow = generator.random(shape) < 0.3
    return np.where(slow, 0.6, 1.0) * generator.lognormal(0, 0.05, shape)


def between_jobs(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Jobs differ by 5 %, their repeats by 10 %; a job is the median of three repeats."""
    repeats = np.median(generator.lognormal(0, 0.1, (*shape, REPEATS)), axis=-1)
    return generator.lognormal(0, 0.05, shape) * repeats


def outliers(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """One job of twenty has a third of the speed."""
    slow = generator.random(shape) < 0.05
    return np.where(slow, 0.33, 1.0) * generator.lognormal(0, 0.1, shape)


def bursts(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """A tenth of the time is slow by half, ten jobs at a stretch."""
    turns = generator.random(shape)
    turned = turns < 0.011  # of the others, those up to 0.1 end a stretch
    turned[..., 0] = turns[..., 0] < 0.1
    count = np.cumsum(turned, axis=-1)
    ends = ~turned & (turns <= 0.1)
    slow = (count - np.maximum.accumulate(np.where(ends, count, 0), axis=-1)) % 2 == 1
    return np.where(slow, 0.5, 1.0) * generator.lognormal(0, 0.1, shape)


def alike_steps(
    correlation: float, generator: np.random.Generator, shape: int | tuple[int, ...]
) -> Floats:
    """Normal numbers, each like the one before."""
    steps = generator.normal(size=shape)
    steps[..., 1:] *= np.sqrt(1 - correlation**2)
    for row in steps.reshape(-1, steps.shape[-1]):
        row[:] = [*itertools.accumulate(row.tolist(), lambda last, new: correlation * last + new)]
    return steps


def alike(correlation: float, generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """10 %, and each job is like the one before."""
    factors: Floats = np.exp(0.1 * alike_steps(correlation, generator, shape))
    return factors


def busy(correlation: float, generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Only ever slower, by a quarter in the middle: other programs use the machine."""
    factors: Floats = np.exp(-np.abs(0.5 * alike_steps(correlation, generator, shape)))
    return factors


INDEPENDENT: dict[str, Noise] = {
    **{f"{part:.0%}".replace("%", " %"): functools.partial(lognormal, part)
       for part in (0.03, 0.1, 0.3)},
    "heavy tail": heavy_tail, "bimodal": bimodal, "between jobs": between_jobs,
    "outliers": outliers,
}  # fmt: skip
ALIKE: dict[str, Noise] = {
    f"alike {r}": functools.partial(alike, r) for r in (0.7, 0.9)
} | {"bursts": bursts}  # fmt: skip
KINDS = INDEPENDENT | ALIKE
BUSY: dict[str, Noise] = {f"busy {r}": functools.partial(busy, r) for r in (0.7, 0.9)}
SECOND_GAINS, OF_SESSIONS = "second gains 5 %", "session effect 10 %"


def session(
    kind: str, generator: np.random.Generator, cases: int, rounds: int
) -> tuple[Floats, Floats]:
    """Jobs of A and B, equally fast, by case and round: neighbors in random order."""
    noise = KINDS.get(kind, KINDS["10 %"])
    jobs = noise(generator, (rounds * cases * 2,)).reshape(rounds, cases, 2)
    if kind == SECOND_GAINS:
        jobs = jobs * np.array([1, SECOND])
    first = generator.integers(0, 2, (rounds, cases, 1))
    a, b = (np.take_along_axis(jobs, place, 2)[..., 0].T for place in (first, 1 - first))
    return a, b


def nights(kind: str, generator: np.random.Generator, cases: int, count: int) -> Floats:
    if kind == OF_SESSIONS:
        shared = generator.lognormal(0, SESSION, (1, count))
        return np.asarray(shared * generator.lognormal(0, 0.1, (cases, count)))
    return KINDS[kind](generator, (cases, count))


@functools.cache
def true_median(kind: str) -> float:
    if kind in ALIKE:
        jobs = KINDS[kind](np.random.default_rng(0), (20_000, 60))
        return float(np.median(jobs)) if kind == "bursts" else 1.0
    return float(np.median(KINDS[kind](np.random.default_rng(0), (2_000_000,))))
