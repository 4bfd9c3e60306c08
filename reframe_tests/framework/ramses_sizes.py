# SPDX-License-Identifier: BSD-3-Clause
"""Bytes of a RAMSES dump, by box size and processes, as `iokernel ramses-amr` counts them."""

from collections.abc import Iterator
from functools import cache
from itertools import islice
from math import prod

Box = tuple[tuple[int, int], ...]  # along x, y and z: begin and end


def domains(box: Box, processes: int, axis: int = 0) -> Iterator[Box]:
    """A wall across x halves the processes, then one across y in each half, then z."""
    if processes == 1:
        yield box
        return
    (low, high), few = box[axis], processes // 2
    wall = (2 * (low * (processes - few) + high * few) + processes) // (2 * processes)
    for edges, part in (((low, wall), few), ((wall, high), processes - few)):
        yield from domains((*box[:axis], edges, *box[axis + 1 :]), part, (axis + 1) % 3)


def grids_of(box: Box, level: int, levels: int, processes: int) -> int:
    """One process's grids on a level: those that its domain touches, and one more layer; on the
    finest level 26 of the second layer, or half of it if the box has fewer."""
    edge, size = 2**level, 2 ** (levels - 1 - level)
    if any(low >= high for low, high in box):
        return 0
    spans = [min(edge, -(-high // size) - low // size + 2) for low, high in box]
    if processes == 1:
        spans = [edge] * 3
    layer = prod(spans) // min(spans) if size == 1 and min(spans) < edge else 0
    count: int = prod(spans) + min(26, layer // 2)
    return count


@cache
def grids(size: int, processes: int) -> list[int]:
    """Owned and ghost grids of all processes, by level."""
    levels = size.bit_length() - 1
    edge = 2 ** (levels - 1)
    boxes, times = domains(((0, edge),) * 3, processes), 1
    if processes & (processes - 1) == 0 and processes <= edge**3:  # equal parts
        boxes, times = islice(boxes, 1), processes
    sums = [0] * levels
    for box in boxes:
        for level in range(levels):
            sums[level] += times * grids_of(box, level, levels, processes)
    return sums


def shared_bytes(kind: str, size: int, p: int) -> int:
    """Headers, tables with a row for each process, grids."""
    n = size.bit_length() - 1
    if kind == "amr":
        header = 4 * 14 + 8 * 22 + 4 * 10 * n + 128
        return header + p * (4 * 8 + 3 * 4 * p * n) + 156 * sum(grids(size, p))
    return 4 * 5 + 8 + p * (4 * p * n + 4 * 100 * n) + 320 * sum(grids(size, p))


def own_bytes(kind: str, size: int, p: int) -> int:
    """RAMSES's own files without record marks: each has the header and the grids' indices, and a
    hydro file has level and number of grids before each process's block."""
    n = size.bit_length() - 1
    if kind == "amr":
        nodes: int = 2 ** ((p - 1).bit_length() + 1) - 1  # of the tree of walls
        ints, floats = 14 + 8 + 3 * p * n + 10 * n + 3 * nodes, 20 + 2 * n + nodes + 6 * p
        return p * (4 * ints + 8 * floats + 128) + 160 * sum(grids(size, p))
    return p * (4 * 5 + 8 + 8 * p * n) + 320 * sum(grids(size, p))
