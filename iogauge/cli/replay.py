# SPDX-License-Identifier: BSD-3-Clause
"""`replay`: a traced program as it was, compared with its trace, and through other methods."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from typing import Any

from iogauge.analysis.errors import EXIT_NOT_VERIFIED, EXIT_OK, UsageError
from iogauge.analysis.judge import faster_alternative
from iogauge.analysis.judge.faster_alternative import Alternative
from iogauge.analysis.replay import check, plan, what_if
from iogauge.analysis.replay.check import Comparison
from iogauge.analysis.replay.trace import CannotReplayError
from iogauge.common import paths
from iogauge.common.files import write_whole
from iogauge.common.progress import Bar
from iogauge.measure import replay as measured
from iogauge.measure.iokernel import Stack
from iogauge.measure.replay import Contest, Known, Others, Runner

from . import formats, options, replay_check, replay_plan

EXAMPLES = """\
examples:
  iogauge replay app.darshan --dir /scratch/me
  iogauge replay app.darshan --dir /scratch/me --launch srun --method pnetcdf
  iogauge replay app.darshan --dir /scratch/me --hint striping_factor=8
  iogauge replay trace/ --dir /scratch/me --rounds 0

plan, check and like are steps of their own (iogauge replay plan --help); a log that is called so is
named ./plan.

