# SPDX-License-Identifier: BSD-3-Clause
"""How long a large trace takes to plan, and how much memory.

    python -m tools.replay_size [--processes N] [--accesses N] [--most-seconds S] [--most-mib N]

A Darshan log is made up: every process writes its part of one shared file, half of them block by
block, the others at random places of it, which no strided run can hold. Exit status 1: it took more
than it may.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
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


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--processes", type=int, default=4096)
    parser.add_argument("--accesses", type=int, default=10**7, help="of all processes")
    parser.add_argument("--most-seconds", type=float, default=60.0)
    parser.add_argument("--most-mib", type=float, default=1024.0)
    args = parser.parse_args(words)
    native.library()
    with tempfile.TemporaryDirectory(prefix="replay-size-") as folder:
        log, out = Path(folder) / "large.darshan", Path(folder) / "large.schedule"
        each = args.accesses // args.processes
        write_log([process(i, args.processes, each) for i in range(args.processes)], log)
        began = time.monotonic()
        command = [sys.executable, "-m", "iogauge", "replay", "plan", str(log), "-o", str(out)]
        done = subprocess.run(command, cwd=ROOT, check=False)
        seconds = time.monotonic() - began
        mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        if done.returncode:
            return 1
        print(
            f"{each * args.processes} accesses of {args.processes} processes, a log of "
            f"{log.stat().st_size / 2**20:.1f} MiB: planned in {seconds:.1f} s and {mib:.0f} MiB, "
            f"a schedule of {out.stat().st_size / 2**20:.1f} MiB"
        )
    return int(seconds > args.most_seconds or mib > args.most_mib)


if __name__ == "__main__":
    raise SystemExit(main())
