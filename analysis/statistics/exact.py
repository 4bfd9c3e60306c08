# SPDX-License-Identifier: BSD-3-Clause
"""Three exact distributions: heads of a coin, the order of two mixed samples, and signed ranks.
scipy has them (binomtest, quantile_test, mannwhitneyu, wilcoxon) but takes a second to load; the
tests compare ours with it."""

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from statistics import NormalDist

LARGEST = 2500  # largest n*m for exact counts; above, the normal approximation
MOST_RANKS = 60  # largest n for exact signed ranks


def heads(at_least: int, n: int) -> float:
    """The chance of at least so many heads in `n` throws of a coin."""
    return float(sum(_ways(n, n - at_least + 1)) / 2**n)  # as many as of so few tails


def _ways(n: int, end: int) -> Iterator[int]:
    """How many of the 2^n outcomes of `n` coins show k heads, for each k before `end`. Computed
    incrementally: for thousands of coins the numbers have thousands of digits."""
    found = 1
    for k in range(end):
        yield found
        found = found * (n - k) // (k + 1)


@functools.cache
def orders(n: int, m: int) -> tuple[int, ...]:
    """The number of orders of n and m values in which exactly u pairs have the second kind above,
    for u = 0..nm: the coefficients of the Gaussian binomial."""
    found = [1] + [0] * (n * m)
    for i in range(1, m + 1):
        for u in range(n * m, n + i - 1, -1):
            found[u] -= found[u - n - i]
        for u in range(i, n * m + 1):
            found[u] += found[u - i]
    return tuple(found)


def above(at_most: int, n: int, m: int) -> float:
    """The chance, over all ways to deal n + m values, that at most so many of the nm pairs have the
    second kind's value above (Mann and Whitney, Annals of Mathematical Statistics 18, 1947)."""
    if n * m <= LARGEST:
        return sum(orders(n, m)[: at_most + 1]) / math.comb(n + m, n)
    return _normal(n, m).cdf(at_most + 0.5)


def _left(counts: Iterable[int], most: float | Fraction) -> int | None:
    """The last place at which the counts add up to `most` at most; None: not even the first."""
    left, ways = None, 0
    for place, count in enumerate(counts):
        ways += count
        if ways > most:
            break
        left = place
    return left


@functools.cache
def outside_one(n: int, level: float) -> int | None:
    """How many of `n` sorted values to drop at each end so that the rest still covers the true
    median with probability `level`, for any distribution (David and Nagaraja, Order Statistics,
    2003, 7.1; scipy.stats.quantile_test). None: not even all of them do."""
    return _left(_ways(n, n // 2), math.floor(Fraction(1 - level) * 2**n / 2))


@functools.cache
def outside_two(n: int, m: int, level: float) -> int | None:
    """The same for the nm sorted ratios of two samples, for the factor between two distributions of
    one shape (Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 2014, 4.3)."""
    if n * m > LARGEST:
        tail = _normal(n, m).inv_cdf((1 - level) / 2) - 0.5
        return math.floor(tail) if tail >= 0 else None
    return _left(orders(n, m)[: n * m // 2], (1 - level) * math.comb(n + m, n) / 2)


def _normal(n: int, m: int) -> NormalDist:
    return NormalDist(n * m / 2, math.sqrt(n * m * (n + m + 1) / 12))


def signed(values: Sequence[float]) -> float:
    """The chance, over all signs that the differences could have had, of a sum of positive ranks at
    most as large as here (Wilcoxon, Biometrics Bulletin 1, 1945). Ties share their mean rank;
    differences of 0 do not count."""
    ordered = sorted((abs(value), value > 0) for value in values if value)
    twice: list[int] = []  # ranks, doubled: means of tied ones are whole then
    while len(twice) < len(ordered):
        first = len(twice)
        last = first
        while last < len(ordered) and ordered[last][0] == ordered[first][0]:
            last += 1
        twice += [first + last + 1] * (last - first)
    found = sum(rank for rank, (_, above) in zip(twice, ordered, strict=True) if above)
    if len(twice) > MOST_RANKS:
        spread = math.sqrt(sum(rank * rank for rank in twice)) / 2
        return NormalDist(sum(twice) / 2, spread).cdf(found + 1)
    return float(sum(_sums(tuple(twice))[: found + 1]) / 2 ** len(twice))


@functools.cache
def _sums(ranks: tuple[int, ...]) -> tuple[int, ...]:
    """How many of the subsets of `ranks` have each sum."""
    found = [1] + [0] * sum(ranks)
    for rank in ranks:
        for total in range(len(found) - 1, rank - 1, -1):
            found[total] += found[total - rank]
    return tuple(found)


@functools.cache
def outside_signed(n: int, level: float) -> int | None:
    """How many of the sorted means of all pairs of `n` differences to drop at each end so that the
    rest still covers the centre of their distribution, if that is symmetric (Hollander, Wolfe and
    Chicken, 3.3)."""
    if n > MOST_RANKS:
        many = NormalDist(n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24))
        return math.floor(many.inv_cdf((1 - level) / 2) - 0.5)
    return _left(_sums(tuple(range(1, n + 1))), Fraction(1 - level) * 2**n / 2)
