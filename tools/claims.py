"""Run what the claims of publications need, as far as this machine can, and judge them.

    python -m tools.claims [CLAIM...] -- REFRAME OPTIONS

A claim whose tests do not exist here, or that needs more processes than the machine has cores for,
is left to a larger machine: the end says which, why, and with what command.
"""

from __future__ import annotations

import os
import shlex
import sys

from analysis.claims import load
from tools.ab import analysis, ingest_last, reframe

PROCESSES_PER_CORE = 1  # more of them measure the kernel's scheduler


def main() -> int:
    """Each set of options once: claims share them."""
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    wanted, options = words[:cut], words[cut + 1 :]
    cores = len(os.sched_getaffinity(0))
    seen: set[str] = set()
    status = 0
    for claim in load(wanted=wanted):
        if claim.run in seen or claim.needs["processes"] > cores * PROCESSES_PER_CORE:
            continue
        seen.add(claim.run)
        print(f"{claim.id}: {claim.run}", flush=True)
        # Not on file systems in memory: no claim is about them.
        done = reframe([*options, *shlex.split(claim.run, comments=True), "--exclude=fs=ram"])
        status = status or done
        ingest_last()
    return status or analysis("claims", *wanted).returncode


if __name__ == "__main__":
    sys.exit(main())
