# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of noise, as factors of a speed of 1. The last axis of a shape is time: a job each."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, ...]], Floats]

REPEATS = 3  # of a job whose median counts


def lognormal(generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """10 %, as on a quiet machine."""
    return generator.lognormal(0, 0.1, shape)


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


def alike_steps(
    correlation: float, generator: np.random.Generator, shape: int | tuple[int, ...]
) -> Floats:
    """Normal numbers, each like the one before."""
    steps = generator.normal(size=shape)
    for i in range(1, steps.shape[-1]):
        rest = np.sqrt(1 - correlation**2) * steps[..., i]
        steps[..., i] = correlation * steps[..., i - 1] + rest
    return steps


def alike(correlation: float, generator: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """10 %, and each job is like the one before."""
    factors: Floats = np.exp(0.1 * alike_steps(correlation, generator, shape))
    return factors


INDEPENDENT: dict[str, Noise] = {
    "lognormal": lognormal, "heavy tail": heavy_tail, "bimodal": bimodal,
    "between jobs": between_jobs,
}  # fmt: skip
ALIKE: dict[str, Noise] = {
    f"alike {r}": functools.partial(alike, r) for r in (0.7, 0.9)
}  # fmt: skip
KINDS = INDEPENDENT | ALIKE


def sides(
    kind: str, generator: np.random.Generator, shape: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """Jobs of A and of B in turn, equally fast: both meet what makes neighbours alike, and a noise
    of their own."""
    if kind in ALIKE:
        drift = KINDS[kind](generator, shape)
        return drift * lognormal(generator, shape), drift * lognormal(generator, shape)
    return KINDS[kind](generator, shape), KINDS[kind](generator, shape)


@functools.cache
def true_median(kind: str) -> float:
    """Of all jobs that there could be."""
    if kind in ALIKE:
        return 1.0
    return float(np.median(KINDS[kind](np.random.default_rng(0), (2_000_000,))))
