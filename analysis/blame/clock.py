# SPDX-License-Identifier: BSD-3-Clause
"""One clock for several nodes: no process leaves a barrier before the last has arrived."""

import numpy as np

from ..darshan.raw import MEET
from .accesses import Traced


def share(traced: Traced) -> None:
    """Move all nodes' times to process 0's clock, as bounded by barriers of all processes, and say
    how certain that is. Drift between two barriers is not seen."""
    hosts = sorted(set(traced.hosts), key=traced.hosts.index)
    if traced.events is None or len(hosts) < 2:
        return
    meets = [some[(some["kind"] == MEET) & (some["a"] == 0)] for some in traced.events]
    count = min(len(some) for some in meets)
    if not count:
        traced.unsure = None
        traced.notes.append("no barrier of all processes: the nodes' clocks are not aligned")
        return
    start = np.array([some["start"][:count] for some in meets])
    end = np.array([some["end"][:count] for some in meets])
    of = np.array([hosts.index(host) for host in traced.hosts])
    unsure = 0.0
    for i, host in enumerate(hosts[1:], 1):
        # The range of the other node's clock offset.
        high = (end[of == i].min(axis=0) - start[of == 0].max(axis=0)).min()
        low = (start[of == i].max(axis=0) - end[of == 0].min(axis=0)).max()
        later, width = (low + high) / 2, abs(high - low) / 2
        unsure = max(unsure, width)
        mine = of[traced.accesses["process"]] == i
        for name in ("start", "end"):
            traced.accesses[name][mine] -= later
            for rank in np.flatnonzero(of == i):
                traced.events[rank][name] -= later
        traced.notes.append(
            f"the clock of {host} is {later:+.6f} s from the clock of {hosts[0]}, within "
            f"{width:.6f} s by {count} barriers of all processes"
        )
    traced.unsure = unsure
