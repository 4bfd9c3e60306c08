# SPDX-License-Identifier: BSD-3-Clause
"""What the sizes of all tests have in common. Needs no ReFrame."""

from __future__ import annotations

from dataclasses import dataclass

# The suite that `make run` runs is the quick calls at this scale.
QUICK_SCALE = "laptop"


@dataclass(frozen=True, kw_only=True)
class Scale:
    """`bandwidth`: MB/s (10^6 bytes) that time limits are reckoned with where the site file expects
    nothing of the file system: what a slow one gives a job of this size. `buffer`: iokernel's
    `--buffer` at this size, where a process's data is not meant to be in memory as a whole."""

    bandwidth: float = 50.0
    buffer: str = ""
