# SPDX-License-Identifier: BSD-3-Clause
"""How fast answers are in a store of many years: 5,000 nights of 120 cases, made up.

    python -m tools.bench_nights [--nights 5000] [--store DIR] [--report]

Each night has the recorded session's rows (tests/data), for 120 cases and with values drawn around
its own; one case lost a quarter of its speed after three quarters of the nights. The nights are put
into months' files as `ingest` does, and each command runs as a user runs it.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars

from iogauge.analysis.session.loader import load_session
from iogauge.analysis.store import database as store
from iogauge.analysis.store import files
from iogauge.cli import ingest
from iogauge.common.paths import ROOT
from tools.bench.store import RECORDED, REPORT

CASES = 120
FIRST = datetime(2013, 1, 1, 2)
LIMITS = {"answer": (3.0, 500.0), "report": (30.0, 500.0)}  # seconds, MiB
ANSWERS: tuple[list[str], ...] = (
    ["history", "--where", "stack=mpich", "--where", "fs=fs0"],
    ["history", "--csv"],
    ["compare", "last~1", "last"],
    ["compare", "openmpi", "mpich", "--by", "stack", "--where", "fs=fs0"],
    ["compare", "openmpi", "mpich", "--by", "stack"],
    ["advise", "--pattern", "s3d", "--system", "local"],
    ["learn", "local", "--csv"],
    ["claims", "C1"],
)


def night() -> polars.DataFrame:
    """The rows of one night: the recorded cases on as many file systems as make CASES."""
    frame = ingest.to_frame(load_session(RECORDED / REPORT), Path("/store"))
    frame = frame.filter(polars.col("status") == "ok")
    runs = frame["run"].n_unique()
    copies = []
    for copy in range(-(-CASES // runs)):
        copies.append(
            frame.with_columns(
                polars.lit(f"fs{copy}").alias("fs"),
                polars.concat_str(polars.col("case"), polars.lit(f" %fs=fs{copy}")).alias("case"),
                (polars.col("run") + copy * runs).alias("run"),
            )
        )
    made = polars.concat(copies)
    return made.filter(polars.col("run").is_in(made["run"].unique().sort()[:CASES].implode()))


def make(folder: Path, nights: int) -> int:
    """The store; returns how many rows it has."""
    store.create(folder)
    frame = night()
    draw = np.random.default_rng(1)
    noisy = frame["unit"].is_in(["MiB/s", "s"]).to_numpy()
    one = frame.filter((polars.col("pattern") == "s3d") & (polars.col("method") == "posix"))[
        "run"
    ].min()
    slow = ((frame["run"] == one) & (frame["unit"] == "MiB/s")).to_numpy()
    values = frame["value"].to_numpy()
    for number in range(nights):
        name = str(uuid.UUID(int=number + 1))
        when = FIRST + timedelta(days=number)
        factors = np.where(noisy, draw.lognormal(0, 0.05, len(values)), 1.0)
        factors = np.where(slow & (number >= 0.75 * nights), 0.75 * factors, factors)
        made = frame.with_columns(
            polars.lit(name).alias("session"),
            polars.lit(when).cast(polars.Datetime("us")).alias("started"),
            polars.Series("value", values * factors),
        )
        place = folder / store.RECORDS / "system=local" / f"month={when:%Y-%m}"
        data = io.BytesIO()
        made.write_parquet(data, compression="lz4")
        files.save(folder, place / f"{name}.parquet", data.getvalue())
        if when.day == 1:  # as `ingest` does each time
            store.compact(folder)
    store.compact(folder)
    return nights * frame.height


def measured(words: list[str], folder: Path) -> tuple[float, float, float]:
    """Seconds and CPU seconds of a command, and MiB of its largest process."""
    command = [sys.executable, "-m", "iogauge", *words, "--store", str(folder)]
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise subprocess.CalledProcessError(status, command)
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> int:
    """Make the store, time what is asked of it. 1 where a limit is passed."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench_nights", description=__doc__)
    parser.add_argument("--nights", type=int, default=5000)
    parser.add_argument("--store", type=Path, help="one that was made before, or is to be made")
    parser.add_argument("--report", action="store_true", help="also make the page of a session")
    args = parser.parse_args()
    folder = args.store or Path(tempfile.mkdtemp(prefix="iogauge-nights.")) / "store"
    bad = False
    try:
        if not (folder / store.MARK).exists():
            start = time.perf_counter()
            with ProcessPoolExecutor(1) as other:  # its memory is not that of the answers
                rows = other.submit(make, folder, args.nights).result()
            print(f"{rows} rows of {args.nights} nights in {time.perf_counter() - start:.0f} s")
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        print(f"{size / 2**20:.0f} MiB in {sum(1 for _ in files.places(folder))} files")
        todo = [("answer", words) for words in ANSWERS]
        if args.report:
            page = str(folder.parent / "nights.html")
            todo.append(("report", ["report", str(RECORDED / REPORT), "--html", page]))
        for kind, words in todo:
            seconds, busy, memory = measured(words, folder)
            most = LIMITS[kind]
            bad |= seconds > most[0] or memory > most[1]
            took = f"{seconds:6.1f} s (limit {most[0]:.0f}), {busy:5.1f} s of CPU"
            print(f"{took}  {memory:5.0f} MiB  {' '.join(words)}", flush=True)
    finally:
        if not args.store:
            shutil.rmtree(folder.parent)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
