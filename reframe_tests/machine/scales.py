# SPDX-License-Identifier: BSD-3-Clause
"""The common base of all tests' sizes. Needs no ReFrame."""

from __future__ import annotations

from dataclasses import dataclass

# `iogauge run` runs the quick calls at this scale.
QUICK_SCALE = "laptop"


@dataclass(frozen=True, kw_only=True)
class Scale:
    """`bandwidth`: MB/s (10^6 bytes) assumed for time limits if the site file gives no expectation:
    what a slow file system gives a job of this size. `buffer`: iokernel's `--buffer` at this size,
    if a process's data is too large to hold in memory."""

    bandwidth: float = 50.0
    buffer: str = ""
