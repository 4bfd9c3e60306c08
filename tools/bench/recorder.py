# SPDX-License-Identifier: BSD-3-Clause
"""What recording costs: the share that the embedded recorder takes of the time of writing.

    python -m tools.bench.recorder [--pairs N] [--dir FOLDER]

The same writes of one process with it and without, one after the other; the ratio is of interest,
and not the times. On a file system in memory, where a share is largest.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from iogauge.analysis.statistics.interval import of_pairs
from iogauge.measure import iokernel, kernels
from iogauge.measure.iokernel import Stack
from site_configs import local

# Bytes of a call and in all, and the share that recording may cost.
CASES = ((2**20, 256 * 2**20, 0.03), (4096, 64 * 2**20, 0.05))


class Failed(Exception):
    """A run did not do what is measured; the text says how."""


def write_seconds(stack: Stack, call: int, size: int, place: Path, traced: bool) -> float:
    """The fastest of five repeats in one run."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        words = ["ior", "-t", str(call), "-b", str(size), "--method", "posix-shared"]
        words += ["--dir", folder, "--repeat", "5", "--write-only"]
        prefix = stack.recorded(Path(folder), Path(folder)) if traced else []
        document = Path(folder) / "result.json"
        done = iokernel.run(stack, 1, words, prefix=prefix, document=document)
        if done.status or not done.document:
            raise Failed(done.why)
        if traced and not list(Path(folder).glob("*.trace")):
            raise Failed(f"{stack.recorder} recorded nothing")
    return min(float(s["write"]["phases"]["write"]["max"]) for s in done.document["samples"])


def overhead(stack: Stack, pairs: int, place: Path) -> bool:
    """Prints a line for each case; whether all are within their aim."""
    good = True
    for call, size, most in CASES:
        found = []
        for pair in range(pairs):
            order = (True, False) if pair % 2 else (False, True)
            both = {traced: write_seconds(stack, call, size, place, traced) for traced in order}
            found.append((both[False], both[True]))
        share = of_pairs(found)
        each = median(b - a for a, b in found) / (size // call) * 1e9
        ends = "too few pairs"
        if share.low is not None and share.high is not None:
            ends = f"{100 * (share.low - 1):+.1f} to {100 * (share.high - 1):+.1f}"
        above = share.value - 1 >= most
        good &= not above
        print(
            f"{stack.name:8} {call:8} bytes: {100 * (share.value - 1):+.1f} % of the write time "
            f"({ends}, {pairs} pairs; {each:+.0f} ns a call); aim: below {100 * most:.0f} %"
            f"{'   ABOVE THE AIM' if above else ''}",
            flush=True,
        )
    return good


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.recorder", description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--dir", type=Path, default=Path("/dev/shm"))
    args = parser.parse_args(words)
    status = 0
    for environ in local.site_configuration["environments"]:
        if reason := kernels.missing(environ["name"]):
            print(reason)
            continue
        try:
            stack = Stack.of(environ, kernels.build_for_runs(environ))
            status |= not overhead(stack, args.pairs, args.dir)
        except (kernels.CannotBuild, Failed) as error:
            print(f"{environ['name']}: failed: {error}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
