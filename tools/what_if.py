# SPDX-License-Identifier: BSD-3-Clause
"""What if a traced program wrote through another method? Its replay and each method, in turn.

    python -m tools.what_if LOG --iokernel PROGRAM --dir DIR [--only FOLDER] [--rounds N]
        [--method NAME]... [--hint KEY=VALUE]... [--json FILE]

LOG is what `plan-replay` takes. In each round the replay as logged and every method run once, in a
random order, and every byte is verified. A ratio is that of a method's writing (creating, writing,
flushing and closing) and the replay's in the same round; its range holds the median in at least 95
of 100 uses. Pauses of the program are left out. Exit status 1: something was not verified.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.judge.interval import Interval, of_pairs
from analysis.replay import plan, trace, what_if
from iogauge import json_file
from iogauge.digits import three
from reframe_tests.machine.calls import BY_NAME, Call

LAUNCH = "mpiexec.openmpi --allow-run-as-root --oversubscribe"
LOGGED = "as logged"
USAGE = 2  # exit status of iokernel: the method cannot hold this, or is not here


@dataclass
class Way:
    """`seconds`: of each round. `why`: it was left out, or is wrong."""

    name: str
    words: list[str]
    processes: int
    seconds: dict[int, float] = field(default_factory=dict)
    why: str = ""
    wrong: bool = False


def ways(processes: int, planned: Path, other: Path, steps: int, names: Sequence[str]) -> list[Way]:
    """The replay, then each method that moves data."""
    asked = names or [name for name, call in BY_NAME.items() if call.moves_data]
    found = [Way(LOGGED, ["replay", "--schedule", str(planned), "--think", "0"], processes)]
    for name in asked:
        call: Call = BY_NAME[name]
        words = ["extents", "--extents", str(other), "--steps", str(steps)]
        options = [word for option in call.options for word in option.split()]
        found.append(Way(name, [*words, *options], processes + call.servers))
    return found


def run(way: Way, args: argparse.Namespace, document: Path, flush: bool) -> dict[str, Any] | None:
    """One run; None where it failed, and then `way` says why."""
    more = ["--fsync"] if flush and way.name != LOGGED else []
    more += [word for hint in args.hint for word in ("--hint", hint)]
    command = [
        *shlex.split(args.launch), "-n", str(way.processes), str(args.iokernel), *way.words, *more,
        "--dir", str(args.dir), "--json", str(document),
    ]  # fmt: skip
    os.sync()
    document.unlink(missing_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if "iokernel" in line]
    if done.returncode:
        way.wrong = done.returncode != USAGE
        way.why = said[0] if said else f"exit status {done.returncode}"
        return None
    found: dict[str, Any] = json_file.parse(document.read_text())
    if found["verification"]["verdict"] != "verified":
        way.wrong, way.why = True, f"verification: {found['verification']['verdict']}"
        return None
    return found


def seconds(document: Mapping[str, Any]) -> float:
    return sum(float(sample["write"]["seconds"]) for sample in document["samples"])


def flushes(document: Mapping[str, Any]) -> bool:
    return any(s["write"]["phases"]["flush"]["max"] > 0 for s in document["samples"])


def measure(all_ways: Sequence[Way], args: argparse.Namespace, document: Path) -> None:
    logged, others = all_ways[0], all_ways[1:]
    first = run(logged, args, document, False)
    if first is None:
        return
    flush = flushes(first)
    order = random.Random(args.seed)
    for number in range(args.rounds):
        todo = [way for way in (logged, *others) if not way.why]
        order.shuffle(todo)
        for way in todo:
            found = run(way, args, document, flush)
            if found:
                way.seconds[number] = seconds(found)
        print(f"round {number + 1} of {args.rounds}", file=sys.stderr)


def ratio(logged: Way, way: Way) -> Interval:
    """How many times as fast as the replay."""
    shared = [number for number in logged.seconds if number in way.seconds]
    return of_pairs([(1 / logged.seconds[n], 1 / way.seconds[n]) for n in shared])


def sentence(way: Way, found: Interval) -> str:
    if found.low is None or found.high is None:
        return (
            f"{way.name}: {three(found.value)} times as fast, of too few rounds to say a range "
            f"(right is --rounds {found.needed} or more)"
        )
    span = f"({three(found.low)} to {three(found.high)})"
    if found.low > 1:
        return f"{way.name} would have written your dump {three(found.value)} times as fast {span}"
    if found.high < 1:
        slower = f"({three(1 / found.high)} to {three(1 / found.low)})"
        return (
            f"{way.name} would have taken {three(1 / found.value)} times as long {slower} to write "
            "your dump"
        )
    return f"{way.name}: no difference seen, {three(found.value)} times as fast {span}"


def answer(all_ways: Sequence[Way]) -> list[str]:
    logged, *others = all_ways
    if logged.why:
        return [f"{LOGGED}: {logged.why}"]
    lines = [f"{LOGGED}: {statistics.median(logged.seconds.values()):.4g} s, verified"]
    found = [(ratio(logged, way), way) for way in others if way.seconds and not way.wrong]
    for one, way in sorted(found, key=lambda pair: -pair[0].value):
        lines.append(f"{sentence(way, one)}, verified")
    lines += [f"left out: {way.name}: {way.why}" for way in others if way.why and not way.wrong]
    lines += [f"WRONG: {way.name}: {way.why}" for way in others if way.wrong]
    return lines


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("log", type=Path, help="a Darshan log with DXT, or a folder of raw traces")
    parser.add_argument("--iokernel", type=Path, required=True)
    parser.add_argument("--dir", type=Path, required=True, help="where all of them write")
    parser.add_argument("--only", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--launch", default=LAUNCH, help="(default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--method", action="append", default=[], choices=[
        name for name, call in BY_NAME.items() if call.moves_data], metavar="NAME",
        help="such as hdf5:collective; may be repeated (default: all)")  # fmt: skip
    parser.add_argument("--hint", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seed", type=int, default=1, help="of the order in each round")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all seconds, for other programs")
    args = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="what-if-") as folder:
        planned, other = Path(folder) / "schedule", Path(folder) / "extents"
        made = plan.make(trace.load(args.log, trace.Choice(only=args.only)), planned)
        shapes = what_if.make(made.trace, other)
        for line in (*made.said, *shapes.lines()):
            print(f"  {line}")
        found = ways(made.trace.processes, planned, other, shapes.steps, args.method)
        measure(found, args, Path(folder) / "result.json")
    print(*answer(found), sep="\n")
    if args.json:
        rows = [{"way": way.name, "seconds": way.seconds, "why": way.why} for way in found]
        args.json.write_text(json.dumps(rows, indent=1))
    return int(any(way.wrong or (way.name == LOGGED and way.why) for way in found))


if __name__ == "__main__":
    sys.exit(main())
