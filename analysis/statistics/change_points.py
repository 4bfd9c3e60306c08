# SPDX-License-Identifier: BSD-3-Clause
"""Change points: the runs of a history at which a new level begins, by seeded binary segmentation
(Kovács and others, Biometrika 2023) of normal scores of the ranks: so an unchanged history is a
random permutation, whatever its noise, and one table of critical gains serves all."""

import functools
import itertools
import math
import sys
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MIN_RUNS = 12  # the fewest runs
LEAST = 5  # the fewest runs of a level
SMALLEST = 0.05  # smaller relative changes of level are ignored
FALSE_RATE = 1e-4  # of unchanged, uncorrelated histories that show a change
# The best cut of a random permutation gains more only at FALSE_RATE: python -m tests.simulate
# --gains 20000
GAINS = {
    12: 8.1,
    16: 11.7,
    20: 13.2,
    30: 16.6,
    50: 19.8,
    100: 23.7,
    200: 26.9,
    500: 29.9,
    1000: 32.0,
    2000: 34.0,
    5000: 37.0,
}
# Over the root of the runs: a correlation that 1 in 70 white histories shows.
EVIDENT = 4.0


def find(values: Sequence[float] | Floats, smallest: float = SMALLEST) -> list[int]:
    """The indices at which a new level begins, in order. `values`: speeds."""
    data = np.asarray(values, dtype=np.float64)
    cuts = _cuts(data, 0, 1.0)
    if cuts and (more := excess(data, cuts)):
        cuts = _cuts(data, 0, 1 + more)
    while cuts:
        steps = [abs(math.log(b / a)) for a, b in itertools.pairwise(levels(data, cuts))]
        least = min(range(len(cuts)), key=steps.__getitem__)
        if steps[least] >= -math.log(1 - smallest):
            break
        del cuts[least]
    return _refined(np.log(data), cuts)


def _refined(logs: Floats, cuts: Sequence[int]) -> list[int]:
    """Each cut moved to where the runs around it best fit the levels, which ranks cannot tell."""
    ends = [0, *cuts, len(logs)]
    found = []
    for before, cut, after in zip(ends, cuts, ends[2:], strict=False):
        old, new = float(np.median(logs[before:cut])), float(np.median(logs[cut:after]))
        first, last = max(before + 1, cut - LEAST), min(after - 1, cut + LEAST)
        near = logs[first:last]
        # The cost of counting each run to the old level.
        worse = np.abs(near - old) - np.abs(near - new)
        found.append(first + int(np.argmin(np.concatenate([[0.0], np.cumsum(worse)]))))
    return found


def levels(values: Floats, cuts: Sequence[int]) -> list[float]:
    return [float(np.median(part)) for part in np.split(values, list(cuts))]


def _cuts(data: Floats, offset: int, widen: float) -> list[int]:
    if len(data) < MIN_RUNS:
        return []
    parts = best_cuts(scores(data), widen * needed(len(data)))
    ends = [0, *parts, len(data)]
    found = [offset + cut for cut in parts]
    if parts:
        for first, last in itertools.pairwise(ends):
            found += _cuts(data[first:last], offset + first, widen)
    return sorted(found)


def best_cuts(wanted: Floats, gain: float) -> list[int]:
    """The cuts of `wanted` that gain at least so much, in squares of its standard deviation."""
    return [int(cut) for cut in binary_segmentation(wanted, gain).split_points()]


def binary_segmentation(wanted: Floats, gain: float) -> Any:
    """The library's answer: a tree of cuts with their `max_gain`."""
    library = _library()
    control = library.Control(
        minimal_gain_to_split=gain, minimal_relative_segment_length=LEAST / len(wanted)
    )
    return library.changeforest(wanted.reshape(-1, 1), "change_in_mean", "sbs", control)


@functools.cache
def _library() -> Any:
    """`changeforest` without plotting: it would load matplotlib, which takes long."""
    absent = object()
    before: Any = sys.modules.get("matplotlib", absent)
    sys.modules["matplotlib"] = None  # type: ignore[assignment]
    try:
        import changeforest
    finally:
        del sys.modules["matplotlib"]
        if before is not absent:
            sys.modules["matplotlib"] = before
    return changeforest


def needed(count: int) -> float:
    sizes = np.log(list(GAINS))
    return float(np.interp(math.log(count), sizes, list(GAINS.values())))


def scores(data: Floats) -> Floats:
    """Normal scores of the ranks, with standard deviation 1; ties share their mean."""
    values, place, count = np.unique(data, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    total = np.concatenate([[0.0], np.cumsum(normal(len(data)))])
    shared = (total[last] - total[last - count]) / count
    return np.asarray(shared[place], dtype=np.float64) if len(values) > 1 else np.zeros(len(data))


@functools.lru_cache(maxsize=256)
def normal(count: int) -> Floats:
    """The normal scores of so many distinct values."""
    inverse = NormalDist().inv_cdf
    found = np.array([inverse((i + 0.5) / count) for i in range(count)])
    return np.asarray(found / found.std(), dtype=np.float64)


def excess(data: Floats, cuts: Sequence[int]) -> float:
    """The fraction by which serial correlation raises the gains of an unchanged history.

    From the squared differences at lags 1 and 2 within a level, without the largest tenth, so that
    a missed change of level does not count. For a first-order process with correlation r the gains
    grow as (1 + r) / (1 - r). What a white history of this length shows is ignored.
    """
    wanted = scores(data)
    level = np.searchsorted(cuts, np.arange(len(data)), side="right")
    near, far = (
        _trimmed((wanted[lag:] - wanted[:-lag])[level[lag:] == level[:-lag]] ** 2) for lag in (1, 2)
    )
    found = min(far / near - 1, 0.95) if near > 0 else 0.0
    if found <= EVIDENT / math.sqrt(len(data)):
        return 0.0
    return float((1 + found) / (1 - found) - 1)


def _trimmed(values: Floats) -> float:
    return float(np.sort(values)[: math.ceil(0.9 * len(values))].mean())
