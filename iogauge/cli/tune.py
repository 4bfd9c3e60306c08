# SPDX-License-Identifier: BSD-3-Clause
"""`tune`: the fastest setting for a pattern on a file system, with what it gains."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

from iogauge.analysis.errors import AnalysisError, UsageError
from iogauge.analysis.judge.advice import DEFAULT
from iogauge.analysis.statistics.tuning_search import DefaultFailedError, Found
from iogauge.common import lock, paths
from iogauge.common.mounts import IN_MEMORY, mount_of
from iogauge.common.progress import Bar
from iogauge.common.text import unknown
from iogauge.measure import kernels
from iogauge.measure.iokernel import CannotList, Stack
from iogauge.measure.session import new_name
from iogauge.measure.tune.advice import Advice
from iogauge.measure.tune.drive import Drive
from iogauge.measure.tune.progress import Progress
from iogauge.measure.tune.session import NoSuchSearchError, Session
from iogauge.measure.tune.settings import SCOPES, NoSuchCallError, space_of
from iogauge.measure.tune.space import Space
from iogauge.measure.tune.trial import Job, Runner
from reframe_tests.machine import leftovers
from site_configs import local

from . import options
from .store_add import ingest

DECIDED, FAILED, UNDECIDED = 0, 1, 3
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
BUDGET = "10m"


class CannotRun(Exception):
    """The text says why."""


def say(words: str) -> None:
    print(f"tune: {words}", file=sys.stderr, flush=True)


def seconds(words: str) -> float:
    """`90`, `90s`, `10m`, `1h`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", words)
    if not match or not float(match[1]):
        raise argparse.ArgumentTypeError(f"{words!r} is no time; right is 600, 90s, 10m or 1h")
    return float(match[1]) * UNITS[match[2]]


