# SPDX-License-Identifier: BSD-3-Clause
"""Which points of a dimension each process holds, from the decomposition map of a program.

PIO's form, which E3SM writes (ParallelIO's PIOc_writemap): a line `version V npes N ndims D`, a
line of the lengths, then of each process a line with its number and how many points, and a
line of these, counted from 1; 0 stands for none."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from .document import CannotLikeError, Runs


def read(path: Path) -> Runs:
    """The runs of each process. `CannotLikeError` for a file in another form, or of more than one
    dimension."""
    try:
        lines = path.read_text(encoding="ascii").split("\n")
    except (OSError, UnicodeDecodeError) as problem:
        raise CannotLikeError(f"{path}: cannot be read: {problem}") from None
    head = lines[0].split()
    try:
        if head[0::2][:3] != ["version", "npes", "ndims"]:
            raise ValueError
        processes, ndims = int(head[3]), int(head[5])
        lengths = [int(word) for word in lines[1].split()]
        if ndims != 1 or len(lengths) != 1:
            raise CannotLikeError(
                f"{path}: a map of {ndims} dimensions; right is one of 1 dimension"
            )
        return [_runs(path, lines, i, lengths[0]) for i in range(processes)]
    except (ValueError, IndexError):
        raise CannotLikeError(f"{path}: expected a decomposition map as PIO writes it") from None


def _runs(path: Path, lines: list[str], process: int, length: int) -> list[list[int]]:
    number, count = map(int, lines[2 + 2 * process].split())
    points = np.array(lines[3 + 2 * process].split(), np.int64)
    if number != process or len(points) != count:
        raise ValueError
    points = np.sort(points[points > 0]) - 1
    if len(points) and (points[-1] >= length or (np.diff(points) == 0).any()):
        raise CannotLikeError(f"{path}: process {process} has a point twice, or one above {length}")
    edges = np.flatnonzero(np.diff(points) != 1) + 1
    cuts = [0, *edges.tolist(), len(points)]
    return [[int(points[a]), b - a] for a, b in pairwise(cuts) if b > a]
