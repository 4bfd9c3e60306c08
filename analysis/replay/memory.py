# SPDX-License-Identifier: BSD-3-Clause
"""Where in memory a program's data was: no log says it, but the sizes hint at it.

A program that moves pieces of one size repeatedly, such as IOR, does so through one buffer, which
stays in the processor's caches. One that dumps its arrays moves memory that it did not just touch.
Below `LEAST` bytes a call's own cost hides the difference.
"""

from dataclasses import dataclass

import numpy as np

from .trace import Trace

LEAST = 64 << 10  # bytes of a call
CALLS = 32  # of one size, of a process
SHARE = 0.9  # of all bytes


@dataclass(frozen=True)
class Buffer:
    """`word`: what `iokernel replay --buffer` takes."""

    word: str
    why: str


def guess(trace: Trace) -> Buffer:
    """`reused` if `SHARE` of the bytes are in calls of one size of at least `LEAST` bytes, at least
    `CALLS` of each process; else `whole`."""
    moved = alike = 0
    size = 0
    for rows in trace.accesses:
        lengths, calls = np.unique(rows["length"], return_counts=True)
        moved += int((lengths * calls).sum())
        most = int(np.argmax(lengths * calls)) if len(lengths) else 0
        if len(lengths) and lengths[most] >= LEAST and calls[most] >= CALLS:
            alike += int(lengths[most] * calls[most])
            size = int(lengths[most])
    share = f"{100 * alike // max(moved, 1)} % of the bytes are in calls of one size"
    if alike >= SHARE * moved and alike:
        return Buffer("reused", f"inferred: data in one buffer, as {share} ({size} bytes)")
    return Buffer(
        "whole",
        f"inferred: data lies in memory together, as {share} of at least {LEAST} bytes and "
        f"{CALLS} calls of a process",
    )
