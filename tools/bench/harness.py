# SPDX-License-Identifier: BSD-3-Clause
"""What the harness itself costs: processor time of each case, and memory of a long session.

The processor time is that of ReFrame's own process, without the jobs': the difference of two
sessions of few and of more cases. Beside it ReFrame's own floor, a test that prints one figure.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from iogauge.common.paths import ROOT

FEW, MORE = 3, 43
CPU_AIM = 0.030  # seconds of a case
MEMORY_AIM, MANY = 2**30, 2000  # bytes of a session of so many cases
HERE = Path(__file__).parent
# ReFrame's own floor, and the smallest case of S3D.
FLOOR = ["-c", str(HERE / "floor")]
SMALLEST = ["-c", str(ROOT / "reframe_tests" / "benchmarks" / "s3d.py"), "-n", "S3d.*call=null%"]
SMALLEST += ["-t", "smoke", "-t", "ram", "-S", "num_tasks=1"]


def reframe(file: Path, words: list[str]) -> None:
    """ReFrame's command; then `file` has what its own process took."""
    from reframe.frontend import cli

    sys.argv = ["reframe", *words]
    try:
        cli.main()
    finally:
        used = resource.getrusage(resource.RUSAGE_SELF)
        # Not getrusage's memory, which begins with that of the process that started this one.
        peak = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
        memory = int(peak[1]) * 1024 if peak else 0
        file.write_text(json.dumps([used.ru_utime + used.ru_stime, memory]))


def session(which: list[str], cases: int) -> tuple[float, int]:
    """Seconds of processor time and peak memory of one session; what it leaves is removed."""
    with tempfile.TemporaryDirectory() as folder:
        cost = Path(folder) / "cost.json"
        words = [str(cost), "-C", str(HERE / "alone_site.py")]
        words += ["--system", "local", *which, "-p", "mpich"]
        words += ["--exec-policy=serial", f"--repeat={cases}", "-r"]
        env = {key: value for key, value in os.environ.items() if not key.startswith("RFM_")}
        env |= {"IOGAUGE_OUTPUT": folder, "IOGAUGE_STACKS": "mpich"}
        command = [sys.executable, "-m", "tools.bench.harness", *words]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        ran = done.stdout.count("OK\033[0m ]")
        if done.returncode or ran < cases:
            raise SystemExit(f"{ran} of {cases} cases ran: {(done.stdout + done.stderr)[-2000:]}")
        cpu, memory = json.loads(cost.read_text())
        return cpu, memory


def of_a_case(which: list[str]) -> float:
    few, more = (session(which, cases)[0] for cases in (FEW, MORE))
    return (more - few) / (MORE - FEW)


def each_case(pairs: int) -> Iterator[str]:
    """What a case takes, and the floor beside it."""
    found: dict[str, list[float]] = {"a case of S3d null": [], "ReFrame's floor": []}
    for _ in range(pairs):
        for who, which in zip(found, (SMALLEST, FLOOR), strict=True):
            found[who].append(of_a_case(which))
    for who, values in found.items():
        spread = f"{1000 * min(values):.1f} to {1000 * max(values):.1f}"
        yield (f"{who:20} {1000 * median(values):5.1f} ms of CPU ({spread}, {pairs} pairs)")
    good = median(found["a case of S3d null"]) <= CPU_AIM
    yield f"aim: {1000 * CPU_AIM:.0f} ms{'' if good else '   ABOVE THE AIM'}"


def many_cases(cases: int) -> Iterator[str]:
    """The memory of a long session."""
    few, many = session(SMALLEST, FEW)[1], session(SMALLEST, cases)[1]
    each = (many - few) / (cases - FEW)
    yield (f"{cases} cases: {many / 2**20:.0f} MiB; {FEW}: {few / 2**20:.0f} MiB; "
          f"{each / 2**10:.1f} KiB a case")  # fmt: skip
    good = max(many, few + each * MANY) <= MEMORY_AIM
    yield f"aim: {MEMORY_AIM / 2**20:.0f} MiB for {MANY}{'' if good else '   ABOVE THE AIM'}"


if __name__ == "__main__":
    reframe(Path(sys.argv[1]), sys.argv[2:])
