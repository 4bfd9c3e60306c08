# SPDX-License-Identifier: BSD-3-Clause
"""`replay`: a traced program again, compared with its trace, and with other methods."""

import argparse
import json
import os
import shlex
import shutil
import sys
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from iogauge.analysis.darshan.raw import holds_traces
from iogauge.analysis.errors import EXIT_NOT_VERIFIED, EXIT_OK, UsageError
from iogauge.analysis.judge import faster_alternative
from iogauge.analysis.judge.faster_alternative import Alternative
from iogauge.analysis.replay import check, plan, what_if
from iogauge.analysis.replay.check import Comparison
from iogauge.analysis.replay.trace import NUMBER_OF, POSIX, CannotReplayError, Trace
from iogauge.common import paths
from iogauge.common.files import write_whole
from iogauge.common.progress import Bar
from iogauge.common.text import duration, notice, plain
from iogauge.measure import kernels
from iogauge.measure import replay as measured
from iogauge.measure.iokernel import Stack
from iogauge.measure.replay import Contest, Known, Others, Runner
from reframe_tests.machine import leftovers

from . import formats, options, replay_steps

ROUNDS = 7
SCHEDULE = "app.schedule"
POSIX_SCHEDULE = "posix-calls.schedule"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    replay_steps.add_reading(parser)
    add = parser.add_argument
    add("--dir", type=options.out_folder, required=True)
    add("--iokernel", type=options.in_file)
    add("--stack")
    add("--launch")
    add("-o", "--out", type=options.out_folder)
    add("--think", default="1")
    add("--fold", type=int)
    add("--rounds", type=int, default=ROUNDS)
    add("--method", action="append", default=[])
    add("--hint", action="append", default=[])
    add("--seed", type=int, default=1)
    formats.add_format(parser)


def run(args: argparse.Namespace) -> int:
    if args.rounds < 0:
        raise UsageError(f"--rounds {args.rounds}: expected 0 or more")
    if args.fold is not None and args.fold < 1:
        raise UsageError(f"--fold {args.fold}: expected 1 or more")
    _check_paths(args)
    log = replay_steps.loaded(args)  # before a program is built and a folder made for it
    runner = _runner(args)
    known = runner.methods()
    measured.chosen(args.method, known)
    name = f"{args.trace.absolute().name.removesuffix('.darshan')}.replay"
    work = args.out or options.unused(Path(name), folder=True)
    work.mkdir(parents=True, exist_ok=True)
    runner = replace(runner, work=work.absolute())
    for line in leftovers.remove(runner.data):
        notice(f"replay: {line}")
    with redirect_stdout(sys.stderr) if formats.for_programs(args) else nullcontext():
        found = _all(runner, args, known, log)
    out = runner.work / "answer.json"
    write_whole(out, json.dumps(found, indent=1))
    options.say_written(out)
    if args.json:
        formats.write_json(found)
    elif args.csv:
        formats.write_csv(found["alternatives"], faster_alternative.COLUMNS)
    return EXIT_OK if found["good"] else EXIT_NOT_VERIFIED


def _all(runner: Runner, args: argparse.Namespace, known: Known, trace: Trace) -> dict[str, Any]:
    """The content of `answer.json`. `good`: all verified, and the replay matches the log."""
    made = plan.make(trace, runner.work / SCHEDULE, args.gap)
    for line in (*made.notes, *made.conflicts):
        print(f"  {plain(line)}")
    replay = measured.logged(made.trace, runner.work / SCHEDULE)
    if args.fold:
        replay = replace(replay, words=[*replay.words, "--fold"], processes=args.fold)
    program = {word: check.program_seconds(made, of) for word, of in NUMBER_OF.items()}
    document, compared = _as_it_was(runner, replay, args, program)
    found: dict[str, Any] = {
        "trace": str(args.trace),
        "processes": made.trace.processes,
        "notes": made.notes,
        "conflicts": made.conflicts,
        "replay": asdict(compared) if compared else None,
        "answer": [],
        "alternatives": [],
        "good": document is not None,
        "program_seconds": program,
    }
    if document is None:
        found["answer"] = [f"{measured.LOGGED}: {replay.why}"]
        print(plain(*found["answer"]))
        return found
    found["good"] = not (compared and compared.wrong)
    for direction in NUMBER_OF if args.rounds else ():
        if not document["samples"][0].get(direction):
            continue
        with Bar("replay") as bar:
            try:
                contest = _contest(runner, made, args, known, bar, direction)
            except CannotReplayError as error:
                print(f"no other methods: {plain(str(error))}")
                continue
            if not contest:
                break
            contest.flush = measured.flushes(document)
            contest.run(args.rounds)
        both = contest.alternatives, contest.decided
        lines = faster_alternative.answer(*both, program[direction], direction)
        found["answer"] += lines
        found["alternatives"] += faster_alternative.rows(*both, direction)
        found["good"] = found["good"] and not any(one.wrong for one in contest.alternatives)
        print(*lines, sep="\n")
    return found


