# SPDX-License-Identifier: BSD-3-Clause
"""What the harness itself costs: processor time of each case, and memory of a long session.

    python -m tools.bench.harness [--pairs N] [--call NAME] [--many N]

The processor time is that of ReFrame's own process, without the jobs': the difference of two
sessions of few and of more cases. Beside it ReFrame's own floor, a test that prints one figure.
`--many`: one session of so many cases instead, and the most memory that it had.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from iogauge.common.paths import ROOT
from tools.bench import machine as bench_machine

FEW, MORE = 3, 43
CPU_AIM = 0.030  # seconds of a case
MEMORY_AIM = 2**30  # of a session of MANY cases
MANY = 2000
HERE = Path(__file__).parent
FLOOR = ["-c", str(HERE / "floor")]


class Failed(Exception):
    """A session did not end well; the text says how."""


@dataclass(frozen=True)
class Cost:
    """Of one session: seconds, bytes."""

    cpu: float
    memory: int


def harness(call: str) -> list[str]:
    """The smallest case of S3D, by a call."""
    tests = ROOT / "reframe_tests" / "benchmarks" / "s3d.py"
    name = f"S3d.*call={call}%"
    return ["-c", str(tests), "-n", name, "-t", "smoke", "-t", "ram", "-S", "num_tasks=1"]


def session(which: list[str], cases: int, folder: Path, profile: Path | None = None) -> Cost:
    """One session of so many cases; what it leaves is removed."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        cost = Path(name) / "cost.json"
        words = [sys.executable, "-m", "tools.bench.own_cost", str(cost)]
        words += ["-C", str(HERE / "alone_site.py"), "--system", "local", *which]
        words += ["-p", "mpich", "--exec-policy=serial", f"--repeat={cases}", "-r"]
        kept = {key: value for key, value in os.environ.items() if not key.startswith("RFM_")}
        kept |= {"IOGAUGE_OUTPUT": name, "IOGAUGE_STACKS": "mpich"}
        if profile:
            kept["IOGAUGE_PROFILE"] = str(profile)
        done = subprocess.run(words, cwd=ROOT, env=kept, capture_output=True, text=True)
        ran = done.stdout.count("OK\033[0m ]")
        if done.returncode or ran < cases:
            raise Failed(f"{ran} of {cases} cases ran: {(done.stdout + done.stderr)[-2000:]}")
        return Cost(**json.loads(cost.read_text()))


def of_a_case(which: list[str], folder: Path) -> float:
    """Seconds of processor time."""
    few, more = (session(which, cases, folder).cpu for cases in (FEW, MORE))
    return (more - few) / (MORE - FEW)


def each_case(call: str, pairs: int, folder: Path) -> bool:
    """Prints what a case takes, and the floor beside it; whether that is within the aim."""
    ours, floor = [], []
    for _ in range(pairs):
        ours.append(of_a_case(harness(call), folder))
        floor.append(of_a_case(FLOOR, folder))
    for who, found in ((f"a case of S3d {call}", ours), ("ReFrame's floor", floor)):
        spread = f"{1000 * min(found):.1f} .. {1000 * max(found):.1f}"
        print(f"  {who:24} {1000 * median(found):5.1f} ms of CPU ({spread}, {pairs} pairs)")
    good = median(ours) <= CPU_AIM
    print(f"  aim: {1000 * CPU_AIM:.0f} ms{'' if good else '   ABOVE THE AIM'}")
    return good


def many_cases(call: str, cases: int, folder: Path) -> bool:
    """Prints the memory of a long session, and of a short one; whether that is within the aim."""
    few = session(harness(call), FEW, folder)
    many = session(harness(call), cases, folder)
    each = (many.memory - few.memory) / (cases - FEW)
    print(
        f"  {cases} cases of S3d {call} in one session: {many.memory / 2**20:.0f} MiB at most, "
        f"{few.memory / 2**20:.0f} MiB with {FEW}; {each / 2**10:.1f} KiB a case; "
        f"{1000 * (many.cpu - few.cpu) / (cases - FEW):.1f} ms of CPU a case"
    )
    good = max(many.memory, few.memory + each * MANY) <= MEMORY_AIM
    print(f"  aim: {MEMORY_AIM / 2**20:.0f} MiB for {MANY}{'' if good else '   ABOVE THE AIM'}")
    return good


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.harness", description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--call", default="null", help="as a test's name has it (null)")
    parser.add_argument("--many", type=int, metavar="N", help=f"memory of N cases, say {MANY}")
    parser.add_argument("--profile", type=Path, metavar="FILE", help="of one session, for pstats")
    args = parser.parse_args(words)
    print(f"\nThe harness itself; load {bench_machine.load()}")
    with tempfile.TemporaryDirectory() as name:
        try:
            if args.profile:
                session(harness(args.call), args.many or MORE, Path(name), args.profile.absolute())
                return 0
            if args.many:
                return 0 if many_cases(args.call, args.many, Path(name)) else 1
            return 0 if each_case(args.call, args.pairs, Path(name)) else 1
        except Failed as problem:
            print(f"  failed: {problem}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    raise SystemExit(main())
