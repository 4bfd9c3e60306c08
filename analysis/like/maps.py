# SPDX-License-Identifier: BSD-3-Clause
"""Which points of a dimension each process holds, from the decomposition map of a program.

PIO's form, which E3SM writes (ParallelIO's PIOc_writemap): a line `version V npes N ndims D`, a
line of the lengths, then of each process a line with its number and how many points, and a
line of these, counted from 1 through all dimensions; 0 stands for none. C programs write the
lengths slowest first, Fortran programs fastest first; points are counted in the same way."""

from __future__ import annotations

import math
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .document import CannotLikeError, Like, Runs

Points = NDArray[np.int64]


def take(like: Like, maps: dict[str, str]) -> None:
    """Cuts dimensions as maps say: `A` or `A,B`, slowest first, and the map's file."""
    for words, path in maps.items():
        names = words.split(",")
        for name in names:
            if name not in like.dimensions:
                have = ", ".join(like.dimensions) or "none"
                raise CannotLikeError(f"--list {words}: no dimension {name}; it has {have}")
        like.lists |= read(Path(path), names, [like.dimensions[name] for name in names])
        for name in names:  # the pattern numbers processes in the order of dimensions
            like.dimensions[name] = like.dimensions.pop(name)


def read(path: Path, names: list[str], lengths: list[int]) -> dict[str, Runs]:
    """The runs of each dimension's places. `names`, `lengths`: of the dimensions that the map is
    of, slowest first. `CannotLikeError` for a file in another form, of other dimensions, or whose
    processes have no box of places each: all points of one dimension's with all of another's."""
    try:
        lines = path.read_text(encoding="ascii").split("\n")
    except (OSError, UnicodeDecodeError) as problem:
        raise CannotLikeError(f"{path}: cannot be read: {problem}") from None
    head = lines[0].split()
    try:
        if head[0::2][:3] != ["version", "npes", "ndims"]:
            raise ValueError
        processes, ndims = int(head[3]), int(head[5])
        theirs = [int(word) for word in lines[1].split()]
        if len(theirs) != ndims:
            raise ValueError
        if ndims != len(names):
            raise CannotLikeError(
                f"{path}: a map of {ndims} dimensions, and here is {', '.join(names)}; right is to "
                "name all of them, slowest first: --list A,B=MAP"
            )
        if theirs not in (lengths, lengths[::-1]):
            raise CannotLikeError(
                f"{path}: its points are not those of the dimension{'s' if ndims > 1 else ''}: it "
                f"has {'x'.join(map(str, theirs))}, and {','.join(names)} is "
                f"{'x'.join(map(str, lengths))}"
            )
        points = [_points(path, lines, i, math.prod(lengths)) for i in range(processes)]
    except (ValueError, IndexError):
        raise CannotLikeError(f"{path}: expected a decomposition map as PIO writes it") from None
    axes = _axes(path, points, lengths)
    return {name: [_runs(one) for one in axis] for name, axis in zip(names, axes, strict=True)}


def _points(path: Path, lines: list[str], process: int, length: int) -> Points:
    """Those of a process, counted from 0, in order."""
    number, count = map(int, lines[2 + 2 * process].split())
    points = np.array(lines[3 + 2 * process].split(), np.int64)
    if number != process or len(points) != count:
        raise ValueError
    points = np.sort(points[points > 0]) - 1
    if len(points) and (points[-1] >= length or (np.diff(points) == 0).any()):
        raise CannotLikeError(f"{path}: process {process} has a point twice, or one above {length}")
    return points


def _axes(path: Path, points: list[Points], lengths: list[int]) -> list[list[Points]]:
    """Of each dimension, which points each of its places has. Processes are numbered with the last
    dimension's place changing fastest, as the pattern does."""
    if len(lengths) == 1:
        return [points]
    boxes = [[np.unique(one) for one in np.unravel_index(mine, lengths)] for mine in points]
    found: list[list[Points]] = []
    for k in range(len(lengths)):
        places: list[Points] = []
        for box in boxes:
            if not any(np.array_equal(box[k], one) for one in places):
                places.append(box[k])
        found.append(places)
    right = list(product(*(range(len(places)) for places in found)))
    for process, box in enumerate(boxes):
        at = right[process] if process < len(right) else ()
        fits = len(right) == len(boxes) and all(
            np.array_equal(box[k], found[k][place]) for k, place in enumerate(at)
        )
        if not fits or math.prod(len(one) for one in box) != len(points[process]):
            raise CannotLikeError(
                f"{path}: the points of process {process} are no box of a grid of processes, whose "
                "last place changes fastest; right is a map that is one, or of one dimension"
            )
    return found


def _runs(points: Points) -> list[list[int]]:
    edges = np.flatnonzero(np.diff(points) != 1) + 1
    cuts = [0, *edges.tolist(), len(points)]
    return [[int(points[a]), b - a] for a, b in pairwise(cuts) if b > a]
