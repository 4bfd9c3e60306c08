# SPDX-License-Identifier: BSD-3-Clause
"""Ratios of paired measurements. A pair was run back to back, so what both met (another job, a
clock that changed) cancels in its ratio."""

from __future__ import annotations

from iogauge.analysis.statistics.interval import Interval, of_pairs


def ratio(ours: list[float], upstream: list[float]) -> Interval:
    """Ours over upstream's. Raises ValueError when the lists do not pair up or hold what is no
    bandwidth."""
    if len(ours) != len(upstream) or not ours:
        raise ValueError(f"{len(ours)} and {len(upstream)} measurements do not pair up")
    return of_pairs(list(zip(upstream, ours, strict=True)))


def ends(found: Interval) -> str:
    """The interval as a cell of a table."""
    if found.low is None or found.high is None:
        return "too few pairs"
    return f"{found.low:.2f} .. {found.high:.2f}"


def first_of_pair(pair: int) -> str:
    """Who runs first alternates, because the second run finds what the first left in the caches
    and in the allocator of the file system."""
    return "ours" if pair % 2 == 0 else "upstream"
