# SPDX-License-Identifier: BSD-3-Clause
"""How fast the store is: a million made-up records, ingested and compared.

    python -m tools.bench_store [--records 1000000] [--folder DIR]

The sessions are copies of the recorded one (tests/data) with new names and with values drawn
around its own; ingest and queries are run as a user runs them, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from iogauge.common.paths import ROOT

RECORDED = ROOT / "tests" / "data" / "session"
REPORT = Path("results") / "reports" / "run-report-0.json"
RECORDS_EACH = 1076  # of the recorded session
COPIES = 10  # of its cases in one made-up session: as many as a real suite has
LIMITS = {"ingest": 60.0, "query": 3.0, "memory": 1024.0}  # s, s, MiB

QUERIES: tuple[list[str], ...] = (
    ["compare", "openmpi", "mpich", "--by", "stack"],
    ["compare", "mpiio:collective", "posix", "--by", "method", "--where", "pattern=s3d"],
)


def make_session(folder: Path, number: int, draw: random.Random) -> None:
    """One session below `folder` with COPIES times the recorded cases, as other file systems."""
    report = json.loads((RECORDED / REPORT).read_text())
    info = report["session_info"]
    info["uuid"] = str(uuid.UUID(int=draw.getrandbits(128)))
    info["time_start_unix"] += 3600 * number
    cases = [case for case in report["runs"][0]["testcases"] if not case["fixture"]]
    made = []
    for copy in range(COPIES):
        for case in cases:
            made.append(_case(folder, case, f"{number}-{copy}", f"fs{copy}", draw))
    report["runs"][0]["testcases"] = made
    target = folder / "reports" / f"run-report-{number}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report))


def _case(folder: Path, case: dict[str, Any], name: str, fs: str, draw: random.Random) -> Any:
    """A copy of a test case with its document, whose bandwidths are drawn anew."""
    new = dict(case)
    if case["result"] != "pass":
        return new
    new["fs"] = fs
    new["display_name"] = case["display_name"].replace(f"%fs={case['fs']}", f"%fs={fs}")
    recorded = RECORDED / Path(case["outputdir"]).relative_to("/checkout") / "result.json"
    document = json.loads(recorded.read_text())
    for sample in document["samples"]:
        for direction in ("write", "read"):
            sample[direction]["bandwidth"] *= draw.lognormvariate(0, 0.05)
    target = folder / name / case["environ"] / case["outputdir"].rsplit("/", 1)[1]
    target.mkdir(parents=True, exist_ok=True)
    (target / "result.json").write_text(json.dumps(document))
    new["outputdir"] = new["stagedir"] = str(target)
    new["unique_name"] = f"{case['unique_name']}_{fs}"
    new["perfvalues"] = {}
    return new


def timed(what: list[str], store: Path) -> tuple[float, float]:
    """Seconds of `iogauge WHAT`, and MiB of the largest process so far."""
    command = [sys.executable, "-m", "iogauge", *what, "--store", str(store)]
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main() -> int:
    """Make the sessions, time what is done with them. 1 where a limit is passed."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench_store", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument(
        "--folder", type=Path, default=None, help="where (default: a temporary one)"
    )
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="iogauge-store.", dir=args.folder))
    draw = random.Random(1)
    bad = False
    try:
        sessions = -(-args.records // (RECORDS_EACH * COPIES))
        for number in range(sessions):
            make_session(folder / "output", number, draw)
        todo = [("ingest", ["ingest", "--output", str(folder / "output"), "--json"])]
        todo += [("query", query) for query in QUERIES]
        print(f"{sessions} sessions, {sessions * RECORDS_EACH * COPIES} records")
        for kind, command in todo:
            seconds, memory = timed(command, folder / "store")
            bad |= seconds > LIMITS[kind] or memory > LIMITS["memory"]
            print(f"{seconds:6.1f} s (limit {LIMITS[kind]:.0f})  {memory:5.0f} MiB  {command[0]}")
    finally:
        shutil.rmtree(folder)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
