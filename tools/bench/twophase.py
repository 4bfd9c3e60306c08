# SPDX-License-Identifier: BSD-3-Clause
"""Method twophase beside the libraries, each held against what one shared file takes.

    python -m tools.bench.twophase [--pattern 's3d --grid 200x200x200'] [--processes N] [--fsync]
                                   [--only twophase,pnetcdf] [--rounds N] [--repeats N] [--dir D]
                                   [--launcher 'srun -K -N2 --mpi=pmix']

A job of each case in each round, one after the other. A job measures the ceilings between its own
repeats, so a share compares neighbours in time; a ratio is of two jobs of one round. Shown are the
medians of the rounds; of shares the least and the most, of ratios the interval.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from site_configs import local
from tools.bench import machine as bench_machine
from tools.bench import programs as bench_programs
from tools.bench import stats
from tools.bench.programs import Stack

SECONDS = 900
WRITE_AIM, READ_AIM = 0.8, 0.6  # of the shared file's ceiling
DIRECTIONS = ("write", "read")


@dataclass(frozen=True)
class Case:
    """`environment`: what the job's library is told in this way."""

    label: str
    options: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


def romio(processes: int) -> tuple[str, ...]:
    """The hints with which ROMIO and PnetCDF were seen to do best on one node."""
    hints = {
        "romio_cb_write": "enable",
        "cb_nodes": str(processes),
        "cb_config_list": f"*:{processes}",
        "cb_buffer_size": "1048576",
        "nc_in_place_swap": "enable",
    }
    return tuple(word for key, value in hints.items() for word in ("--hint", f"{key}={value}"))


def cases(processes: int) -> list[Case]:
    pnetcdf = ("--method", "pnetcdf", "--mode", "collective")
    mpiio = ("--method", "mpiio", "--mode", "collective")
    tuned = (*pnetcdf, *romio(processes))
    ours = ("--method", "twophase")
    return [
        Case("pnetcdf", pnetcdf),
        Case("pnetcdf with hints", tuned, (("OMPI_MCA_io", "romio321"),)),
        Case("romio", mpiio, (("OMPI_MCA_io", "romio321"),)),
        Case("posix", ("--method", "posix")),
        Case("twophase raw", ours),
        Case("twophase cdf5", (*ours, "--format", "cdf5")),
        Case("twophase hdf5", (*ours, "--format", "hdf5")),
        Case("twophase by messages", (*ours, "--share", "1")),
    ]


class RunFailed(Exception):
    """iokernel failed; the text is its error."""


def measure(
    stack: Stack, program: Path, case: Case, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """The samples of one job, on fresh files."""
    with tempfile.TemporaryDirectory(prefix="iogauge-bench-", dir=options.dir) as name:
        result = Path(name) / "result.json"
        words = [*shlex.split(options.pattern), *case.options, "--dir", name, "--ceilings"]
        words += ["--repeat", str(options.repeats), "--json", str(result)]
        words += ["--fsync"] if options.fsync else []
        done = subprocess.run(
            stack.launch(options.processes, [str(program), *words]),
            env={**os.environ, **dict(case.environment)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode:
            raise RunFailed(f"status {done.returncode}: {done.stderr.strip() or words}")
        samples: list[dict[str, Any]] = json.loads(result.read_text())["samples"]
        return samples


@dataclass
class Figures:
    """Of a case in one direction, a value of each round."""

    bandwidth: list[float]
    share: list[float]

    def add(self, samples: list[dict[str, Any]], direction: str) -> None:
        ceilings = [s["ceilings"]["shared"][direction] for s in samples]
        found = [s[direction]["bandwidth"] for s in samples]
        self.bandwidth.append(median(found))
        self.share.append(median(a / b for a, b in zip(found, ceilings, strict=True)))


def row(label: str, direction: str, found: Figures, base: Figures) -> str:
    ratio = stats.ratio(found.bandwidth, base.bandwidth)
    low, high = min(found.share), max(found.share)
    return (
        f"| {label} | {direction} | {median(found.bandwidth):.0f} | {median(found.share):.2f}"
        f" | {low:.2f} .. {high:.2f} | {ratio.value:.2f} | {stats.ends(ratio)} |"
    )


def bench(stack: Stack, program: Path, options: argparse.Namespace) -> bool:
    """Prints the table; whether the aims were reached."""
    wanted = [c for c in cases(options.processes) if c.label.startswith(options.only)]
    found = {(c.label, d): Figures([], []) for c in wanted for d in DIRECTIONS}
    for _ in range(options.rounds):
        for case in wanted:
            samples = measure(stack, program, case, options)
            for direction in DIRECTIONS:
                found[case.label, direction].add(samples, direction)
    base = wanted[0].label
    print(
        f"\n{stack.name}, {options.pattern}, {options.processes} processes\n\n| method | direction"
        f" | MiB/s | of the shared ceiling | least .. most | over {base} | interval |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for (label, direction), figures in found.items():
        print(row(label, direction, figures, found[base, direction]))
    aims = {"write": WRITE_AIM, "read": READ_AIM}
    return all(
        median(figures.share) >= aims[direction]
        for (label, direction), figures in found.items()
        if label == "twophase raw"
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.twophase", description=__doc__)
    parser.add_argument("--stack", default="openmpi")
    parser.add_argument("--pattern", default="s3d --grid 100x100x100")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fsync", action="store_true")
    parser.add_argument(
        "--only", default="", help="cases, by how they begin, such as posix,twophase"
    )
    parser.add_argument("--launcher", type=shlex.split, help="in place of the stack's own")
    parser.add_argument("--dir", type=Path, default=Path("/dev/shm"))
    options = parser.parse_args(argv)
    options.only = tuple(options.only.split(","))
    print(f"load before: {bench_machine.load()}; in {options.dir}")
    environs = {e["name"]: e for e in local.site_configuration["environments"]}
    stack = Stack.of(environs[options.stack])
    if options.launcher:
        stack = replace(stack, launcher=tuple(options.launcher))
    if stack.lacking():
        print(f"stack {stack.name}: {stack.lacking()} is missing, so it is not benched")
        return 1
    try:
        good = bench(stack, bench_programs.build(stack) / "iokernel", options)
    except (RunFailed, bench_programs.CannotBuild, subprocess.TimeoutExpired) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0 if good else 3


if __name__ == "__main__":
    sys.exit(main())
