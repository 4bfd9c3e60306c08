# SPDX-License-Identifier: BSD-3-Clause
r"""Compares iokernel with upstream's IOR, S3D-IO and CGNS benchmark, run by run, and measures its
own cost.

    IOR=PATH[:PATH] S3D_IO=PATH[:PATH] CGNS_BENCH=PATH[:PATH] \
        python -m tools.bench [--quick] [--pairs N] [--json FILE]

Both programs of a pair run back to back with the same words, on fresh files, and who goes first
alternates. A ratio is ours over upstream's bandwidth: 1.2 is a fifth faster. docs/benchmarks.md
says what the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from pathlib import Path

from iogauge.measure import programs
from iogauge.measure.programs import Stack
from site_configs import local
from site_configs.support import common
from tools.bench import cgns as bench_cgns
from tools.bench import machine as bench_machine
from tools.bench.cases import CGNS, Choice, size_text
from tools.bench.run import COLUMNS, HEAD, Bench, print_row


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench",
        description="iokernel beside upstream's ior, s3d_io.x and benchmark_hdf5"
        " (IOR=PATH, S3D_IO=PATH, CGNS_BENCH=PATH)",
    )
    parser.add_argument("--pairs", type=positive, help="pairs of runs per case (7; quick: 6)")
    parser.add_argument("--repeats", type=positive, default=3, help="-i of each run (3)")
    parser.add_argument(
        "--patience", type=float, default=10, help="seconds to wait for a quiet machine (10)"
    )
    parser.add_argument("--retries", type=int, default=3, help="of a disturbed pair (3)")
    parser.add_argument("--quick", action="store_true", help="one place: 2 processes, in memory")
    parser.add_argument("--size", type=size, default=128 * 2**20, help="bytes in all (128m)")
    parser.add_argument(
        "--transfer",
        type=size,
        action="append",
        help="-t; may be repeated (block; in memory 1m)",
    )
    parser.add_argument(
        "--processes", type=positive, action="append", help="may be repeated (2, 4)"
    )
    parser.add_argument("--fs", choices=("ram", "disk"), help="one file system only")
    parser.add_argument("--stack", help="one stack only")
    parser.add_argument("--only", default="", help="cases whose row holds this text")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all measurements")
    return parser


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}: right is a number of at least 1")
    return value


def size(text: str) -> int:
    """4096, 256k, 1m, 2g; `block` is a process's whole block."""
    if text == "block":
        return 0
    units = {"k": 2**10, "m": 2**20, "g": 2**30}
    unit = units.get(text[-1:].lower(), 0)
    digits = text[:-1] if unit else text
    if not digits.isdecimal() or int(digits) < 1:
        raise argparse.ArgumentTypeError(f"{text}: right is a size such as 4096, 256k, 1m or block")
    return int(digits) * (unit or 1)


def usable_stacks(only: str | None) -> dict[str, Stack]:
    """The site's stacks that this machine has."""
    found = {}
    for environ in local.site_configuration["environments"]:
        stack = Stack.of(environ)
        if only not in (None, stack.name):
            continue
        lacking = stack.lacking()
        if lacking:
            print(f"stack {stack.name}: {lacking} is missing, so it is not benched")
        else:
            found[stack.name] = stack
    return found


def choose(options: argparse.Namespace, stacks: dict[str, Stack]) -> Choice:
    wanted = options.processes or ([2] if options.quick else [2, 4])
    filesystems = ("ram",) if options.quick else ("ram", "disk")
    given = tuple(options.transfer or ())
    small = () if options.quick else (2**20,)
    counts = {}
    for name, stack in stacks.items():
        counts[name] = tuple(n for n in wanted if n <= stack.most)
        if len(counts[name]) < len(wanted):
            print(f"stack {name}: at most {stack.most} processes: {stack.why}")
    return Choice(
        processes=counts,
        filesystems=(options.fs,) if options.fs else filesystems,
        # On a disk with fsync the size of a transfer is lost in the time of the flush.
        transfers={"ram": given or (0, *small), "disk": given or (0,)},
        size=options.size,
        repeats=options.repeats,
        only=options.only,
    )


def print_top(bench: Bench, choice: Choice, machine: dict[str, str]) -> None:
    for key, value in machine.items():
        print(f"{key:20}: {value}")
    for name, stack in bench.stacks.items():
        command = [str(bench.folders[name] / "iokernel"), "--version"]
        said = subprocess.run(command, capture_output=True, text=True).stdout.strip()
        print(f"{'stack ' + name:20}: {' '.join(stack.launcher)}; {said}")
    print(f"{'size':20}: {size_text(choice.size)} in all, {choice.repeats} repeats in a run,"
          f" {bench.pairs} pairs of runs; MiB/s")  # fmt: skip
    print(f"{'load before':20}: {bench_machine.load()}\n")


def main(argv: list[str] | None = None) -> int:
    options = arguments().parse_args(argv)
    # Ended from outside, it still removes the files of the run that it ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    stacks = usable_stacks(options.stack)
    if not stacks:
        print("error: no stack to bench; right is one of site_configs/local.py", file=sys.stderr)
        return 2
    choice = choose(options, stacks)
    places = {"ram": Path(local.ram()["path"]), "disk": Path(local.disk()["path"])}
    try:
        folders = {name: programs.build(stack) for name, stack in stacks.items()}
    except programs.CannotBuild as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    bench = Bench(
        stacks, folders, places, options.pairs or (6 if options.quick else 7), common.cores(),
        options.patience, options.retries,
    )  # fmt: skip
    machine = bench_machine.machine(places, common.cores())
    print_top(bench, choice, machine)
    print_row(*HEAD)
    print_row(*("-" * width for width in COLUMNS), "-------")
    for case in choice.cases():
        bench.compare(case)
    if options.only in f"cgns {CGNS}":
        bench_cgns.compare(bench, choice)
    if not options.only:
        bench.bench_driver(choice)
        bench.bench_values()
    if options.json:
        document = {"schema": "iogauge.bench/1", "machine": machine, "cases": bench.cases,
                    "driver": bench.driver, "values": bench.values}  # fmt: skip
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
