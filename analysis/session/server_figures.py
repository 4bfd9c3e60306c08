# SPDX-License-Identifier: BSD-3-Clause
"""Figures of reserved I/O processes (servers) in one repeat.

The kernel computes these figures and writes their medians to the document's `summary`; for a single
repeat the document has only times. They are recomputed here from those times, but only those that
the kernel gave: `durable_bw`, for example, only exists if files were flushed.
tests/test_analysis_server_figures.py compares the medians with the kernel's.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping


def server_figures(values: Mapping[str, float], given: Collection[str]) -> dict[str, float]:
    """The figures of one repeat. `values`: its other numbers, named after their place in the sample
    (`write_seconds`, `queue_busy`). `given`: the figures in the document's summary."""

    def get(name: str) -> float:
        return values.get(name, math.nan)

    seconds = get("write_seconds")
    mib = get("write_bw") * seconds
    # until the application can continue after its last dump; it does not wait for the drain
    visible = seconds - get("write_phase_drain")
    apparent = _over(mib, visible)
    found = {
        "apparent_bw": apparent,
        "apparent_speedup": _over(apparent, get("direct_bw")),
        "overlap": 1 - _over(seconds, get("direct_seconds")),
        "durable_bw": _over(mib, get("queue_busy")),
    }
    kept = {name: value for name, value in found.items() if name in given and math.isfinite(value)}
    return {"apparent_seconds": visible, **kept} if "apparent_bw" in kept else kept


def _over(value: float, other: float) -> float:
    return value / other if other > 0 else math.nan
