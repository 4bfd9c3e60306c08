# SPDX-License-Identifier: BSD-3-Clause
"""How long a job may take: from its bytes and the expected bandwidth. Needs no ReFrame."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Start-up, libraries, creating files: all that does not grow with the bytes.
LEAST = 600.0
# A job of a Blue Gene boots its block, which counts (Cobalt: "includes partition boot").
BOOT = 1200.0
# For shared machines: the 2011 document's five repeats differ, and a killed job measured nothing.
MARGIN = 2.0
MAX_TIME = 24 * 3600  # seconds, if the site file does not give the partition's limit


@dataclass(frozen=True)
class Move:
    """Bytes moved once per repeat; `slower`: by a known factor, relative to what is expected."""

    bytes: int
    slower: float = 1.0


# MB/s of one node, and of the slowest file system for many.
OF_A_NODE, OF_MANY = 50.0, 1000.0


def expected_bandwidth(entry: dict[str, Any], of_scale: float, nodes: int = 1) -> float:
    """MB/s: the site's for this file system, else the scale's or what so many nodes have at least,
    but never more than was published for the whole file system."""
    peak = entry.get("published_peak")
    guess = max(of_scale, min(OF_A_NODE * nodes, OF_MANY))
    usual = min(guess, peak["value"]) if peak else guess
    return float(entry.get("expected_bandwidth") or usual)


def time_limit(
    moves: Sequence[Move],
    bandwidth: float,
    repeats: int,
    more: float = 0.0,
    max_time: int = 0,
    blocks: Sequence[int] = (),
) -> int:
    """Seconds, whole minutes. `more`: seconds of each repeat besides moving bytes. `max_time`: the
    partition's limit in seconds, 0 if unknown. `blocks`: the job boots one of these."""
    once = sum(move.bytes * move.slower for move in moves) / (bandwidth * 1e6) + more
    needed = math.ceil((LEAST + BOOT * bool(blocks) + MARGIN * repeats * once) / 60) * 60
    return min(needed, max_time or MAX_TIME)
