# SPDX-License-Identifier: BSD-3-Clause
"""iokernel beside upstream's programs; and what its recorder and its harness cost.

    IOR=PATH[:PATH] S3D_IO=PATH[:PATH] CGNS_BENCH=PATH[:PATH] python -m tools.bench [PART ...]

Both of a pair run one after the other, with the same words and on fresh files; who goes first
alternates. A ratio is our rate over upstream's: 1.2 is a fifth faster. A program is compared on the
stacks whose MPI library it is linked to; what is not given is left out. Exit status: 1 if a run
failed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from iogauge.measure import kernels
from iogauge.measure.iokernel import Stack
from site_configs import local

from . import harness, recorder, upstream

PAIRS = {"upstream": 7, "recorder": 15, "harness": 5}


def stacks() -> Iterator[Stack]:
    for environ in local.site_configuration["environments"]:
        if reason := kernels.missing(environ["name"]):
            print(reason, file=sys.stderr)
        else:
            yield Stack.of(environ, kernels.build_for_runs(environ))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PAIRS)} (all)")
    parser.add_argument("--pairs", type=int, help=f"of each (default: {PAIRS})")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--size", type=int, default=128, metavar="MIB", help="in all (128)")
    parser.add_argument("--only", default="", help="rows of upstream that hold this text")
    parser.add_argument("--many", type=int, metavar="N",
                        help="harness: peak memory of a session of N cases instead")  # fmt: skip
    options = parser.parse_args(words)
    if unknown := set(options.parts) - set(PAIRS):
        parser.error(f"{unknown.pop()!r} is no part; expected {', '.join(PAIRS)}")
    failed = False
    print(f"load {os.getloadavg()[0]:.2f}")
    for part in options.parts or PAIRS:
        for line in lines(part, options):
            failed |= line.startswith("failed")
            print(line, flush=True)
    return int(failed)


def lines(part: str, options: argparse.Namespace) -> Iterator[str]:
    pairs = options.pairs or PAIRS[part]
    if part == "upstream":
        yield f"{options.processes} processes, {options.size} MiB, {pairs} pairs"
        options.pairs = pairs
        yield from upstream.bench(stacks(), options)
    elif part == "recorder":
        memory = Path(local.ram()["path"])
        memory.mkdir(parents=True, exist_ok=True)
        yield from recorder.bench(stacks(), pairs, memory)
    elif options.many:
        yield from harness.many_cases(options.many)
    else:
        yield from harness.each_case(pairs)


if __name__ == "__main__":
    sys.exit(main())
