# SPDX-License-Identifier: BSD-3-Clause
"""`shrink`: makes a failing run small, and a C program of it that fails without iogauge."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from iogauge.analysis.blame.accesses import MPIIO
from iogauge.analysis.blame.races import find
from iogauge.analysis.darshan.raw import BrokenTraceError, read_folder
from iogauge.common.files import write_whole
from iogauge.measure import iokernel, kernels
from iogauge.measure.iokernel import Stack
from iogauge.measure.shrink import program
from iogauge.measure.shrink.case import CannotShrinkError, Case, Runner, of_run, without_own
from iogauge.measure.shrink.reduce import Tries, fewest, shrink
from reframe_tests.framework.recorders import RAW

from . import options

REPEATS = 30  # of the program, in one run
SUSPECTS = 5  # rounds that are tried alone
FOUND = re.compile(r"(\d+) of (\d+) repeats had wrong bytes")


def say(line: str) -> None:
    print(line, flush=True)


def command_of(folder: Path) -> tuple[int, str]:
    try:
        first = read_folder(folder / RAW)[0]
    except BrokenTraceError as error:
        raise CannotShrinkError(
            f"{error}: right is the stage folder of a run with dxt=true"
        ) from None
    return first.processes, first.command


def traced(runner: Runner, case: Case, how: str, tries: int, folder: Path) -> None:
    """Leaves the traces of a run that fails."""
    for _ in range(10 * tries):
        for old in folder.glob("*.trace"):
            old.unlink()
        if runner.end(case, folder) == how:
            return
    raise CannotShrinkError(f"{10 * tries} runs with the recorder did not fail: {case}")


class Program:
    """The C program of some rounds: made, compiled, and run."""

    def __init__(self, runner: Runner, case: Case, work: Path) -> None:
        self.runner, self.case, self.work = runner, case, work
        launch = " ".join(["mpiexec", "-n", str(case.processes)])
        self.command = " ".join([*(f"{k}={v}" for k, v in case.environment), launch])
        self.library = _library(runner.stack.program)

    def text(self, rounds: Sequence[program.Round]) -> str:
        words = (self.case.processes, self.command, REPEATS, self.library)
        return program.text(rounds, *words)

    def failed(self, text: str, repeats: int = REPEATS) -> tuple[int, int]:
        """Of how many repeats how many had wrong bytes."""
        source, binary = self.work / "repro.c", self.work / "repro"
        source.write_text(text)
        stack, compiler = replace(self.runner.stack, program=binary), ["-Wall", "-Wextra", "-O1"]
        subprocess.run(
            [f"mpicc.{stack.name}", *compiler, str(source), "-o", str(binary)], check=True
        )
        data = self.runner.folder / f"repro-{os.getpid()}.bin"
        done = iokernel.run(
            stack, self.case.processes, [str(data), str(repeats)],
            env=dict(self.case.environment), seconds=self.runner.seconds,
        )  # fmt: skip
        data.unlink(missing_ok=True)
        match = FOUND.search(done.stdout)
        if not match:
            late = done.status is None
            how = "had to be ended" if late else f"ended with status {done.status}"
            raise CannotShrinkError(f"the program {how}, after {self.runner.seconds:g} s at most")
        return int(match[1]), int(match[2])


def _library(iokernel: Path) -> str:
    done = subprocess.run([str(iokernel), "--version"], capture_output=True, text=True, check=False)
    said = done.stdout[done.stdout.find("{") :]
    return str(json.loads(said)["mpi"]) if done.returncode == 0 else "an unknown MPI"


def make_program(made: Program, traces: Path, tries: int) -> tuple[str, int, int]:
    """Its text, and how often it failed of how many repeats."""
    blamed = find(traces)
    found = blamed.traced
    rows = found.accesses[found.accesses["layer"] == MPIIO]
    if not len(rows):
        raise CannotShrinkError("the case does not write through MPI-IO")
    files, counts = _counts(rows["file"].tolist())
    file = files[counts.index(max(counts))]
    rounds = program.rounds(found, file)
    accused = program.suspects(rounds, blamed, file)
    say(f"{len(rounds)} rounds of MPI-IO calls are recorded, {len(accused)} of them raced")

    def fails(some: Sequence[program.Round]) -> bool:
        try:
            text = made.text(some)
        except CannotShrinkError:  # too long yet: only what it does counts
            text = program.text(some, made.case.processes, "", REPEATS, "", most=10**6)
        return any(made.failed(text)[0] for _ in range(tries))

    one = next(([r] for r in accused[:SUSPECTS] if fails([r])), None)
    if one is None and not fails(rounds):
        raise CannotShrinkError("its MPI-IO calls alone did not fail")
    rounds = one or fewest(rounds, fails)
    text = made.text(rounds)
    wrong, of = made.failed(text)
    return text, wrong, of


def _counts(values: list[int]) -> tuple[list[int], list[int]]:
    different = sorted(set(values))
    return different, [values.count(value) for value in different]


EXAMPLES = """\
examples:
  iogauge shrink -n 16 -- ramses-amr --size 64 --method mpiio
  iogauge shrink -n 4 --set OMPI_MCA_io_ompio_num_aggregators=2 -- ramses-amr --size 32 \\
      --method mpiio
  iogauge shrink output/stage/SESSION/local/host/openmpi/RamsesAmr_0d1a48dc

