# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps over a file's bytes: what several processes write, and what is read before."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
# Up to so many extents are examined one by one; beyond, the answer is conservative.
MOST_SINGLE = 200_000
NAMED = 5


@dataclass(frozen=True)
class Moved:
    """Extents of one file, each of one process in one phase."""

    start: Numbers
    end: Numbers
    phase: Numbers
    rank: Numbers

    def take(self, which: NDArray[np.bool_] | Numbers) -> "Moved":
        return Moved(self.start[which], self.end[which], self.phase[which], self.rank[which])

    def with_(self, other: "Moved") -> "Moved":
        if not len(other):
            return self
        both = zip(vars(self).values(), vars(other).values(), strict=True)
        return Moved(*map(np.concatenate, both))

    def __len__(self) -> int:
        return len(self.start)


def union(
    start: NDArray[Any], end: NDArray[Any], *, gap: float = 1
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The same bytes in as few extents as possible, sorted. `gap`: the least between two."""
    if not len(start):
        return start, end
    order = np.argsort(start, kind="stable")
    start, last = start[order], np.maximum.accumulate(end[order])
    new = np.concatenate(([True], start[1:] - last[:-1] >= gap))
    return start[new], last[np.concatenate((new[1:], [True]))]


def _apart(moved: Moved) -> tuple[Moved, int]:
    """The phases one after the other on one line; the length of each."""
    span = int(moved.end.max()) + 1
    numbers, phase = np.unique(moved.phase, return_inverse=True)
    if span * len(numbers) >= 2**62:
        raise OverflowError
    shift = phase.astype(np.int64) * span
    return Moved(moved.start + shift, moved.end + shift, moved.phase, moved.rank), span


def of_several(start: Numbers, end: Numbers, rank: Numbers) -> NDArray[np.bool_]:
    """Which extents, sorted by start, connect with some of another process's."""
    last = np.maximum.accumulate(end)
    new = np.concatenate(([True], start[1:] >= last[:-1]))
    first = np.flatnonzero(new)
    several = np.minimum.reduceat(rank, first) != np.maximum.reduceat(rank, first)
    found: NDArray[np.bool_] = several[np.cumsum(new) - 1]
    return found


@dataclass(frozen=True)
class Conflicts:
    """Bytes that several processes write in one phase. `examples`: (start, end, two ranks)."""

    start: Numbers
    end: Numbers
    examples: list[tuple[int, int, int, int]]


def conflicts(writes: Moved) -> Conflicts:
    """What several processes write in one phase: whose bytes stay is undefined."""
    none = np.empty(0, np.int64)
    if not len(writes):
        return Conflicts(none, none, [])
    line, span = _apart(writes)
    line = line.take(np.argsort(line.start, kind="stable"))
    line = line.take(of_several(line.start, line.end, line.rank))
    if not len(line):
        return Conflicts(none, none, [])
    # Each process's own bytes once; then where two or more processes are.
    mine = [line.take(line.rank == rank) for rank in np.unique(line.rank)]
    merged = [(union(one.start, one.end), int(one.rank[0])) for one in mine]
    starts = np.concatenate([start for (start, _), _ in merged])
    ends = np.concatenate([end for (_, end), _ in merged])
    ranks = np.concatenate([np.full(len(start), rank) for (start, _), rank in merged])
    at = np.concatenate((ends, starts))  # at one place, ends come before begins
    order = np.argsort(at, kind="stable")
    change = np.concatenate((np.full(len(ends), -1), np.full(len(starts), 1)))[order]
    depth, at = np.cumsum(change), at[order]
    both = (depth[:-1] >= 2) & (at[1:] > at[:-1])
    low, high = at[:-1][both], at[1:][both]
    examples = []
    for a, b in zip(low[:NAMED], high[:NAMED], strict=True):
        who = ranks[(starts < b) & (ends > a)]
        examples.append((int(a % span), int(b - a + a % span), int(who[0]), int(who[1])))
    start, end = union(low % span, low % span + (high - low))
    return Conflicts(start, end, examples)


def shared(a: tuple[Numbers, Numbers], b: tuple[Numbers, Numbers]) -> tuple[Numbers, Numbers]:
    """The intersection of two unions."""
    at = np.concatenate((a[1], b[1], a[0], b[0]))
    order = np.argsort(at, kind="stable")
    ends = len(a[1]) + len(b[1])
    change = np.where(np.arange(len(at)) < ends, -1, 1)[order]
    depth, at = np.cumsum(change), at[order]
    both = (depth[:-1] >= 2) & (at[1:] > at[:-1])
    return union(at[:-1][both], at[1:][both])


def read_first(reads: Moved, writes: Moved) -> tuple[Numbers, Numbers]:
    """What is read before it was written in an earlier phase: it must exist beforehand."""
    whole = union(reads.start, reads.end)
    if not len(writes) or not len(reads):
        return whole
    touched = shared(whole, union(writes.start, writes.end))
    if not len(touched[0]):
        return whole
    if len(reads) + len(writes) > MOST_SINGLE:
        return whole
    places = np.unique(np.concatenate((reads.start, reads.end, writes.start, writes.end)))
    first = np.full(len(places), np.iinfo(np.int64).max)
    needed = np.zeros(len(places), bool)
    for i in np.argsort(-writes.phase, kind="stable"):
        a, b = np.searchsorted(places, (writes.start[i], writes.end[i]))
        first[a:b] = writes.phase[i]
    for i in range(len(reads)):
        a, b = np.searchsorted(places, (reads.start[i], reads.end[i]))
        needed[a:b] |= first[a:b] >= reads.phase[i]
    at = np.flatnonzero(needed)
    return union(places[at], places[at + 1])
