# SPDX-License-Identifier: BSD-3-Clause
"""Run what the claims of publications need, as far as this machine can, and judge them.

    python -m tools.claims [CLAIM...] [--all] -- REFRAME OPTIONS

A claim that needs more processes than the machine has cores is left to a larger machine: the end
says which, why, and with what command. With --all it runs too: its numbers stand beside what was
published, and decide nothing.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys

from analysis.errors import AnalysisError
from analysis.judge.claims import load
from iogauge import lock, paths
from tools.ab import analysis, ingest_last, reframe


def main() -> int:
    """Each set of options once: claims share them."""
    usage = "python -m tools.claims [CLAIM...] [--all] -- REFRAME OPTIONS"
    parser = argparse.ArgumentParser(prog="python -m tools.claims", usage=usage)
    parser.add_argument("claims", nargs="*", metavar="CLAIM")
    parser.add_argument("--all", action="store_true", help="where processes must share cores too")
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    args, options = parser.parse_args(words[:cut]), words[cut + 1 :]
    try:
        wanted = load(wanted=args.claims)
    except AnalysisError as error:
        parser.error(str(error))
    cores = len(os.sched_getaffinity(0))
    can = [claim for claim in wanted if args.all or claim.processes <= cores]
    runs = list(dict.fromkeys(run for claim in can for run in claim.run))
    status = 0
    for number, run in enumerate(runs, 1):
        who = " ".join(claim.id for claim in can if run in claim.run)
        print(f"session {number} of {len(runs)} ({who}): {run}", flush=True)
        # Not on file systems in memory: no claim is about them.
        status = reframe([*options, *shlex.split(run), "--exclude=fs=ram"]) or status
        ingest_last()
    return status or analysis("claims", *args.claims).returncode


if __name__ == "__main__":
    with lock.measuring("make claims", lock.both(paths.output())):
        sys.exit(main())
