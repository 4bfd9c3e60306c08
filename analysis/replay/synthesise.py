# SPDX-License-Identifier: BSD-3-Clause
"""Accesses made up from counters, for logs without single ones. Bytes and calls of each file and
direction match the log; sizes come from its most common ones, places from its most common stride.
Their order, their times, and who did what of a shared record are invented."""

from collections.abc import Container, Mapping
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..darshan.dxt import SEGMENT, Block
from ..darshan.log import FileTrace, Log
from ..errors import AnalysisError
from .extents import Numbers

NOTE = (
    "SYNTHESISED from counters: bytes and calls of each file match the log; order, places "
    "and times are made up"
)
PAUSE = 0.1  # seconds between the two directions
CALL = 1e-6  # seconds, if the log does not say
MOST_CALLS, MOST_PARTS = 2 * 10**7, 10**6  # parts: processes of a file, summed over files
POSIX, READ, WRITE = "POSIX", "READ", "WRITE"


def blocks(source: Path, log: Log, wanted: Container[str]) -> list[Block]:
    """The blocks of the files with these paths."""
    number = {path: i for i, path in log.ids.items() if path in wanted}
    files = [one for one in log.files if one.module == POSIX and one.path in number]
    calls = sum(one.count("READS", "WRITES") for one in files)
    parts = sum(len(one.ranks) or log.processes for one in files)
    if calls > MOST_CALLS or parts > MOST_PARTS:
        raise AnalysisError(
            f"{source}: {calls} calls, {parts} pairs of process and file; --synthesise makes up at "
            f"most {MOST_CALLS} and {MOST_PARTS}: select files with --only, or trace a "
            "smaller run with DXT"
        )
    return [block for one in files for block in _of_file(log, one, number[one.path])]


def _of_file(log: Log, entry: FileTrace, number: int) -> list[Block]:
    order = (WRITE, READ)
    starts = [entry.values.get(f"F_{direction}_START_TIMESTAMP", 0.0) for direction in order]
    if 0 < starts[1] < starts[0]:
        order = (READ, WRITE)
    parts: dict[str, dict[int, NDArray[np.void]]] = {}
    at = 0.0
    for direction in order:
        parts[direction], at = _direction(log, entry, direction, at)
    ranks = sorted(parts[READ].keys() | parts[WRITE].keys())
    none = np.empty(0, SEGMENT)
    return [
        Block(
            POSIX,
            number,
            rank,
            len(parts[WRITE].get(rank, none)),
            np.concatenate([parts[direction].get(rank, none) for direction in (WRITE, READ)]),
        )
        for rank in ranks
    ]


def _direction(
    log: Log, entry: FileTrace, direction: str, at: float
) -> tuple[dict[int, NDArray[np.void]], float]:
    """Each process's accesses from a time on, and when the next ones may begin."""
    calls = entry.count(f"{direction}S")
    moved = entry.count("BYTES_READ" if direction == READ else "BYTES_WRITTEN")
    if not calls or not moved:
        return {}, at
    each = _shares(log, entry, direction, moved)
    busy = [rank for rank, size in each.items() if size]
    counts = _split(calls, [each[rank] for rank in busy])
    seconds = max(entry.values.get(f"F_{direction}_TIME", 0.0) / calls, CALL)
    stride = entry.count("STRIDE1_STRIDE") if entry.count("STRIDE1_COUNT") > calls / 2 else 0
    found: dict[int, NDArray[np.void]] = {}
    place, end = 0, at
    for rank, count in zip(busy, counts, strict=True):
        length = _lengths(each[rank], count, entry.sizes)
        rows = np.empty(len(length), SEGMENT)
        rows["length"] = length
        within = np.cumsum(length) - length
        # Darshan's stride is from the end of one access to the begin of the next.
        step = stride + int(length[0]) if stride else 0
        even = step and len(busy) * int(length[0]) <= step and (length == length[0]).all()
        rows["offset"] = (
            len(found) * length[0] + np.arange(len(length)) * step if even else place + within
        )
        rows["start"] = at + np.arange(len(length)) * seconds
        rows["end"] = rows["start"] + seconds  # without pauses, which would be phases
        place += each[rank]
        end = max(end, float(rows["end"][-1]))
        found[rank] = rows
    return found, end + PAUSE


def _shares(log: Log, entry: FileTrace, direction: str, moved: int) -> dict[int, int]:
    """Bytes of each process; a record of all processes is split as evenly as possible."""
    if entry.ranks:
        return {one.rank: one.read if direction == READ else one.written for one in entry.ranks}
    each, rest = divmod(moved, log.processes)
    return {rank: each + (rank < rest) for rank in range(log.processes)}


def _split(calls: int, sizes: list[int]) -> list[int]:
    """Calls in proportion to bytes; at least one each, and if possible no more than there are."""
    total = sum(sizes)
    edges = [round(calls * upto / total) for upto in accumulate(sizes)]
    return [max(1, int(n)) for n in np.diff([0, *edges])]


def _lengths(size: int, calls: int, common: Mapping[int, int]) -> Numbers:
    """Lengths of so many calls with so many bytes in total, in the most common sizes as far as they
    fit."""
    calls = min(calls, size)
    found: list[int] = []
    for length, times in sorted(common.items(), key=lambda pair: -pair[1]):
        rest, left = size - sum(found), calls - len(found)
        # What is left over must be moved by calls too, of a byte or more each.
        n = min(left, times, (rest - left) // (length - 1) if length > 1 else 0)
        if n == left and n * length < rest:
            n -= 1
        found += [length] * max(n, 0)
    rest, left = size - sum(found), calls - len(found)
    if left > 0:
        each, more = divmod(rest, left)
        found += [each + (i < more) for i in range(left)]
    return np.array(found, np.int64)
