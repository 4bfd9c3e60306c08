# SPDX-License-Identifier: BSD-3-Clause
"""A and B in turn, and the comparison of the two: `make ab STACKS="openmpi mpich"`.

    python -m iogauge.measure.ab A B [--rounds 8] -- REFRAME OPTIONS

Each round is a session in which every case runs on A and at once on B, so that both see the same
load. The rounds are the pairs that `compare` asks for; no other session of the store is looked at.
A round in which nothing was measured ends all. Exit status: that of the first round that failed,
else that of `compare`.
"""

from __future__ import annotations

import argparse
import sys

from reframe.core.exceptions import ConfigError

from iogauge.common import paths
from iogauge.measure.session import Child, alone, measure
from site_configs.support import chosen


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
        stored = child.analysis("ingest", str(done.report))
        if stored:
            return status or stored
        sessions.append(done.uuid)
    where = f"session={','.join(sessions)}"
    compared = child.analysis("compare", *stacks, "--by", "stack", "--where", where)
    return status or compared


def main() -> int:
    usage = "python -m iogauge.measure.ab A B [--rounds 8] -- REFRAME OPTIONS"
    parser = argparse.ArgumentParser(prog="python -m iogauge.measure.ab", usage=usage)
    parser.add_argument("stacks", nargs=2, metavar="STACK")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    args, options = parser.parse_args(words[:cut]), words[cut + 1 :]
    if args.rounds < 1:
        parser.error("--rounds: at least 1")
    try:  # a wheel is called otherwise in results
        stacks = [str(chosen.stack(stack)["name"]) for stack in args.stacks]
    except ConfigError as error:
        parser.error(str(error))
    with alone("make ab", args.parent) as child:
        return compare(child, stacks, args.rounds, options)


if __name__ == "__main__":
    sys.exit(main())