The command is iokernel's; a run of a session needs its stage folder, of `iogauge run -S dxt=true`.
A smaller case counts where it fails in one of --tries runs as the first one did. Exit status: 0 a
program was made and fails, 1 it does not or could not be made, 2 the command line is wrong, 3
nothing fails.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("case", nargs="+", metavar="RUN | -- WORD", help="a run, or -- and the words of iokernel")
    add("-n", type=int, default=4, metavar="N", help="processes (default: 4)")
    add("--stack", default="openmpi", help="of `stack list` (default: openmpi)")
    add("--program", type=options.in_file, help="iokernel (default: built for the stack)")
    add("--dir", type=options.out_folder, default=Path("/dev/shm"), metavar="DIR",
        help="where it writes (default: /dev/shm)")  # fmt: skip
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="its environment")
    add("--tries", type=int, default=6, metavar="N", help="runs of each case (default: 6)")
    add("--runs", type=int, default=20, metavar="N", help="of the smallest (default: 20)")
    add("-o", "--out", type=options.out_file, default=Path("repro.c"), metavar="FILE",
        help="the program (default: repro.c)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    built = args.program or kernels.build_for_tests(args.stack) / "iokernel"
    runner = Runner(Stack.of(kernels.environ(args.stack), built), args.dir)
    try:
        if len(args.case) == 1 and Path(args.case[0]).is_dir():
            case = of_run(Path(args.case[0]), command_of)
        else:
            case = Case(args.n, without_own(args.case))
        given = tuple(tuple(text.split("=", 1)) for text in args.set)
        case = Case(case.processes, case.words, (*case.environment, *given))
        tries = Tries(runner.end, args.tries, say)
        case = shrink(case, tries)
        say(f"smallest: {case}")
        say(f"{tries.how} in {tries.rate(case, args.runs)} of {args.runs} runs")
    except CannotShrinkError as error:
        print(f"iogauge: shrink: {error}", file=sys.stderr)
        return 3
    try:
        with tempfile.TemporaryDirectory(prefix="shrink-") as folder:
            traced(runner, case, tries.how, args.tries, Path(folder))
            made = Program(runner, case, Path(folder))
            text, wrong, of = make_program(made, Path(folder), 2)
    except CannotShrinkError as error:
        print(f"iogauge: shrink: {error}", file=sys.stderr)
        return 1
    write_whole(args.out, text)
    lines = text.count("\n")
    say(f"wrote {args.out}: {lines} lines; wrong bytes in {wrong} of {of} repeats")
    return int(wrong == 0)
