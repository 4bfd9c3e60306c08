# SPDX-License-Identifier: BSD-3-Clause
"""All pairs of overlapping accesses by different processes of which one writes, by a sweep."""

from dataclasses import dataclass

import numpy as np

from ..replay.extents import of_several
from .accesses import TRUNCATION, Rows, Traced
from .order import Numbers, Order

AT_ONCE = 2_000_000  # candidates in memory
MOST_LOOKED_AT = 400_000_000
MOST_KEPT = 1_000_000


@dataclass(frozen=True)
class Pairs:
    """Indices of accesses, the lower first. `whole`: False if there are more."""

    a: Numbers
    b: Numbers
    whole: bool = True


def pairs(traced: Traced, order: Order, most: int = MOST_KEPT) -> Pairs:
    """Ordered by file and offset."""
    rows = traced.accesses
    which = np.flatnonzero((rows["length"] > 0) & (rows["offset"] >= 0))
    if not len(which):
        return Pairs(which, which)
    which, start, end = _one_line(rows, order, which)
    rank = rows["process"].astype(np.int64)
    keep = of_several(start, end, rank[which])
    which, start, end = which[keep], start[keep], end[keep]
    meets = np.searchsorted(start, end) - np.arange(len(which)) - 1
    done = np.cumsum(meets)
    found: list[tuple[Numbers, Numbers]] = []
    kept, at = 0, 0
    while at < len(which):
        before = int(done[at - 1]) if at else 0
        if before > MOST_LOOKED_AT or kept > most:
            return _joined(found, most, whole=False)
        to = max(at + 1, int(np.searchsorted(done, before + AT_ONCE, side="right")))
        one = np.repeat(np.arange(at, to), meets[at:to])
        ahead = np.repeat(done[at:to] - meets[at:to] - before, meets[at:to])
        other = one + 1 + np.arange(len(one)) - ahead
        a, b = which[one], which[other]
        different = rank[a] != rank[b]
        different &= (rows["write"][a] | rows["write"][b]) != 0
        different &= (rows["call"][a] != TRUNCATION) | (rows["call"][b] != TRUNCATION)
        a, b = a[different], b[different]
        free = ~order.between(rank, a, b)
        found.append((np.minimum(a, b)[free], np.maximum(a, b)[free]))
        kept += int(free.sum())
        at = to
    return _joined(found, most, whole=kept <= most)


def _joined(found: list[tuple[Numbers, Numbers]], most: int, *, whole: bool) -> Pairs:
    none = [np.empty(0, np.int64)]
    a = np.concatenate(none + [pair[0] for pair in found])
    b = np.concatenate(none + [pair[1] for pair in found])
    return Pairs(a[:most], b[:most], whole)


def _one_line(rows: Rows, order: Order, which: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """All accesses on one line, by start; layers, files and stretches between meetings do not
    overlap there. Places are ranks, not bytes, so no number is too large."""
    file = rows["file"][which].astype(np.int64) * 2 + rows["layer"][which]
    part = _parts(file, order.epoch_first[which], order.epoch_last[which])
    low = rows["offset"][which]
    place = np.concatenate((low, low + rows["length"][which]))
    both = np.concatenate((part, part))
    sorted_ = np.lexsort((place, both))
    new = (np.diff(both[sorted_]) != 0) | (np.diff(place[sorted_]) != 0)
    number = np.empty(len(place), np.int64)
    number[sorted_] = np.concatenate(([0], np.cumsum(new)))
    start, end = number[: len(which)], number[len(which) :]
    by = np.argsort(start, kind="stable")
    return which[by], start[by], end[by]


def _parts(file: Numbers, first: Numbers, last: Numbers) -> Numbers:
    """A number for each connected set of stretches of a file."""
    by = np.lexsort((first, file))
    same_file = np.concatenate(([False], np.diff(file[by]) == 0))
    # The furthest end so far within a file; files are placed far apart.
    room = int(last.max()) + 2
    ends = np.maximum.accumulate(last[by] + np.cumsum(~same_file) * room)
    begins = first[by] + np.cumsum(~same_file) * room
    new = ~same_file
    new[1:] |= begins[1:] > ends[:-1]
    part = np.empty(len(file), np.int64)
    part[by] = np.cumsum(new)
    return part
