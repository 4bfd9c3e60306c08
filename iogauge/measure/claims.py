# SPDX-License-Identifier: BSD-3-Clause
"""Run what the claims of publications need, as far as this machine can, and judge them.

    python -m iogauge.measure.claims [CLAIM...] [--all] -- REFRAME OPTIONS

A claim that needs more processes than the machine has cores is left to a larger machine: the end
says which, why, and with what command. With --all it runs too: its numbers stand beside what was
published, and decide nothing. The claims are judged by the sessions that ran here and now, and by
no other of the store. Exit status: that of the first session that failed, 1 where nothing at all
was measured, else that of `claims`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys

from iogauge.analysis.errors import AnalysisError
from iogauge.analysis.judge.claims import load
from iogauge.common import paths
from iogauge.measure.session import NOTHING_MEASURED, Child, alone, measure, say


def judge(child: Child, claims: list[str], runs: dict[str, list[str]], options: list[str]) -> int:
    """Each of `runs`, a set of options with the claims that share it, once; then the verdicts."""
    sessions, status = [], 0
    for number, (run, who) in enumerate(runs.items(), 1):
        print(f"session {number} of {len(runs)} ({' '.join(who)}): {run}", flush=True)
        # Not on file systems in memory: no claim is about them.
        words = [*options, *shlex.split(run), "--exclude=fs=ram"]
        done = measure(child, words, paths.output())
        status = status or done.status
        if child.signal:
            return status
        if done.ran:
            stored = child.analysis("ingest", str(done.report))
            status = status or stored
            sessions.append(done.uuid)
    if not sessions:
        say("nothing was measured: no claim can be judged")
        status = status or NOTHING_MEASURED
    judged = child.analysis("claims", *claims, "--where", f"session={','.join(sessions)}")
    return status or judged


def main() -> int:
    usage = "python -m iogauge.measure.claims [CLAIM...] [--all] -- REFRAME OPTIONS"
    parser = argparse.ArgumentParser(prog="python -m iogauge.measure.claims", usage=usage)
    parser.add_argument("claims", nargs="*", metavar="CLAIM")
    parser.add_argument("--all", action="store_true", help="where processes must share cores too")
    parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    args, options = parser.parse_args(words[:cut]), words[cut + 1 :]
    try:
        wanted = load(wanted=args.claims)
    except AnalysisError as error:
        parser.error(str(error))
    cores = len(os.sched_getaffinity(0))
    runs: dict[str, list[str]] = {}
    for claim in wanted:
        for run in claim.run if args.all or claim.processes <= cores else ():
            runs.setdefault(run, []).append(claim.id)
    with alone("make claims", args.parent) as child:
        return judge(child, args.claims, runs, options)


if __name__ == "__main__":
    sys.exit(main())
