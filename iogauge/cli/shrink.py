# SPDX-License-Identifier: BSD-3-Clause
"""`shrink`: reduce a failing run, and write a C program that fails without iogauge."""

import argparse
import tempfile
from pathlib import Path

from iogauge.analysis.darshan.raw import BrokenTraceError, read_folder
from iogauge.common.files import write_whole
from iogauge.common.text import plain_lines
from iogauge.measure import kernels
from iogauge.measure.iokernel import Stack
from iogauge.measure.shrink import case as reduced
from iogauge.measure.shrink import program
from reframe_tests.framework.recorders import RAW
from reframe_tests.machine import leftovers

from . import options


def show(line: str) -> None:
    print(plain_lines(line), flush=True)


def command_of(folder: Path) -> tuple[int, str]:
    try:
        first = read_folder(folder / RAW)[0]
    except BrokenTraceError as error:
        expected = "expected the stage folder of a run with -S dxt=true"
        what = str(error).rpartition("; ")[0]
        raise reduced.CannotShrinkError(f"{what or error}: {expected}") from None
    return first.processes, first.command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("case", nargs="+")
    add("-n", type=int, default=4)
    add("--stack", default="openmpi")
    add("--program", type=options.in_file)
    add("--dir", type=options.out_folder, default=Path("/dev/shm"))
    add("--set", type=options.setting, action="append", default=[])
    add("--tries", type=int, default=6)
    add("--runs", type=int, default=20)
    add("-o", "--out", type=options.out_file)


def run(args: argparse.Namespace) -> int:
    if len(args.case) == 1 and Path(args.case[0]).is_dir():
        case = reduced.of_run(Path(args.case[0]), command_of)
    else:
        case = reduced.Failing(args.n, reduced.without_own(args.case))
    given = tuple(tuple(text.split("=", 1)) for text in args.set)
    case = reduced.Failing(case.processes, case.words, (*case.environment, *given))
    built = args.program or kernels.build_for_tests(args.stack) / "iokernel"
    runner = reduced.Runner(Stack.of(kernels.environ(args.stack), built), args.dir)
    for line in leftovers.remove(args.dir):
        show(line)
    tries = reduced.Tries(runner.end, args.tries, show)
    case = reduced.shrink(case, tries)
    show(f"smallest: {case}")
    show(f"{tries.how} in {tries.rate(case, args.runs)} of {args.runs} runs")
    with tempfile.TemporaryDirectory(prefix="shrink-") as name:
        folder = Path(name)
        program.traced(runner, case, tries.how, args.tries, folder)
        text, wrong, of = program.make(program.Program(runner, case, folder), folder, 2, show)
    out = args.out or options.unused(Path("repro.c"))
    write_whole(out, text)
    show(f"wrote {out}: {text.count(chr(10))} lines; wrong bytes in {wrong} of {of} repeats")
    return int(wrong == 0)
