# SPDX-License-Identifier: BSD-3-Clause
"""What the harness itself costs: processor time of each case, or memory of a long session.

    python -m tests.harness [--pairs 5] [--many N]

The processor time is ReFrame's alone, without the jobs': the difference of two sessions, of few and
of more cases. Beside it stand the least that a test with a figure can cost here, and what the same
test costs in ReFrame as it is installed, without a site file.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, sanity_function
from reframe.frontend import cli

from iogauge.common.paths import ROOT

FEW, MORE = 3, 43
CPU_AIM, STOCK_AIM = 0.025, 0.3  # seconds of a case, and as a part of stock ReFrame's
MEMORY_AIM, MANY = 2**30, 2000  # bytes of a session of so many cases
# The smallest case of S3D, and the test below.
SMALLEST = [
    *("-c", str(Path(__file__).with_name("smallest_case.py")), "-n", "Smallest"),
    *("-S", "num_tasks=1"),
]
FLOOR = ["-c", __file__]
HERE = ["-C", "site_configs/local.py", "--system", "local", "-p", "mpich", "--exec-policy=serial"]
# A single process without its launcher: the shortest job that is a job.
LAUNCHER = """#!/bin/sh
[ "$2" = 1 ] || exec {} "$@"
shift 2
exec "$@"
"""


@rfm.simple_test
class Floor(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None
    local = True
    executable = "echo"
    executable_opts = ["1"]

    @sanity_function
    def printed(self) -> bool:
        return bool(sn.assert_found("1", self.stdout))

    @performance_function("1")
    def number(self) -> float:
        return float(sn.evaluate(sn.extractsingle(r"(\d)", self.stdout, 1)))


def reframe(file: Path, words: list[str]) -> None:
    """ReFrame's command; then `file` has what its own process took."""
    sys.argv = ["reframe", *words]
    try:
        cli.main()
    finally:
        used = resource.getrusage(resource.RUSAGE_SELF)
        file.write_text(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]))


def session(which: list[str], cases: int, site: list[str] = HERE) -> tuple[float, int]:
    """Seconds of processor time and peak memory of one session; what it leaves is removed."""
    with tempfile.TemporaryDirectory() as folder:
        cost = Path(folder) / "cost.json"
        command = [sys.executable, "-m", "tests.harness", "--reframe", str(cost)]
        command += [*(site or [f"--prefix={folder}"]), *which, f"--repeat={cases}", "-r"]
        env = {key: value for key, value in os.environ.items() if not key.startswith("RFM_")}
        env |= {"IOGAUGE_OUTPUT": folder, "IOGAUGE_STACKS": "mpich"}
        launcher = Path(folder) / "bin" / "mpiexec.mpich"
        launcher.parent.mkdir()
        launcher.write_text(LAUNCHER.format(shutil.which(launcher.name)))
        launcher.chmod(0o755)
        env["PATH"] = f"{launcher.parent}:{env['PATH']}"
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        ran = done.stdout.count("OK\033[0m ]")
        if done.returncode or ran < cases:
            raise SystemExit(f"{ran} of {cases} cases ran: {(done.stdout + done.stderr)[-2000:]}")
        cpu, memory = json.loads(cost.read_text())
        return cpu, memory


def each_case(pairs: int) -> None:
    sides = {
        "a case of S3d null": (SMALLEST, HERE),
        "ReFrame's floor": (FLOOR, HERE),
        "stock ReFrame": (FLOOR, []),
    }
    found: dict[str, list[float]] = {who: [] for who in sides}
    for _ in range(pairs):
        for values, side in zip(found.values(), sides.values(), strict=True):
            few, more = (session(side[0], cases, side[1])[0] for cases in (FEW, MORE))
            values.append(1000 * (more - few) / (MORE - FEW))
    for who, values in found.items():
        spread = f"{min(values):.1f} to {max(values):.1f}"
        print(f"{who:20} {median(values):5.1f} ms of CPU ({spread}, {pairs} pairs)")
    ours, floor, stock = found.values()
    print(f"{median(a / b for a, b in zip(ours, floor, strict=True)):.1f} times the floor")
    part = median(a / b for a, b in zip(ours, stock, strict=True))
    print(f"{part:.2f} of stock ReFrame")
    good = median(ours) <= 1000 * CPU_AIM and part <= STOCK_AIM
    aims = f"{1000 * CPU_AIM:.0f} ms, {STOCK_AIM} of stock ReFrame"
    print(f"aims: {aims}{'' if good else '   ABOVE AN AIM'}")


def many_cases(cases: int) -> None:
    few, many = session(SMALLEST, FEW)[1], session(SMALLEST, cases)[1]
    each = (many - few) / (cases - FEW)
    print(f"{cases} cases: {many / 2**20:.0f} MiB; {FEW}: {few / 2**20:.0f} MiB; "
          f"{each / 2**10:.1f} KiB a case")  # fmt: skip
    good = max(many, few + each * MANY) <= MEMORY_AIM
    print(f"aim: {MEMORY_AIM / 2**20:.0f} MiB for {MANY}{'' if good else '   ABOVE THE AIM'}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.harness")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--many", type=int, metavar="N",
                        help="peak memory of a session of N cases instead")  # fmt: skip
    options = parser.parse_args()
    if options.many:
        many_cases(options.many)
    else:
        each_case(options.pairs)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--reframe"]:
        reframe(Path(sys.argv[2]), sys.argv[3:])
    else:
        main()
