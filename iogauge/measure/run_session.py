# SPDX-License-Identifier: BSD-3-Clause
"""One session: ReFrame, then the store, the page and the first screen of this run; or rounds of
two stacks, compared.

The exit status is ReFrame's; if that is 0, the first other one of the later steps; 1 if nothing was
measured, 2 if nothing was selected, 128 + N after signal N.
"""

from collections.abc import Sequence
from pathlib import Path

from iogauge.common import paths
from iogauge.measure import rounds
from iogauge.measure.session import Child, measure

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
    same load. A round in which nothing was measured ends all. Exit status: of the first round that
    failed, else of `compare`, which sees these sessions alone."""
    sessions, status = [], 0
    only = ["-p", f"^({'|'.join(stacks)})$"]
    for number in range(count):
        print(f"round {number + 1} of {count}", flush=True)
        done = measure(child, [*options, *only], paths.output())
        status = status or done.status
        if child.signal or not done.ran:
            return status
        stored = child.analysis("store", "add", str(done.report))
        if stored:
            return status or stored
        sessions.append(done.uuid)
    where = f"session={','.join(sessions)}"
    compared = child.analysis("compare", *stacks, "--by", "stack", "--where", where)
    return status or compared
