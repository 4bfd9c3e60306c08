# SPDX-License-Identifier: BSD-3-Clause
"""How long it takes to find who raced among many accesses.

    python -m tools.blame_size [--processes N] [--accesses N] [--races N] [--most-seconds S]

A Darshan log is made up: every process writes its part of one shared file, and some of them write
where another one does. Exit status 1: the races are not those, or it took more than it may.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from iogauge.analysis.darshan.convert import write_log
from iogauge.analysis.darshan.raw import SEGMENT
from iogauge.common.paths import ROOT
from tools.replay_size import BLOCK, process, segments

Access = tuple[int, int, int, int, float]  # process, write, offset, length, start
SECONDS = 1e-4  # of one
_ROW = np.dtype([("offset", "<i8"), ("length", "<i8"), ("start", "<f8"), ("end", "<f8")])


def write_made(log: Path, accesses: Iterable[Access]) -> None:
    """A log of these accesses to one file."""
    of: dict[int, list[Access]] = defaultdict(list)
    for access in accesses:
        of[access[0]].append(access)
    made = []
    for rank in range(max(of) + 1):
        one = process(rank, max(of) + 1, 0)
        packed = [b"", b""]
        for _, write, offset, length, start in of[rank]:
            packed[write] += SEGMENT.pack(offset, length, start, start + SECONDS)
        one.records = [replace(record, segments=(packed[0], packed[1])) for record in one.records]
        made.append(one)
    write_log(made, log)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--processes", type=int, default=64)
    parser.add_argument("--accesses", type=int, default=10**6, help="of all processes")
    parser.add_argument("--races", type=int, default=1000)
    parser.add_argument("--most-seconds", type=float, default=30.0)
    args = parser.parse_args(words)
    chosen = np.random.default_rng(1)
    each = args.accesses // args.processes
    made = [process(rank, args.processes, 0) for rank in range(args.processes)]
    for rank, one in enumerate(made):
        rows = np.frombuffer(segments(rank, each, chosen), _ROW).copy()
        if rank == 0:  # where process 1 writes too, one byte each
            rows["offset"][: args.races] = (each + chosen.permutation(each)[: args.races]) * BLOCK
            rows["length"][: args.races] = 1
        one.records = [replace(record, segments=(b"", rows.tobytes())) for record in one.records]
    with tempfile.TemporaryDirectory(prefix="blame-size-") as folder:
        log = Path(folder) / "large.darshan"
        write_log(made, log)
        began = time.monotonic()
        command = [sys.executable, "-m", "iogauge", "blame", "--json", str(log)]
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        seconds = time.monotonic() - began
    if done.returncode not in (0, 1):
        print(done.stderr, file=sys.stderr)
        return 1
    found = len(json.loads(done.stdout))
    print(
        f"{each * args.processes} accesses of {args.processes} processes: {found} races of "
        f"{args.races} found in {seconds:.1f} s"
    )
    return int(found != args.races or seconds > args.most_seconds)


if __name__ == "__main__":
    raise SystemExit(main())
