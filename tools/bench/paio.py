# SPDX-License-Identifier: BSD-3-Clause
"""Measures PAIO's aims: data sent to I/O processes, against the same data written directly.

    python -m tools.bench_paio [--stack NAME] [--repeats N] [--dir FOLDER] [--grid NXxNYxNZ]

Each case is one run of iokernel, which writes directly between its repeats: each ratio compares
neighbours in time. With fsync, on a disk. One process computes and one or more are servers, as in
the document.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iogauge.measure import programs
from iogauge.measure.programs import Stack
from site_configs import local
from tools.bench import machine as bench_machine

SPEEDUP_AIM, OVERLAP_AIM = 2.5, 0.9
SECONDS = 900
ARRAYS = 4
MIB = 2**20


@dataclass(frozen=True)
class Case:
    """`room`: the queue's limit over the data of a dump. `hidden`: computing after the dump, over
    the time of writing directly. `figure`, `aim`: what is judged; None: only shown."""

    label: str
    servers: int
    send: str
    room: float
    hidden: float = 0
    figure: str = "apparent_speedup"
    aim: float | None = None


CASES = (
    Case("room, zero-copy", 1, "zero-copy", 1.25, aim=SPEEDUP_AIM),
    Case("room, copy", 1, "copy", 1.25),
    Case("a quarter of the room", 1, "zero-copy", 0.25),
    Case("room, 2 servers", 2, "zero-copy", 1.25),
    Case("room, computing", 1, "zero-copy", 1.25, 3, "overlap", OVERLAP_AIM),
)


class RunFailed(Exception):
    """iokernel failed; the text is its error."""


def data_bytes(grid: str) -> int:
    x, y, z = (int(word) for word in grid.split("x"))
    return x * y * z * 4 * ARRAYS


def ratios(document: dict[str, Any], figure: str) -> list[float]:
    """Of each repeat: the figure as docs/iokernel.md defines it."""
    found = []
    for sample in document["samples"]:
        direct, phases = sample["direct"]["seconds"], sample["write"]["phases"]
        visible = sample["write"]["seconds"]
        apparent = visible - phases["drain"]["max"]
        found.append(direct / apparent if figure == "apparent_speedup" else 1 - visible / direct)
    return found


def measure(
    stack: Stack, program: Path, case: Case, options: argparse.Namespace, compute: float
) -> dict[str, Any]:
    """The result document of one run, on fresh files."""
    with tempfile.TemporaryDirectory(prefix="iogauge-bench-", dir=options.dir) as name:
        folder = Path(name)
        limit = int(data_bytes(options.grid) / case.servers * case.room)
        words = ["weather", "--grid", options.grid, "--arrays", str(ARRAYS), "--fsync"]
        words += ["--method", "ioserver", "--io-processes", str(case.servers), "--send", case.send]
        words += ["--queue-limit", str(limit), "--repeat", str(options.repeats), "--write-only"]
        words += ["--compute-seconds", f"{compute:.3f}"] if compute else []
        words += ["--dir", name, "--json", str(folder / "result.json")]
        command = stack.launch(1 + case.servers, [str(program), *words])
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        if done.returncode:
            raise RunFailed(f"status {done.returncode}: {done.stderr.strip() or command}")
        document: dict[str, Any] = json.loads((folder / "result.json").read_text())
        return document


def verdict(case: Case, values: list[float]) -> str:
    if case.aim is None:
        return "-"
    reached = statistics.median(values) >= case.aim
    return f"{'reached' if reached else 'NOT REACHED'} (aim {case.aim})"


def bench(stack: Stack, program: Path, options: argparse.Namespace) -> bool:
    """Prints a row for each case; whether all aims were reached."""
    direct_seconds, good = 0.0, True
    for case in CASES:
        if 1 + case.servers > stack.most:
            print(f"{stack.name:8} {case.label:22} at most {stack.most} processes: {stack.why}")
            continue
        document = measure(stack, program, case, options, case.hidden * direct_seconds)
        summary, values = document["summary"], ratios(document, case.figure)
        direct_seconds = document["payload"]["bytes"] / MIB / summary["direct_bw"]
        judged = verdict(case, values)
        good &= "NOT" not in judged
        print(
            f"{stack.name:8} {case.label:22} {summary['apparent_bw']:9.0f}"
            f" {summary['direct_bw']:9.0f} {summary['durable_bw']:9.0f}"
            f" {summary['blocked_time']:8.3f} {summary['drain_time']:8.3f}"
            f" {case.figure:16} {statistics.median(values):6.2f}"
            f" ({min(values):.2f} to {max(values):.2f})  {judged}",
            flush=True,
        )
    return good


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench_paio", description=__doc__)
    parser.add_argument("--stack", help="one stack only")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--grid", default="720x360x70", help=f"of each of {ARRAYS} float32 arrays")
    parser.add_argument("--dir", type=Path, default=Path(local.disk()["path"]))
    options = parser.parse_args(argv)
    options.dir.mkdir(parents=True, exist_ok=True)
    print(f"{'load before':12}: {bench_machine.load()}")
    print(
        f"{'data':12}: {data_bytes(options.grid) / MIB:.0f} MiB a dump, in {options.dir}; MiB/s, s"
    )
    print(
        f"{'stack':8} {'case':22} {'apparent':>9} {'direct':>9} {'durable':>9} {'blocked':>8}"
        f" {'drain':>8} {'figure':16} median (range of {options.repeats} repeats)"
    )
    good = True
    for environ in local.site_configuration["environments"]:
        stack = Stack.of(environ)
        if options.stack not in (None, stack.name):
            continue
        if stack.lacking():
            print(f"stack {stack.name}: {stack.lacking()} is missing, so it is not benched")
            continue
        try:
            program = programs.build(stack) / "iokernel"
            good &= bench(stack, program, options)
        except (RunFailed, programs.CannotBuild, subprocess.TimeoutExpired) as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    return 0 if good else 3


if __name__ == "__main__":
    sys.exit(main())
