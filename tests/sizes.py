# SPDX-License-Identifier: BSD-3-Clause
"""How long it takes to plan the replay of a large trace, or to find who raced in one.

    python -m tests.sizes replay|blame [--processes N] [--accesses N] [--most-seconds S]
                                       [--most-mib N] [--races N]

A Darshan log is made up: every process writes its part of one shared file, half of them block by
block, the others at random places of it, which no strided run can hold. For `blame`, process 0
writes --races times where process 1 does, too. Exit status 1: the answer is wrong, or it took more
than it may.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from iogauge.analysis.darshan import library as native
from iogauge.analysis.darshan.convert import MODULES, short_names, write_log
from iogauge.analysis.darshan.dxt import SEGMENT
from iogauge.analysis.darshan.raw import COMPLETE, RawHeat, RawProcess, RawRecord
from iogauge.common.paths import ROOT

BLOCK = 4096
PATH = "/scratch/made-up/shared.bin"
BINS = 200
LOG, SCHEDULE = "large.darshan", "large.schedule"
WORDS = {
    "replay": ["replay", "plan", LOG, "-o", SCHEDULE],
    "blame": ["blame", "--json", LOG],
}
# Processes and their accesses in all, and the seconds they may take.
DEFAULTS = {"replay": (4096, 10**7), "blame": (64, 10**6)}
MOST_SECONDS = {"replay": 60.0, "blame": 30.0}


def segments(rank: int, accesses: int, chosen: np.random.Generator) -> bytes:
    """A write each millisecond, of half of that."""
    rows = np.empty(accesses, SEGMENT)
    places = np.arange(accesses) if rank % 2 else chosen.permutation(accesses)
    rows["offset"] = (rank * accesses + places) * BLOCK
    rows["length"] = BLOCK
    rows["start"] = np.arange(accesses) * 1e-3
    rows["end"] = rows["start"] + 5e-4
    return rows.tobytes()


def process(rank: int, processes: int, accesses: int) -> RawProcess:
    names = short_names("POSIX")
    times = sum(name.startswith("F_") for name in names)
    counters = [0] * (len(names) - times)
    counters[names.index("OPENS")] = 1
    counters[names.index("WRITES")] = accesses
    counters[names.index("BYTES_WRITTEN")] = accesses * BLOCK
    written = segments(rank, accesses, np.random.default_rng(rank))
    record = RawRecord(7, "POSIX", PATH, counters, [0.0] * times, {}, {}, (b"", written))
    heat = {
        module: RawHeat(90 + i, 0.1, ([0] * BINS, [0] * BINS)) for i, module in enumerate(MODULES)
    }
    return RawProcess(
        rank, processes, 1, 0, 10**18, 60.0, COMPLETE, "made-up", "made-up", "made-up", heat,
        [record],
    )  # fmt: skip


def with_races(process: RawProcess, each: int, races: int) -> None:
    """Process 0, which also writes a byte of some blocks of process 1."""
    for i, record in enumerate(process.records):
        rows = np.frombuffer(record.segments[1], SEGMENT).copy()
        chosen = np.random.default_rng(1).permutation(each)[:races]
        rows["offset"][:races] = (each + chosen) * BLOCK
        rows["length"][:races] = 1
        process.records[i] = replace(record, segments=(b"", rows.tobytes()))


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sizes")
    parser.add_argument("what", choices=WORDS)
    parser.add_argument("--processes", type=int)
    parser.add_argument("--accesses", type=int, help="of all processes")
    parser.add_argument("--races", type=int, default=1000, help="of blame")
    parser.add_argument("--most-seconds", type=float)
    parser.add_argument("--most-mib", type=float, default=1024.0)
    args = parser.parse_args(words)
    processes = args.processes or DEFAULTS[args.what][0]
    accesses = args.accesses or DEFAULTS[args.what][1]
    most_seconds = args.most_seconds or MOST_SECONDS[args.what]
    each = accesses // processes
    native.library()
    with tempfile.TemporaryDirectory(prefix="iogauge-size-") as name:
        folder = Path(name)
        made = [process(i, processes, each) for i in range(processes)]
        if args.what == "blame":
            with_races(made[0], each, args.races)
        write_log(made, folder / LOG)
        del made
        command = [sys.executable, "-m", "iogauge", *WORDS[args.what]]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        began = time.monotonic()
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        seconds = time.monotonic() - began
    mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    said = f"{each * processes} accesses of {processes} processes: {seconds:.1f} s, {mib:.0f} MiB"
    if done.returncode not in (0, 1):
        print(done.stderr, file=sys.stderr)
        return 1
    wrong = done.returncode
    if args.what == "blame":
        found = len(json.loads(done.stdout))
        said += f", {found} races of {args.races}"
        wrong = found != args.races
    print(said)
    return int(wrong or seconds > most_seconds or mib > args.most_mib)


if __name__ == "__main__":
    raise SystemExit(main())
