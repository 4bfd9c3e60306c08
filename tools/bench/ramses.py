# SPDX-License-Identifier: BSD-3-Clause
"""What a RAMSES dump costs before it is written: planning it for a large machine, and its values.

    python -m tools.bench_ramses [--size N] [--processes N] [--repeats N]

Aims: a plan of 2048^3 cells on 16384 processes takes less than 2 s and 500 MB; making the values of
a dump takes no more than 10 % of writing it to memory, with a reused buffer, as the patterns have
it (and RAMSES's own code). A whole dump in memory is shown beside it: making that is bound by the
memory. Each ratio is of one repeat, so that both halves met the same machine; shown are their
median, least and most. The result documents have both (`fill_seconds`, and `seconds` of `write`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from iogauge.measure import programs
from iogauge.measure.programs import Stack
from site_configs import local
from site_configs.support import common
from tools.bench import machine as bench_machine

PATTERNS = ("ramses-amr", "ramses-hydro")
METHODS = ("posix", "posix-shared", "mpiio")
BUFFERS = ("reused", "whole")
VALUES = ("hash", "physical")  # the aim is of the first of both
PLAN = ("--size", "2048", "--procs", "16384", "--plan")
PLAN_SECONDS, PLAN_BYTES, FILL_AIM = 2.0, 500e6, 0.10


class RunFailed(Exception):
    """A benched run failed; the text says how."""


def run(words: list[str], environment: dict[str, str]) -> str:
    """stdout of a run that must go well."""
    done = subprocess.run(
        words, capture_output=True, text=True, env={**os.environ, **environment}, timeout=600
    )
    if done.returncode:
        raise RunFailed(f"status {done.returncode}: {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def cost(words: list[str]) -> tuple[float, int]:
    """Seconds and the largest resident set, in bytes, of a program without output. Python's own
    counts too, since the program starts from it: a bound for what is smaller."""
    began = time.monotonic()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RunFailed(f"status {child.returncode}: {' '.join(words)}")
    return time.monotonic() - began, usage.ru_maxrss * 1024


def bench_plans(stack: Stack, program: Path) -> None:
    for pattern in PATTERNS:
        for method in METHODS:
            seconds, peak = cost([str(program), pattern, *PLAN, "--method", method])
            good = seconds < PLAN_SECONDS and peak < PLAN_BYTES
            verdict = "" if good else "   MISSES THE AIM"
            print(f"  plan {pattern:12} {method:12} {stack.name:8}: {seconds:.3f} s, "
                  f"at most {peak / 1e6:.0f} MB{verdict}")  # fmt: skip


def ratios(document: dict[str, Any]) -> list[float]:
    """Of each repeat but the first, which finds a cold machine."""
    samples = document["samples"][1:]
    return [sample["fill_seconds"] / sample["write"]["seconds"] for sample in samples]


def bench_fill(stack: Stack, program: Path, options: argparse.Namespace) -> None:
    place = Path(local.ram()["path"])
    place.mkdir(parents=True, exist_ok=True)
    processes = min(options.processes, stack.most)
    for pattern, method, buffer, values in itertools.product(PATTERNS, METHODS, BUFFERS, VALUES):
        with tempfile.TemporaryDirectory(prefix="iogauge-bench-", dir=place) as folder:
            words = [str(program), pattern, "--size", str(options.size), "--method", method]
            words += ["--buffer", buffer, "--values", values, "--dir", folder]
            words += ["--repeat", str(options.repeats + 1), "--json", "-"]
            found = ratios(json.loads(run(stack.launch(processes, words), stack.environment)))
        aimed = (buffer, values) == (BUFFERS[0], VALUES[0])
        good = not aimed or median(found) <= FILL_AIM
        verdict = "" if good else f"   ABOVE THE AIM OF {FILL_AIM:.2f}"
        spread = f"{min(found):.3f} to {max(found):.3f}, {len(found)} repeats"
        print(f"  fill {pattern:12} {method:12} {buffer:6} {values:8} {stack.name:8}: "
              f"{median(found):.3f} of writing ({spread}){verdict}")  # fmt: skip


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench_ramses",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--processes", type=int, default=min(2, common.cores()))
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args(words)
    print(f"RAMSES: --size {options.size}, {options.processes} processes, in memory; "
          f"load {bench_machine.load()}")  # fmt: skip
    failed = False
    for environ in local.site_configuration["environments"]:
        stack = Stack.of(environ)
        lacking = stack.lacking()
        if lacking:
            print(f"stack {stack.name}: {lacking} is missing, so it is not benched")
            continue
        try:
            program = programs.build(stack) / "iokernel"
            bench_plans(stack, program)
            bench_fill(stack, program, options)
        except (RunFailed, programs.CannotBuild, subprocess.TimeoutExpired) as error:
            failed = True
            print(f"  failed: {error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