def _check_paths(args: argparse.Namespace) -> None:
    if not args.trace.exists():
        raise UsageError(f"{args.trace}: expected a log or a folder of traces, found none")
    if not args.dir.is_dir():
        raise UsageError(f"--dir {args.dir}: expected an existing folder")
    if args.out and args.out.exists() and (not args.out.is_dir() or any(args.out.iterdir())):
        raise UsageError(f"--out {args.out} is not empty: name a new folder")


def _runner(args: argparse.Namespace) -> Runner:
    program, launch = args.iokernel or shutil.which("iokernel"), "mpiexec"
    if args.stack or (not args.iokernel and paths.is_checkout()):
        options.need_checkout("replay --stack")
        environ = kernels.environ(args.stack or "openmpi")
        program = args.iokernel or kernels.build_for_runs(environ)
        stack = Stack.of(environ, program)
        launch = shlex.join(stack.launch)
        os.environ.update(stack.variables)
    if not program or not Path(program).is_file():
        raise UsageError(f"--iokernel {program or ''}: expected a program, found none")
    words = tuple(shlex.split(args.launch or launch))
    if not words or not shutil.which(words[0]):
        raise UsageError(f"--launch {args.launch or launch}: not found; use such as mpiexec, srun")
    stack = Stack("", Path(program).absolute(), words)
    return Runner(stack, args.dir.resolve(), Path())


def _as_it_was(
    runner: Runner, replay: Alternative, args: argparse.Namespace, program: dict[str, float]
) -> tuple[dict[str, Any] | None, Comparison | None]:
    traces = runner.work / "trace" if runner.stack.recorder and not args.fold else None
    document = runner.run(replay, ["--think", args.think], traces)
    if document is None:
        if not replay.wrong:  # of the command line
            raise UsageError(replay.why)
        return None, None
    seconds = ", ".join(
        f"{duration(measured.seconds(document, direction))} {word}"
        for direction, word in (("write", "writing"), ("read", "reading"))
        if document["samples"][0].get(direction)
    )
    print(f"{measured.LOGGED}: verified, {seconds}")
    if traces is None:
        why = "--fold" if args.fold else "there is no libiogauge-recorder.so beside iokernel"
        print(f"  not compared with the log: {why}")
        return document, None
    planned = runner.work / SCHEDULE
    log, own = check.load(planned, args.trace, traces)
    found = check.compare(log, own, args.gap)
    for word, own_seconds in program.items():
        if document["samples"][0].get(word) and own_seconds:
            took = measured.seconds(document, word)
            found.notes.append(
                f"time to {faster_alternative.PRESENT[word]}: {duration(own_seconds)} by the "
                f"program, {duration(took)} by this replay"
            )
            found.notes.extend(filter(None, [faster_alternative.beside_program(took, own_seconds)]))
    replay_steps.show(found)
    page = runner.work / "replay.html"
    replay_steps.write_page(page, found, (planned, args.trace, traces), (log, own))
    return document, found


def _contest(
    runner: Runner,
    made: plan.Plan,
    args: argparse.Namespace,
    known: Known,
    bar: Bar,
    direction: str,
) -> Contest | None:
    if args.fold:
        print("no other methods: --fold runs fewer processes than the log has")
        return None
    if made.trace.synthesised:
        print("no other methods: --synthesise makes up who owns which bytes, and how long it took")
        return None
    below = [one.path for one in made.trace.files if one.below]
    if below:
        other = "; trace it with libiogauge-recorder.so (docs/your-application.md)"
        print(
            "no other methods: of the program's MPI-IO calls only the POSIX calls below them are "
            f"known, and not who owns which bytes: {plain(below[0])}"
            f"{'' if holds_traces(args.trace) else other}"
        )
        return None
    extents = runner.work / f"app.{direction}.extents"
    shapes = what_if.make(made.trace, extents, NUMBER_OF[direction])
    for line in shapes.lines():
        print(f"  {plain(line)}")
    replay = measured.logged(made.trace, runner.work / SCHEDULE, ["--think", "0"])
    posix = None
    if any(one.level != POSIX for one in made.trace.files):
        posix = runner.work / POSIX_SCHEDULE
        plan.make(what_if.with_posix_calls(made.trace), posix, args.gap)
    others = Others(extents, shapes.steps, args.method, tuple(args.hint), posix)
    alternatives = [replay, *others.alternatives(replay, made.trace, known)]
    return Contest(runner, alternatives, bar.count, direction, seed=args.seed)
