# SPDX-License-Identifier: BSD-3-Clause
"""How much of the machine other programs take, so that disturbed pairs can be measured again.

The choice looks at processor time only, never at a result, so it favours neither side."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

LOOK_SECONDS = 0.25


@dataclass(frozen=True)
class Clock:
    """Processor seconds at one moment: of the whole machine, and of the children waited for."""

    at: float
    machine: float
    children: float

    @classmethod
    def now(cls) -> Clock:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(time.monotonic(), busy_seconds(_stat()), used.ru_utime + used.ru_stime)


def _stat() -> str:
    try:
        return Path("/proc/stat").read_text()
    except OSError:
        return ""


def busy_seconds(stat: str) -> float:
    """All processors' busy time since the start of the machine. `stat`: the text of /proc/stat;
    0 where there is none: then nothing ever looks disturbed."""
    for line in stat.splitlines():
        words = line.split()
        if words[0] == "cpu":
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, words[1:9])
            ticks = user + nice + system + irq + softirq + steal
            return ticks / float(os.sysconf("SC_CLK_TCK"))
    return 0.0


def others_share(before: Clock, after: Clock, cores: int) -> float:
    """The share of the machine, 0..1, that others used between the two moments."""
    elapsed = after.at - before.at
    others = (after.machine - before.machine) - (after.children - before.children)
    return max(0.0, others / (elapsed * cores)) if elapsed > 0 else 0.0


def wait_for_quiet(cores: int, share: float, seconds: float) -> None:
    """Return when others use less than `share` of the machine, or after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        before = Clock.now()
        time.sleep(LOOK_SECONDS)
        now = Clock.now()
        if others_share(before, now, cores) < share or now.at > end:
            return
