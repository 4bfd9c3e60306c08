# SPDX-License-Identifier: BSD-3-Clause
"""Two exact laws of chance: how often a coin shows heads, and how two samples mix.

The gate's tests and the printed intervals are made of the same two, so they never disagree on what
a number of samples can tell. scipy has both (binomtest, quantile_test, mannwhitneyu), and loads for
a second; the tests hold ours against it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from fractions import Fraction
from statistics import NormalDist

LARGEST = 2500  # products of two sample sizes up to which ranks are counted; then they are normal


def heads(at_least: int, n: int) -> float:
    """The chance of so many heads or more in `n` throws of a coin."""
    return float(sum(_ways(n, n - at_least + 1)) / 2**n)  # as many as of so few tails


def _ways(n: int, end: int) -> Iterator[int]:
    """In how many of the 2^n ways `n` coins show k heads, for each k before `end`. Each is made of
    the one before: those of thousands of coins have thousands of digits."""
    found = 1
    for k in range(end):
        yield found
        found = found * (n - k) // (k + 1)


@functools.cache
def orders(n: int, m: int) -> tuple[int, ...]:
    """In how many orders of n and m values exactly u pairs have the second kind above: u = 0..nm.

    These are the coefficients of the Gaussian binomial: the product over i = 1..m of
    (1 - q^(n+i)) / (1 - q^i)."""
    found = [1] + [0] * (n * m)
    for i in range(1, m + 1):
        for u in range(n * m, n + i - 1, -1):
            found[u] -= found[u - n - i]
        for u in range(i, n * m + 1):
            found[u] += found[u - i]
    return tuple(found)


def above(at_most: int, n: int, m: int) -> float:
    """The chance, over all ways to deal n + m values, that at most so many of the nm pairs have
    the value of the second kind above (Mann and Whitney, Annals of Mathematical Statistics 18,
    1947)."""
    if n * m <= LARGEST:
        return sum(orders(n, m)[: at_most + 1]) / math.comb(n + m, n)
    return _normal(n, m).cdf(at_most + 0.5)


@functools.cache
def outside_one(n: int, level: float) -> int | None:
    """How many of `n` sorted values to leave out at each end, so that the rest still covers the
    true median with probability `level`, whatever the law of the values (David and Nagaraja, Order
    Statistics, 2003, 7.1; scipy.stats.quantile_test). None: all of them do not."""
    left, ways = None, 0
    most = math.floor(Fraction(1 - level) * 2**n / 2)
    for k, more in enumerate(_ways(n, n // 2)):
        ways += more
        if ways > most:
            break
        left = k
    return left


@functools.cache
def outside_two(n: int, m: int, level: float) -> int | None:
    """The same of the nm sorted ratios of two samples, for the factor between two laws of one shape
    (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 2014, 4.3)."""
    if n * m > LARGEST:
        tail = _normal(n, m).inv_cdf((1 - level) / 2) - 0.5
        return math.floor(tail) if tail >= 0 else None
    left, ways = None, 0
    for u, count in enumerate(orders(n, m)[: n * m // 2]):
        ways += count
        if 2 * ways > (1 - level) * math.comb(n + m, n):
            break
        left = u
    return left


def _normal(n: int, m: int) -> NormalDist:
    return NormalDist(n * m / 2, math.sqrt(n * m * (n + m + 1) / 12))