EXAMPLES = """\
examples:
  iogauge tune --pattern 's3d --grid 100x100x100' --fs disk --stack openmpi --budget 10m
  iogauge tune --resume --budget 20m      go on with the newest search

It searches methods, modes and the settings of the libraries below them, in rounds with the default
in each, then confirms the fastest in fresh rounds. Exit status: 0 a gain is decided; 3 undecided;
1 the default does not run; 2 the command line is wrong.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--pattern", help="with its options, such as 's3d --grid 100x100x100'")
    add("--fs", default="disk", help="ram, disk, or a folder (default: disk)")
    add("--stack", default="openmpi", help="of `stack list` (default: openmpi)")
    add("--processes", type=int, default=4, metavar="N", help="of a job (default: 4)")
    add("--budget", type=seconds, metavar="TIME", help=f"of all jobs: 90s, 10m, 1h ({BUDGET})")
    add("--default", default=DEFAULT, metavar="METHOD[:MODE]",
        help=f"what a gain is over (default: {DEFAULT})")  # fmt: skip
    add("--for", dest="wish", choices=("write", "read", "both"), default="write",
        help="what should be fast (default: write)")  # fmt: skip
    scopes = parser.add_mutually_exclusive_group()
    for name, words in list(SCOPES.items())[1:]:
        scopes.add_argument(f"--{name}", dest="scope", action="store_const", const=name,
                            default="everything", help=f"only {words}")  # fmt: skip
    add("--fsync", action=argparse.BooleanOptionalAction,
        help="time the flush too (yes, but not in memory)")  # fmt: skip
    add("--site", action="store_true", help="also write the site file's entry")
    add("--write", type=options.out_folder, metavar="DIR", help="of the files (the session's)")
    add("--resume", nargs="?", const="", metavar="NAME", help="go on with a search (the newest)")
    add("--seed", type=int, default=1, help="of what is by chance (default: 1)")
    add("--program", type=options.in_file, metavar="FILE", help="an iokernel that is built already")
    add("--launch", metavar="WORDS", help="how a job is started, such as 'srun -n 64'")


def asked_for(args: argparse.Namespace) -> dict[str, Any]:
    """What decides the course, to be written down. Raises CannotRun."""
    entries: dict[str, Any] = local.site_configuration["systems"][0]["partitions"][0]["extras"]
    systems = entries["filesystems"]
    place = Path(systems[args.fs]["path"] if args.fs in systems else args.fs).absolute()
    if args.fs in systems and systems[args.fs].get("create"):
        place.mkdir(parents=True, exist_ok=True)
    if not place.is_dir():
        raise CannotRun(f"--fs {unknown(args.fs, systems)} (or an existing folder)")
    in_memory = mount_of(place)["type"] in IN_MEMORY
    fsync = not in_memory if args.fsync is None else args.fsync
    names = ("pattern", "fs", "stack", "processes", "budget", "default", "wish", "scope", "seed")
    return {
        **{name: getattr(args, name) for name in names},
        "place": str(place), "fsync": fsync, "site": args.site, "launch": args.launch or "",
        "program": str(args.program.absolute()) if args.program else "",
        "command": shlex.join(["iogauge", *sys.argv[1:]]),
    }  # fmt: skip


def job_of(asked: dict[str, Any]) -> Job:
    """Builds the kernels where none are given. Raises CannotRun."""
    environs = {entry["name"]: entry for entry in local.site_configuration["environments"]}
    if asked["stack"] not in environs:
        raise CannotRun(f"--stack {unknown(asked['stack'], environs)}")
    environ = environs[asked["stack"]]
    stack = Stack.of(environ, Path(asked["program"]))
    if asked["processes"] > stack.most:
        raise CannotRun(f"--processes {asked['processes']}: {stack.most} at most: {stack.why}")
    if not asked["program"]:
        try:
            asked["program"] = str(kernels.build_for_runs(environ))
        except kernels.CannotBuild as error:
            raise CannotRun(str(error)) from None
    launch = shlex.split(asked["launch"]) or [*stack.launch, "-n", str(asked["processes"])]
    return Job(
        tuple(launch), Path(asked["program"]), tuple(shlex.split(asked["pattern"])),
        Path(asked["place"]), asked["fsync"], stack.variables,
    )  # fmt: skip


def listing(job: Job) -> dict[str, Any]:
    """What this iokernel can do, of one process. Raises CannotRun."""
    try:
        return Stack("", job.program, (), job.environment).listing()
    except CannotList as error:
        raise CannotRun(str(error)) from None


def features(found: dict[str, Any], asked: dict[str, Any]) -> frozenset[str]:
    """Which MPI-IO the stack has by itself, and if the file system has stripes."""
    ompio = str(found["libraries"].get("mpi", "")).startswith("Open MPI")
    striped = mount_of(Path(asked["place"]))["type"] in ("lustre", "beegfs", "pvfs2", "ceph")
    return frozenset({"ompio" if ompio else "romio"} | ({"striped"} if striped else set()))


def tune(session: Session, job: Job, space: Space, budget: float) -> Found:
    """All of it is in the store afterwards, however it ends."""
    wish = session.asked["wish"]
    for line in leftovers.remove(job.place):
        say(line)
    say(f"{space.size} settings; {session.folder}")
    try:
        with Bar("tune") as bar:
            watch = Progress(bar, budget, wish, space.default)
            return Drive(session, space, Runner(job, space), budget, wish, watch).all()
    finally:
        if session.trials:
            store(session)


def store(session: Session) -> None:
    place = Path(os.environ.get("IOGAUGE_STORE") or session.output / "store")
    try:
        ingest(session.write_report(), place, strict=False)
    except AnalysisError as error:
        say(f"not stored: {error}")


def begin(args: argparse.Namespace) -> Session:
    """A new search, or one that was stopped. Raises CannotRun and NoSuchSearchError."""
    output = paths.output()
    if args.resume is not None:
        session = Session.resume(output, args.resume)
        session.asked["budget"] = args.budget or session.asked["budget"]
        return session
    if not args.pattern:
        raise CannotRun("--pattern is missing, such as --pattern 's3d --grid 100x100x100'")
    args.budget = args.budget or seconds(BUDGET)
    return Session.begin(output, new_name(), asked_for(args))


def work(args: argparse.Namespace) -> int:
    session = begin(args)
    job = job_of(session.asked)
    known = listing(job)
    asked = session.asked
    pattern, default = str(asked["pattern"]).split()[0], str(asked["default"])
    space = space_of(
        known, pattern, default, asked["processes"], asked["scope"], features(known, asked)
    )
    try:
        found = tune(session, job, space, float(asked["budget"]))
    except DefaultFailedError as error:
        say(f"the default itself does not run: {error}; --default names another")
        return FAILED
    except KeyboardInterrupt:
        say(f"stopped; go on with: iogauge tune --resume {session.name}")
        return 128 + signal.SIGINT
    advice = Advice(session, space, found)
    print("\n".join(advice.lines()))
    folder = args.write or session.folder / "advice"
    print("\n".join(f"wrote    {path}" for path in advice.write(folder, bool(asked["site"]))))
    return DECIDED if advice.is_decided else UNDECIDED


def run(args: argparse.Namespace) -> int:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        with lock.measuring("iogauge tune", lock.both(paths.output()), say):
            return work(args)
    except (CannotRun, NoSuchSearchError, NoSuchCallError) as error:
        raise UsageError(str(error)) from None
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _stop(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
