# SPDX-License-Identifier: BSD-3-Clause
"""Which points of a dimension each process holds, from a program's decomposition map.

PIO's format, which E3SM writes (ParallelIO's PIOc_writemap): a line `version V npes N ndims D`, a
line with the lengths, then for each process a line with its number and its count of points, and a
line with these, counted from 1 through all dimensions; 0 means none. C programs write the lengths
slowest first, Fortran programs fastest first; points are counted in the same order.
"""

import math
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .document import CannotLikeError, Like

Points = NDArray[np.int64]


def take(like: Like, maps: dict[str, str]) -> None:
    """Cut dimensions by maps: `A` or `A,B`, slowest first, and the map's file. If all are grids of
    processes, each dimension is cut by itself; else each map lists the points of its dimensions
    that a process has."""
    found: dict[tuple[str, ...], list[Points]] = {}
    grids: dict[tuple[str, ...], list[list[Points]] | None] = {}
    for words, path in maps.items():
        names = tuple(words.split(","))
        for name in names:
            if name not in like.dimensions:
                have = ", ".join(like.dimensions) or "none"
                raise CannotLikeError(f"--list {words}: no dimension {name}; it has {have}")
        lengths = [like.dimensions[name] for name in names]
        found[names], holes = read(Path(path), names, lengths)
        grids[names] = _grid(found[names], lengths)
        if holes:
            like.notes.append(
                f"{path}: {holes} masked points, each assigned to the owner of the point before it"
            )
    once = [name for names in found for name in names]
    if len(set(once)) == len(once) and all(grids.values()):
        for names, axes in grids.items():
            for name, axis in zip(names, axes or [], strict=True):
                like.lists[name] = [_runs(one) for one in axis]
                # the pattern numbers processes in the order of dimensions
                like.dimensions[name] = like.dimensions.pop(name)
        return
    if len({len(points) for points in found.values()}) > 1:
        each = ", ".join(f"{','.join(names)} of {len(some)}" for names, some in found.items())
        raise CannotLikeError(
            f"--list: maps of one run have as many processes each; these are {each}"
        )
    for names, points in found.items():
        row = like.dimensions[names[-1]]
        _must_fit(like, names, maps[",".join(names)])
        like.maps[names] = [_runs(one, row) for one in points]


def _must_fit(like: Like, names: tuple[str, ...], path: str) -> None:
    """Some variable has these dimensions consecutively, in this order."""
    for one in like.variables:
        for i in range(len(one.dimensions)):
            if tuple(one.dimensions[i : i + len(names)]) == names:
                return
    raise CannotLikeError(
        f"{path}: no variable has {', '.join(names)} one after the other; expected their order in "
        "a variable, as ncdump shows it"
    )


def read(path: Path, names: tuple[str, ...], lengths: list[int]) -> tuple[list[Points], int]:
    """The points of each process, counted from 0 through all dimensions, the last one fastest, and
    how many the map gives to none. `names`, `lengths`: the map's dimensions, slowest first.
    `CannotLikeError` for a file in another form, with other dimensions, or that gives a point to
    several processes."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError:
        raise CannotLikeError(
            f"{path}: not ASCII text; a map in NetCDF or HDF5 is not read, only PIO's text form, "
            "as PIOc_writemap writes it"
        ) from None
    except OSError as problem:
        raise CannotLikeError(f"{path}: cannot be read: {problem}") from None
    try:
        head = lines[0].split()
        if head[0::2][:3] != ["version", "npes", "ndims"]:
            raise ValueError
        processes, ndims = int(head[3]), int(head[5])
        theirs = [int(word) for word in lines[1].split()]
        if len(theirs) != ndims:
            raise ValueError
        if ndims != len(names):
            raise CannotLikeError(
                f"{path}: a map of {ndims} dimensions, found {', '.join(names)}; "
                "name all of them, slowest first: --list A,B=MAP"
            )
        if theirs not in (lengths, lengths[::-1]):
            raise CannotLikeError(
                f"{path}: a map of {'x'.join(map(str, theirs))} points does not fit "
                f"{','.join(names)}, which is {'x'.join(map(str, lengths))}"
            )
        points = [_points(path, lines, i, math.prod(lengths)) for i in range(processes)]
    except (ValueError, IndexError, OverflowError):
        raise CannotLikeError(f"{path}: expected a decomposition map as PIO writes it") from None
    owners = np.full(math.prod(lengths), -1)
    for process, mine in enumerate(points):
        owners[mine] = process
    holes = owners < 0
    several = sum(map(len, points)) - int((~holes).sum())
    if several or holes.all():
        raise CannotLikeError(
            f"{path}: {several} points of {','.join(names)} belong to several processes, "
            f"{int(holes.sum())} to none; expected a map that gives each point to one"
        )
    # PIO writes fill values to what is masked.
    before = np.where(holes, np.argmax(~holes), np.arange(len(holes)))
    owners = owners[np.maximum.accumulate(before)]
    order = np.argsort(owners, kind="stable")
    cuts = np.searchsorted(owners[order], np.arange(1, processes))
    return np.split(order, cuts), int(holes.sum())


def _points(path: Path, lines: list[str], process: int, length: int) -> Points:
    """One process's points, counted from 0, in order."""
    number, count = map(int, lines[2 + 2 * process].split())
    points = np.array(lines[3 + 2 * process].split(), np.int64)
    if number != process or len(points) != count:
        raise ValueError
    points = np.sort(points[points > 0]) - 1
    if len(points) and (points[-1] >= length or (np.diff(points) == 0).any()):
        raise CannotLikeError(f"{path}: process {process} has a point twice, or one above {length}")
    return points


def _grid(points: list[Points], lengths: list[int]) -> list[list[Points]] | None:
    """For each dimension, the points of each of its places, if the map is a grid of processes whose
    last place changes fastest, as the pattern numbers them. None: it is not."""
    if len(lengths) == 1:
        return [points]
    boxes = [[np.unique(one) for one in np.unravel_index(mine, lengths)] for mine in points]
    found: list[list[Points]] = []
    for k in range(len(lengths)):
        places: dict[bytes, Points] = {}
        for box in boxes:
            places.setdefault(box[k].tobytes(), box[k])
        found.append(list(places.values()))
    right = list(product(*found)) if math.prod(map(len, found)) == len(boxes) else []
    for process, box in enumerate(boxes):
        fits = bool(right) and all(map(np.array_equal, box, right[process]))
        if not fits or math.prod(len(one) for one in box) != len(points[process]):
            return None
    return found


def _runs(points: Points, row: int = 0) -> list[list[int]]:
    """First point and count, within rows of a given length."""
    gaps = np.diff(points) != 1
    if row:
        gaps |= points[1:] % row == 0
    edges = np.flatnonzero(gaps) + 1
    cuts = [0, *edges.tolist(), len(points)]
    return [[int(points[a]), b - a] for a, b in pairwise(cuts) if b > a]
