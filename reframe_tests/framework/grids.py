# SPDX-License-Identifier: BSD-3-Clause
"""Process grids."""

from __future__ import annotations


def near_cubic(processes: int) -> tuple[int, int, int]:
    """A process grid with edges as equal as the number's divisors allow, the longest first."""
    grids = [
        (x, y, processes // (x * y))
        for x in range(1, processes + 1)
        if processes % x == 0
        for y in range(1, x + 1)
        if (processes // x) % y == 0 and processes // (x * y) <= y
    ]
    return min(grids, key=lambda grid: grid[0] - grid[2])
