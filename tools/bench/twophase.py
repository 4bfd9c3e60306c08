# SPDX-License-Identifier: BSD-3-Clause
"""Ways to write a block-decomposed array into one shared file, each held against what such a file
takes: upstream's S3D-IO, the libraries with and without hints, and method twophase.

    S3D_IO=PATH python -m tools.bench.twophase [--pattern 's3d --grid 200x200x200']
        [--processes 2,4] [--fs ram,disk] [--only twophase,pnetcdf] [--rounds N] [--repeats N]
        [--launcher 'srun -K -N2 --mpi=pmix']
    python -m tools.bench.twophase --curve 50,100,200,300 --processes 1,2,4,8 --only 'twophase raw'

A job of each case in each round, one after the other. A job measures the ceilings between its own
repeats, so a share compares neighbours in time; a ratio is of two jobs of one round. Shown are the
medians of the rounds; of shares the least and the most, of ratios the interval. On `disk` data is
flushed, which S3D-IO does not do: it is benched in memory only, its share by the ceilings of the
other jobs of its round. --curve: one table of S3D's cubes and processes, shares in brackets.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from iogauge.measure import programs
from iogauge.measure.programs import Stack
from site_configs import local
from tools.bench import machine as bench_machine
from tools.bench import peers, stats
from tools.bench.cases import S3D, S3D_METHODS, process_grid, s3d_words
from tools.bench.parse import READ, TOTAL, WRITE, NotParsed, s3d_io

SECONDS = 900
WRITE_AIM, READ_AIM = 0.8, 0.6  # of the shared file's ceiling
FILE_SYSTEMS = {"ram": local.ram, "disk": local.disk}
Sample = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """`environment`: what the job's library is told in this way."""

    label: str
    options: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    upstream: bool = False


def hints(processes: int) -> dict[str, str]:
    """Those with which ROMIO and PnetCDF were seen to do best on one node."""
    return {
        "romio_cb_write": "enable",
        "cb_nodes": str(processes),
        "cb_config_list": f"*:{processes}",
        "cb_buffer_size": "1048576",
        "nc_in_place_swap": "enable",
    }


def cases(processes: int) -> list[Case]:
    pnetcdf = ("--method", "pnetcdf", "--mode", "collective")
    hdf5 = ("--method", "hdf5", "--mode", "collective")
    mpiio = ("--method", "mpiio", "--mode", "collective")
    given = hints(processes)
    words = tuple(word for key, value in given.items() for word in ("--hint", f"{key}={value}"))
    romio = (("OMPI_MCA_io", "romio321"),)
    by_name = ("PNETCDF_HINTS", ";".join(f"{key}={value}" for key, value in given.items()))
    ours = ("--method", "twophase")
    return [
        Case("S3D-IO", (), upstream=True),
        Case("S3D-IO with hints", (), (*romio, by_name), upstream=True),
        Case("pnetcdf", pnetcdf),
        Case("pnetcdf with hints", (*pnetcdf, *words), romio),
        Case("mpiio", mpiio),
        Case("romio", mpiio, romio),
        Case("hdf5", hdf5),
        Case("posix", ("--method", "posix")),
        Case("twophase raw", ours),
        Case("twophase cdf5", (*ours, "--format", "cdf5")),
        Case("twophase hdf5", (*ours, "--format", "hdf5")),
        Case("twophase by messages", (*ours, "--share", "1")),
    ]


class RunFailed(Exception):
    """iokernel failed; the text is its error."""


