# SPDX-License-Identifier: BSD-3-Clause
"""Processes' extents as boxes of arrays: strides in up to five dimensions are detected; extents
without any become one array of bytes with a list of extents per process."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..darshan.raw import Slab
from .extents import Numbers

MOST_DIMS = 5
MOST_RUNS = 4096  # of a process; beyond that, a list instead of arrays
MOST_EXTENTS = 2**24  # of a file's selections
WIDE = 8  # bytes of a float64

Box = tuple[tuple[int, ...], tuple[int, ...]]  # start and count, slowest dimension first


@dataclass(frozen=True)
class Array:
    """`boxes`: by process number."""

    dims: tuple[int, ...]
    boxes: dict[int, list[Box]]
    wide: bool = False

    @property
    def text(self) -> str:
        return f"{'x'.join(map(str, self.dims))} {'float64' if self.wide else 'bytes'}"

    @property
    def bytes(self) -> int:
        return int(np.prod(self.dims, dtype=object)) * (WIDE if self.wide else 1)


@dataclass(frozen=True)
class Run:
    """`length` bytes from `start` on, repeated `counts[i]` times in steps of `steps[i]`."""

    rank: int
    start: int
    length: int
    steps: tuple[int, ...]
    counts: tuple[int, ...]

    @property
    def end(self) -> int:
        last = sum(s * (c - 1) for s, c in zip(self.steps, self.counts, strict=True))
        return self.start + last + self.length


def runs_of(rank: int, start: Numbers, end: Numbers) -> list[Run] | None:
    """Nested strided runs of sorted extents that do not touch; None if there are too many."""
    table = np.stack([start, end - start], axis=1)  # start, length, then steps and counts
    for _ in range(MOST_DIMS - 1):
        grouped = _group(table)
        if len(grouped) == len(table):
            break
        table = grouped
    if len(table) > MOST_RUNS:
        return None
    found = []
    for row in table.tolist():
        pairs = [(s, c) for s, c in zip(row[2::2], row[3::2], strict=True) if c > 1]
        steps, counts = zip(*pairs, strict=True) if pairs else ((), ())
        found.append(Run(rank, row[0], row[1], steps, counts))
    return found


def _group(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows that differ only in starts with equal steps become one, with two columns more."""
    n = len(table)
    alike = np.zeros(n, bool)
    alike[1:] = (table[1:, 1:] == table[:-1, 1:]).all(axis=1)
    step = np.diff(table[:, 0], prepend=0)
    first, i = [], 0
    # Where the step stays: so long is a run that begins at the row before.
    same = np.zeros(n, bool)
    same[2:] = alike[2:] & alike[1:-1] & (step[2:] == step[1:-1])
    breaks = np.flatnonzero(~same)
    while i < n:
        first.append(i)
        if i + 1 < n and alike[i + 1]:
            after = np.searchsorted(breaks, i + 2)
            i = int(breaks[after]) if after < len(breaks) else n
        else:
            i += 1
    at = np.array(first)
    count = np.diff(np.append(at, n))
    steps = np.where(count > 1, step[np.minimum(at + 1, n - 1)], 0)
    return np.column_stack([table[at], steps, count])


@dataclass
class _Cluster:
    """Runs of one presumed array; `parts`: those whose spans overlap."""

    parts: list[list[Run]]
    end: int
    ranks: set[int]
    steps: set[int]

    @classmethod
    def of(cls, runs: list[Run]) -> "_Cluster":
        steps = {step for run in runs for step in run.steps}
        return cls([runs], max(run.end for run in runs), {run.rank for run in runs}, steps)

    def takes(self, other: "_Cluster", start: int) -> bool:
        """An array that is cut along its slowest dimension: its clusters touch, belong to different
        processes, and have the same strides, or fewer."""
        nested = self.steps <= other.steps or other.steps <= self.steps
        return self.end == start and nested and not self.ranks & other.ranks

    def add(self, other: "_Cluster") -> None:
        self.parts += other.parts
        self.end = other.end
        self.ranks |= other.ranks
        self.steps |= other.steps


def _clusters(runs: Sequence[Run]) -> list[_Cluster]:
    overlapping: list[list[Run]] = []
    end = -1
    for run in sorted(runs, key=lambda run: (run.start, run.end)):
        if run.start < end:
            overlapping[-1].append(run)
        else:
            overlapping.append([run])
        end = max(end, run.end)
    found: list[_Cluster] = []
    for some in overlapping:
        one = _Cluster.of(some)
        if found and found[-1].takes(one, some[0].start):
            found[-1].add(one)
        else:
            found.append(one)
    return found


