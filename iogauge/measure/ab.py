# SPDX-License-Identifier: BSD-3-Clause
"""A and B in turn, and the comparison of the two: `iogauge run --stack A,B --rounds N`.

Each round is a session in which every case runs on A and at once on B, so that both see the same
load. The rounds are the pairs that `compare` asks for; no other session of the store is looked at.
A round in which nothing was measured ends all. Exit status: that of the first round that failed,
else that of `compare`.
"""

from __future__ import annotations

from iogauge.common import paths
from iogauge.measure.session import Child, measure


def compare(child: Child, stacks: list[str], rounds: int, options: list[str]) -> int:
    """Run the rounds, then compare."""
    sessions, status = [], 0
    only = ["-p", f"^({'|'.join(stacks)})$"]
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", flush=True)
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
