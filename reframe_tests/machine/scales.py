# SPDX-License-Identifier: BSD-3-Clause
"""The common base of all tests' sizes. Needs no ReFrame."""

import re
from dataclasses import dataclass

# `iogauge run` runs the quick calls at this scale.
QUICK_SCALE = "laptop"

# Scales of the documents, but for the smoke runs of their experiments.
OF_DOCUMENTS = re.compile(r"paper.*|example")


@dataclass(frozen=True, kw_only=True)
class Scale:
    """`bandwidth`: MB/s (10^6 bytes) assumed for time limits if the site file gives no expectation:
    what a slow file system gives a job of this size. `buffer`: iokernel's `--buffer` at this size,
    if a process's data is too large to hold in memory. `processes`: that it is defined for, without
    those that a method keeps for itself; None: any. `steps`: dumps."""

    bandwidth: float = 50.0
    buffer: str = ""
    processes: int | None = None
    steps: int = 1


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