def _box(run: Run, base: int, strides: Sequence[int], dims: Sequence[int]) -> Box | None:
    """A box in the dimensions of an array, fastest last; `strides`: of all but the fastest."""
    start, rest = [], run.start - base
    for stride in strides:
        start.append(rest // stride)
        rest %= stride
    start.append(rest)
    count = [1] * len(dims)
    for step, times in zip(run.steps, run.counts, strict=True):
        if step not in strides:
            return None
        count[list(strides).index(step)] *= times
    count[-1] = run.length
    for i in range(len(dims) - 1, 0, -1):
        if count[i] > dims[i]:  # whole rows, planes, ...
            if start[i] or count[i] % dims[i] or count[i - 1] != 1:
                return None
            count[i - 1], count[i] = count[i] // dims[i], dims[i]
    if any(a + b > limit for a, b, limit in zip(start, count, dims, strict=True)):
        return None
    return tuple(start), tuple(count)


def _blocks(cluster: Sequence[Run], known: Sequence[int] = ()) -> Array | None:
    """A block decomposition, if it is one: boxes that fill a whole array, of `known` dimensions."""
    base, end = min(run.start for run in cluster), max(run.end for run in cluster)
    strides = sorted({step for run in cluster for step in run.steps}, reverse=True)
    if known:
        base, end = 0, math.prod(known)
        strides = [math.prod(known[i:]) for i in range(1, len(known))]
    if len(strides) >= MOST_DIMS or any(a % b for a, b in pairwise(strides)):
        return None
    slowest = strides[0] if strides else 1
    if strides and (end - base) % slowest:
        return None
    dims = [(end - base) // slowest] if strides else []
    dims += [a // b for a, b in pairwise(strides)] + ([strides[-1]] if strides else [end - base])
    boxes: dict[int, list[Box]] = {}
    filled = 0
    for run in cluster:
        box = _box(run, base, strides, dims)
        if box is None:
            return None
        boxes.setdefault(run.rank, []).append(box)
        filled += int(np.prod(box[1], dtype=object))
    # The extents do not overlap: they fill the array if their bytes add up to it.
    return Array(tuple(dims), boxes) if filled == end - base else None


def squeezed(extents: Sequence[tuple[int, Numbers, Numbers]]) -> Array:
    """One array of what was written, in file order, without gaps."""
    ranks = np.concatenate([np.full(len(start), rank) for rank, start, _ in extents])
    start = np.concatenate([start for _, start, _ in extents])
    length = np.concatenate([end - start for _, start, end in extents])
    order = np.argsort(start, kind="stable")
    ranks, length = ranks[order], length[order]
    place = np.cumsum(length) - length
    boxes: dict[int, list[Box]] = {}
    for rank, at, n in zip(ranks.tolist(), place.tolist(), length.tolist(), strict=True):
        mine = boxes.setdefault(rank, [])
        if mine and mine[-1][0][0] + mine[-1][1][0] == at:
            at, n = mine[-1][0][0], mine.pop()[1][0] + n
        mine.append(((at,), (n,)))
    return Array((int(length.sum()),), boxes)


def widened(array: Array) -> Array:
    """The array as float64, if all places along the fastest dimension are multiples of its size."""
    last = [(box[0][-1], box[1][-1]) for mine in array.boxes.values() for box in mine]
    if array.dims[-1] % WIDE or any(a % WIDE or b % WIDE for a, b in last):
        return array

    def less(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return (*numbers[:-1], numbers[-1] // WIDE)

    boxes = {
        rank: [(less(start), less(count)) for start, count in mine]
        for rank, mine in array.boxes.items()
    }
    return Array(less(array.dims), boxes, wide=True)


def of_file(
    extents: Sequence[tuple[int, Numbers, Numbers]], known: Sequence[int] = ()
) -> list[Array]:
    """Arrays of one file, in its order; of `known` dimensions, if its bytes are such a one.
    `extents`: for each process that wrote to it, its number and its extents, which are sorted, do
    not touch, and overlap with no other process's."""
    runs: list[Run] = []
    for rank, start, end in extents:
        mine = runs_of(rank, start, end)
        if mine is None:
            return [widened(squeezed(extents))]
        runs += mine
    if known and (whole := _blocks(runs, known)):
        return [widened(whole)]
    found: list[Array] = []
    for cluster in _clusters(runs):
        whole = _blocks([run for part in cluster.parts for run in part])
        for part in [] if whole else cluster.parts:
            found.append(widened(_blocks(part) or _list(part, extents)))
        if whole:
            found.append(widened(whole))
    return found


def bytes_of(slab: Slab, dims: Sequence[int], most: int) -> tuple[Numbers, Numbers] | None:
    """The extents of a part of an array, the last dimension of which is an element's bytes. None:
    more than `most`."""
    *lengths, length = dims
    rows = [
        (first, stride, 1, count * block, n)
        if count == 1 or stride == block
        else (first, stride, count, block, n)
        for first, stride, count, block, n in zip(*slab, lengths, strict=True)
    ]
    while rows and rows[-1][2:4] == (1, rows[-1][4]):
        length *= rows.pop()[4]
    last = rows.pop() if rows else (0, 1, 1, 1, 1)
    if math.prod(count * block for _, _, count, block, _ in rows) * last[2] > most:
        return None
    start = np.zeros(1, np.int64)
    for first, stride, count, block, n in (*rows, (*last[:3], 1, last[4])):
        at = first + stride * np.arange(count)[:, None] + np.arange(block)
        start = (start[:, None] * n + at.ravel()).ravel()
    start = start * length
    return start, start + length * last[3]


def _list(runs: Sequence[Run], extents: Sequence[tuple[int, Numbers, Numbers]]) -> Array:
    low, high = min(run.start for run in runs), max(run.end for run in runs)
    inside = []
    for rank, start, end in extents:
        a, b = np.searchsorted(start, (low, high))
        inside += [(rank, start[a:b], end[a:b])] if a < b else []
    return squeezed(inside)