@dataclass(frozen=True)
class Bench:
    """What is the same for all of a table. `upstream`: None where it is not given."""

    stack: Stack
    ours: Path
    upstream: Path | None
    pattern: str
    processes: int
    folder: Path
    fsync: bool
    repeats: int

    def measure(self, case: Case) -> list[Sample]:
        """The samples of one job, on fresh files."""
        with tempfile.TemporaryDirectory(prefix="iogauge-bench-", dir=self.folder) as name:
            if case.upstream:
                return [{WRITE: {"bandwidth": self._upstream(case, Path(name))}}]
            result = Path(name) / "result.json"
            words = [*shlex.split(self.pattern), *case.options, "--dir", name, "--ceilings"]
            words += ["--repeat", str(self.repeats), "--json", str(result)]
            words += ["--fsync"] if self.fsync else []
            self._run([str(self.ours / "iokernel"), *words], case)
            samples: list[Sample] = json.loads(result.read_text())["samples"]
            return samples

    def _upstream(self, case: Case, folder: Path) -> float:
        cube = tuple(map(int, shlex.split(self.pattern)[-1].split("x")))
        words = s3d_words(cube, process_grid(self.processes), S3D_METHODS["blocking"], folder)
        return s3d_io(self._run([str(self.upstream), *words], case))[TOTAL]

    def _run(self, command: list[str], case: Case) -> str:
        done = subprocess.run(
            self.stack.launch(self.processes, command),
            env={**os.environ, **dict(case.environment)},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        if done.returncode:
            raise RunFailed(f"status {done.returncode}: {done.stderr.strip() or command}")
        return done.stdout

    def can(self, case: Case) -> bool:
        is_cube = self.pattern.startswith("s3d --grid ")
        return not case.upstream or (bool(self.upstream) and is_cube and not self.fsync)


@dataclass
class Figures:
    """Of a case in one direction, a value of each round."""

    bandwidth: list[float] = field(default_factory=list)
    share: list[float] = field(default_factory=list)

    def add(self, samples: list[Sample], direction: str, around: float) -> None:
        """`around`: the ceiling of the round's other jobs."""
        found = [s[direction]["bandwidth"] for s in samples]
        ceilings = [
            s["ceilings"]["shared"][direction] if "ceilings" in s else around for s in samples
        ]
        self.bandwidth.append(median(found))
        self.share.append(median(a / b for a, b in zip(found, ceilings, strict=True)))


Found = dict[tuple[str, str], Figures]


def rounds(bench: Bench, wanted: list[Case], number: int) -> Found:
    """Each case's figures by label and direction, where there are any."""
    found: Found = {}
    for _ in range(number):
        taken = {case.label: bench.measure(case) for case in wanted}
        for direction in (WRITE, READ):
            ceilings = [
                sample["ceilings"]["shared"][direction]
                for samples in taken.values()
                for sample in samples
                if "ceilings" in sample
            ]
            for label, samples in taken.items():
                if direction in samples[0]:
                    figures = found.setdefault((label, direction), Figures())
                    figures.add(samples, direction, median(ceilings) if ceilings else math.nan)
    return found


def row(label: str, direction: str, found: Figures, base: Figures) -> str:
    ratio = stats.ratio(found.bandwidth, base.bandwidth)
    low, high = min(found.share), max(found.share)
    return (
        f"| {label} | {direction} | {median(found.bandwidth):.0f} | {median(found.share):.2f}"
        f" | {low:.2f} .. {high:.2f} | {ratio.value:.2f} | {stats.ends(ratio)} |"
    )


def table(found: Found) -> Iterator[str]:
    """Over the first case that has the direction."""
    bases = {direction: label for label, direction in reversed(found)}
    over = " and ".join(dict.fromkeys(bases[direction] for direction in (WRITE, READ)))
    yield (
        "| method | direction | MiB/s | of the shared ceiling | least .. most"
        f" | over {over} | interval |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for (label, direction), figures in found.items():
        yield row(label, direction, figures, found[bases[direction], direction])


def curve(cells: dict[tuple[str, int], Found], counts: list[int]) -> Iterator[str]:
    """Rows: a cube in one direction; columns: processes."""
    yield f"| cube | method | direction | {' | '.join(map(str, counts))} |"
    yield f"| --- | --- | --- |{' --- |' * len(counts)}"
    cubes = dict.fromkeys(cube for cube, _ in cells)
    for cube in cubes:
        for label, direction in cells[cube, counts[0]]:
            of = [cells[cube, count][label, direction] for count in counts]
            text = [f"{median(f.bandwidth):.0f} ({median(f.share):.2f})" for f in of]
            yield f"| {cube} | {label} | {direction} | {' | '.join(text)} |"


def reached(found: Found) -> bool:
    aims = {WRITE: WRITE_AIM, READ: READ_AIM}
    return all(
        median(figures.share) >= aims[direction]
        for (label, direction), figures in found.items()
        if label == "twophase raw"
    )


def run(stack: Stack, options: argparse.Namespace) -> bool:
    """Prints the tables; whether the aims were reached in all of them."""
    ours = programs.build(stack)
    upstream = peers.peers(S3D, stack, ours)
    if not upstream:
        print(peers.how_to_give(S3D, stack))
    if options.launcher:
        stack = replace(stack, launcher=tuple(options.launcher))
    cubes = {f"{n}x{n}x{n}": f"s3d --grid {n}x{n}x{n}" for n in options.curve}
    good = True
    for fs in options.fs:
        cells: dict[tuple[str, int], Found] = {}
        folder = Path(FILE_SYSTEMS[fs]()["path"])
        patterns = cubes or {"": options.pattern}
        for (cube, pattern), count in itertools.product(patterns.items(), options.processes):
            bench = Bench(
                stack, ours, upstream, pattern, count, folder, fs == "disk", options.repeats
            )
            wanted = [case for case in cases(count) if case.label.startswith(options.only)]
            found = rounds(bench, list(filter(bench.can, wanted)), options.rounds)
            cells[cube, count] = found
            good = good and reached(found)
            if not cubes:
                print(f"\n{fs}: {stack.name}, {pattern}, {count} processes\n")
                print("\n".join(table(found)))
        if cubes:
            print(f"\n{fs}: {stack.name}, MiB/s (of the shared ceiling) by processes\n")
            print("\n".join(curve(cells, options.processes)))
    return good


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench.twophase",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--stack", default="openmpi")
    parser.add_argument("--pattern", default="s3d --grid 100x100x100")
    parser.add_argument("--processes", type=numbers, default=[4])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="cases, by how they begin: posix,twophase")
    parser.add_argument("--fs", default="ram", help="of ram, disk (there with --fsync)")
    parser.add_argument("--curve", type=numbers, default=[], help="sides of S3D's cubes")
    parser.add_argument("--launcher", type=shlex.split, help="in place of the stack's own")
    options = parser.parse_args(argv)
    options.only, options.fs = tuple(options.only.split(",")), options.fs.split(",")
    if unknown := [fs for fs in options.fs if fs not in FILE_SYSTEMS]:
        parser.error(f"--fs {unknown[0]}: right is {' or '.join(FILE_SYSTEMS)}")
    print(f"load before: {bench_machine.load()}")
    environs = {e["name"]: e for e in local.site_configuration["environments"]}
    stack = Stack.of(environs[options.stack])
    if stack.lacking():
        print(f"stack {stack.name}: {stack.lacking()} is missing, so it is not benched")
        return 1
    try:
        good = run(stack, options)
    except (RunFailed, NotParsed, programs.CannotBuild, subprocess.TimeoutExpired) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"\nload after: {bench_machine.load()}")
    return 0 if good else 3


if __name__ == "__main__":
    sys.exit(main())
