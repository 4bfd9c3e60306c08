# SPDX-License-Identifier: BSD-3-Clause
"""Run what published claims need, as far as this machine can, and judge them: `iogauge claims
--run`.

A claim that needs more processes than the machine has cores is left to a larger machine: the last
lines say which, why, and with what command. With `everything` it runs too: its numbers are compared
with the published ones, but decide nothing. The claims are judged by the sessions of this call
alone. Exit status: of the first session that failed, 1 if nothing was measured, else the
judgement's.
"""

import os
import shlex
from collections.abc import Sequence

from iogauge.analysis.judge.claims import Claim
from iogauge.common import paths
from iogauge.measure.session import NOTHING_MEASURED, Child, measure, say


def judge(child: Child, claims: list[str], runs: dict[str, list[str]], options: list[str]) -> int:
    """Run each of `runs`, options with the claims that share them, once; then judge."""
    sessions, status = [], 0
    for number, (run, who) in enumerate(runs.items(), 1):
        print(f"session {number} of {len(runs)} ({' '.join(who)}): {run}", flush=True)
        # No claim is about file systems in memory.
        words = [*options, *shlex.split(run), "--exclude=fs=ram"]
        done = measure(child, words, paths.output())
        status = status or done.status
        if child.signal:
            return status
        if done.ran:
            stored = child.analysis("store", "add", str(done.report))
            status = status or stored
            sessions.append(done.uuid)
    if not sessions:
        say("nothing was measured: no claim can be judged; `iogauge doctor` shows what is missing")
        status = status or NOTHING_MEASURED
    judged = child.analysis("claims", *claims, "--where", f"session={','.join(sessions)}")
    return status or judged


def runs_of(claims: Sequence[Claim], everything: bool) -> dict[str, list[str]]:
    """Options of sessions and the claims that share them."""
    cores = len(os.sched_getaffinity(0))
    runs: dict[str, list[str]] = {}
    for claim in claims:
        for run in claim.run if everything or claim.processes <= cores else ():
            runs.setdefault(run, []).append(claim.id)
    return runs