First the replay as it was: every byte is verified, its own trace is held against the log, and a
page shows both beside each other. Then the same data through other methods: in each round the
replay and each method once, in a random order. After a first round of all, the fastest three go on
for --rounds more, which alone decide. Exit code 1: a byte is wrong, or the replay is not like the
log.
"""

ROUNDS = 7
SCHEDULE = "app.schedule"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    replay_plan.add_reading(parser)
    parser.add_argument(
        "--dir",
        type=options.out_folder,
        required=True,
        metavar="FOLDER",
        help="where all of them write",
    )
    parser.add_argument("--iokernel", type=options.in_file, metavar="PROGRAM",
                        help="default: built for --stack; installed: that on PATH")  # fmt: skip
    parser.add_argument("--stack", help="with its launcher, in a checkout (default: openmpi)")
    parser.add_argument(
        "--launch", metavar="WORDS",
        help="what starts processes; `-n N` is added (default: the stack's, or mpiexec)",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--out", type=options.out_folder, metavar="FOLDER",
        help="where schedule, traces, page and answer are left; all processes must see it "
        "(default: NAME.replay in this folder)",
    )  # fmt: skip
    parser.add_argument(
        "--think", default="1", metavar="X",
        help="of the program's pauses, in the replay that is traced (default: all, 1)",
    )  # fmt: skip
    parser.add_argument(
        "--fold", type=int, metavar="N",
        help="on N processes, fewer than the log has; then no other methods",
    )  # fmt: skip
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS,
        help="of the replay and the other methods; 0: the replay alone (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--method", action="append", default=[], metavar="NAME",
        help="such as hdf5 or hdf5:collective; may be repeated (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--hint", action="append", default=[], metavar="KEY=VALUE",
        help="of the other methods, and of the replay once more if it has MPI-IO's calls",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="of the order in each round (1)")
    formats.add_format(parser, "the answer (CSV: a row of each method)")


def run(args: argparse.Namespace) -> int:
    if args.rounds < 0:
        raise UsageError(f"--rounds {args.rounds}: right is 0 or more")
    runner = _runner(args)
    known = runner.methods()
    measured.chosen(args.method, known)
    runner.work.mkdir(parents=True, exist_ok=True)
    with redirect_stdout(sys.stderr) if formats.for_programs(args) else nullcontext():
        found = _all(runner, args, known)
    out = runner.work / "answer.json"
    write_whole(out, json.dumps(found, indent=1))
    options.say_written(out)
    if args.json:
        print(json.dumps(found, indent=1))
    elif args.csv:
        formats.write_csv(found["ways"], faster_alternative.COLUMNS)
    return EXIT_OK if found["good"] else EXIT_NOT_VERIFIED


def _all(runner: Runner, args: argparse.Namespace, known: Known) -> dict[str, Any]:
    """What `answer.json` holds. `good`: all is verified, and the replay is like the log."""
    made = replay_plan.planned(args, runner.work / SCHEDULE)
    for line in (*made.said, *made.conflicts):
        print(f"  {line}")
    replay = measured.logged(made.trace, runner.work / SCHEDULE)
    if args.fold:
        replay = replace(replay, words=[*replay.words, "--fold"], processes=args.fold)
    document, compared = _as_it_was(runner, replay, args)
    found: dict[str, Any] = {
        "trace": str(args.trace), "processes": made.trace.processes, "said": made.said,
        "conflicts": made.conflicts, "replay": asdict(compared) if compared else None,
        "answer": [], "ways": [], "good": document is not None,
    }  # fmt: skip
    if document is None:
        found["answer"] = [f"{measured.LOGGED}: {replay.why}"]
        print(*found["answer"])
        return found
    found["good"] = not (compared and compared.wrong)
    contest = None
    with Bar("replay") as bar:
        if args.rounds and (contest := _contest(runner, made, args, known, bar)):
            contest.flush = measured.flushes(document)
            contest.run(args.rounds)
    if contest:
        found |= {
            "answer": faster_alternative.answer(contest.alternatives, contest.decided),
            "ways": faster_alternative.rows(contest.alternatives, contest.decided),
        }
        found["good"] = found["good"] and not any(one.wrong for one in contest.alternatives)
        print(*found["answer"], sep="\n")
    return found


def _runner(args: argparse.Namespace) -> Runner:
    """All that can be wrong before anything runs."""
    if not args.dir.is_dir():
        raise UsageError(f"--dir {args.dir}: right is an existing folder")
    work = args.out or next(_free(args.trace))
    if work.exists() and (not work.is_dir() or any(work.iterdir())):
        raise UsageError(f"--out {work}: it is there already; right is a new folder")
    if args.stack or (not args.iokernel and paths.is_checkout()):
        options.need_checkout("replay --stack")
        _use_stack(args)
    program = args.iokernel or shutil.which("iokernel")
    if not program or not Path(program).is_file():
        raise UsageError(f"--iokernel {program or ''}: no such program")
    args.launch = args.launch or "mpiexec"
    launch = tuple(shlex.split(args.launch))
    if not launch or not shutil.which(launch[0]):
        raise UsageError(f"--launch {args.launch}: no such program; right is such as mpiexec, srun")
    stack = Stack("", Path(program).absolute(), launch)
    return Runner(stack, args.dir.absolute(), work.absolute())


def _use_stack(args: argparse.Namespace) -> None:
    """Its launcher, and kernels built for it, unless others are named."""
    from iogauge.measure import kernels  # here: it needs a checkout

    name = args.stack or "openmpi"
    try:
        args.iokernel = args.iokernel or kernels.build_for_runs(name)
        stack = Stack.of(kernels.environ(name), args.iokernel)
    except (kernels.UnknownStackError, kernels.CannotBuild) as error:
        raise UsageError(str(error)) from None
    args.launch = args.launch or shlex.join(stack.launch)
    os.environ.update(stack.variables)


def _free(trace: Path) -> Iterator[Path]:
    name = trace.absolute().name.removesuffix(".darshan")
    names = (Path(f"{name}.replay{f'-{n}' if n > 1 else ''}") for n in count(1))
    return (path for path in names if not path.exists())


def _as_it_was(
    runner: Runner, replay: Alternative, args: argparse.Namespace
) -> tuple[dict[str, Any] | None, Comparison | None]:
    """The replay, traced; its document, and its trace beside the log."""
    traces = runner.work / "trace" if runner.stack.recorder and not args.fold else None
    document = runner.run(replay, ["--think", args.think], traces)
    if document is None:
        if not replay.wrong:  # of the command line
            raise UsageError(replay.why)
        return None, None
    seconds = ", ".join(
        f"{document['samples'][0][way]['seconds']:.4g} s {word}"
        for way, word in (("write", "writing"), ("read", "reading"))
        if document["samples"][0].get(way)
    )
    print(f"as it was: verified, {seconds}")
    if traces is None:
        why = "it is folded" if args.fold else "there is no libiogauge-recorder.so beside iokernel"
        print(f"  not compared with the log: {why}")
        return document, None
    planned = runner.work / SCHEDULE
    log, own = check.load(planned, args.trace, traces)
    found = check.compare(log, own, args.gap)
    replay_check.show(found)
    page = runner.work / "replay.html"
    replay_check.write_page(page, found, (planned, args.trace, traces), (log, own))
    return document, found


def _contest(
    runner: Runner, made: plan.Plan, args: argparse.Namespace, known: Known, bar: Bar
) -> Contest | None:
    if args.fold:
        print("no other methods: with --fold there are fewer processes than the log has")
        return None
    extents = runner.work / "app.extents"
    try:
        shapes = what_if.make(made.trace, extents)
    except CannotReplayError as error:
        print(f"no other methods: {error}")
        return None
    for line in shapes.lines():
        print(f"  {line}")
    replay = measured.logged(made.trace, runner.work / SCHEDULE, ["--think", "0"])
    others = Others(extents, shapes.steps, args.method, tuple(args.hint))
    alternatives = [replay, *others.alternatives(replay, made.trace, known)]
    return Contest(runner, alternatives, bar.count, seed=args.seed)
