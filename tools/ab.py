# SPDX-License-Identifier: BSD-3-Clause
"""A and B in turn, and the comparison of the two: `make ab STACKS="openmpi mpich"`.

    python -m tools.ab A B [--rounds 8] -- REFRAME OPTIONS

Each round is a session in which every case runs on A and at once on B, so that both see the same
load. The rounds are the pairs that `compare` asks for. Exit status: that of the first round that
failed, else that of `compare`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from iogauge import lock, paths
from iogauge.paths import ROOT

OUTPUT = paths.output()


def reframe(options: Sequence[str]) -> int:
    """One session, as a user runs it."""
    command = [str(Path(sys.executable).parent / "reframe"), *options, "-r"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def analysis(*words: str, capture: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "analysis", *words]
    return subprocess.run(
        command, cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE if capture else None
    )


def ingest_last() -> str:
    """Store the last session; returns its name. Raises SystemExit where that does not work."""
    done = analysis("ingest", "--last", "--output", str(OUTPUT), "--json", capture=True)
    if done.returncode:
        raise SystemExit(done.returncode)
    return str(json.loads(done.stdout)[0]["session"])


def main() -> int:
    """Run the rounds, then compare."""
    usage = "python -m tools.ab A B [--rounds 8] -- REFRAME OPTIONS"
    parser = argparse.ArgumentParser(prog="python -m tools.ab", usage=usage)
    parser.add_argument("stacks", nargs=2, metavar="STACK")
    parser.add_argument("--rounds", type=int, default=8)
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    args, options = parser.parse_args(words[:cut]), words[cut + 1 :]
    stacks = "|".join(args.stacks)
    sessions, status = [], 0
    for number in range(args.rounds):
        print(f"round {number + 1} of {args.rounds}", flush=True)
        status = reframe([*options, "-p", f"^({stacks})$"]) or status
        sessions.append(ingest_last())
    where = f"session={','.join(sessions)}"
    return status or analysis("compare", *args.stacks, "--by", "stack", "--where", where).returncode


if __name__ == "__main__":
    with lock.measuring("make ab", lock.both(paths.output())):
        sys.exit(main())
