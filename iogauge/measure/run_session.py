# SPDX-License-Identifier: BSD-3-Clause
"""One session: ReFrame, then the store, the page and the first screen of this run; or several, and
an answer from them alone. The exit status is ReFrame's, else the first other one of later steps; 1
if nothing was measured, 2 if nothing was selected, 128 + N after signal N."""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from iogauge.analysis.judge.claims import Claim
from iogauge.common import paths

from . import rounds
from .session import NOTHING_MEASURED, Child, measure, notice

STEPS = (("store", "add", "--quiet"), ("report", "--quiet"), ("summary",))  # after ReFrame


def run(child: Child, words: Sequence[str], output: Path, seconds: float | None = None) -> int:
    """`seconds`: for more rounds; None for none."""
    done = measure(child, words, output)
    status = done.status
    if seconds is not None and not child.signal:
        status = rounds.run(child, words, output, done, seconds) or status
    for step in STEPS if done.report else ():
        shown = child.analysis(*step, str(done.report))
        status = status or shown
    return 128 + child.signal if child.signal else status


def compare(child: Child, stacks: list[str], count: int, options: list[str]) -> int:
    """Each round is a session in which every case runs on A and at once on B, so that both see the
    same load. A round in which nothing was measured ends all."""
    words = [*options, "-p", f"^({'|'.join(stacks)})$"]
    each = [(f"round {number} of {count}", words) for number in range(1, count + 1)]
    return _several(child, each, ["compare", *stacks, "--by", "stack"], needs_all=True)


def judge(
    child: Child, names: list[str], claims: Sequence[Claim], options: list[str], everything: bool
) -> int:
    """A claim that needs more processes than there are cores is left out, which the last lines say;
    with `everything` it runs, but decides nothing. `names`: as given."""
    cores = len(os.sched_getaffinity(0))
    runs: dict[str, list[str]] = {}  # options, and the claims that share them
    for claim in claims:
        for words in claim.run if everything or claim.processes <= cores else ():
            runs.setdefault(words, []).append(claim.id)
    # No claim is about file systems in memory.
    each = [
        (
            f"session {number} of {len(runs)} ({' '.join(who)}): {words}",
            [*options, *shlex.split(words), "--exclude=fs=ram"],
        )
        for number, (words, who) in enumerate(runs.items(), 1)
    ]
    return _several(child, each, ["claims", *names])


def _several(
    child: Child, each: Sequence[tuple[str, list[str]]], then: list[str], *, needs_all: bool = False
) -> int:
    """A session of each of these titles and options; then a command that sees these alone."""
    sessions, status = [], 0
    for title, words in each:
        print(title, flush=True)
        done = measure(child, words, paths.output())
        status = status or done.status
        if child.signal or (needs_all and not done.ran):
            return status
        if done.ran:
            stored = child.analysis("store", "add", str(done.report))
            if stored:
                return status or stored
            sessions.append(done.uuid)
    if not sessions:
        notice(
            "nothing was measured: no claim can be judged; `iogauge doctor` shows what is missing"
        )
        status = status or NOTHING_MEASURED
    answered = child.analysis(*then, "--where", f"session={','.join(sessions)}")
    return status or answered
