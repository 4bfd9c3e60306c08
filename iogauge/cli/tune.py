# SPDX-License-Identifier: BSD-3-Clause
"""`tune`: the fastest setting for a pattern on a file system, and its gain."""

import argparse
import os
import re
import shlex
import signal
import sys
from pathlib import Path
from typing import Any, get_args

from iogauge.analysis.errors import AnalysisError, UsageError
from iogauge.analysis.judge.advice import DEFAULT
from iogauge.analysis.statistics.tuning_search import DefaultFailedError, Found
from iogauge.analysis.store.ingest import ingest
from iogauge.common import lock, paths
from iogauge.common.mounts import IN_MEMORY, mount_of
from iogauge.common.progress import Bar
from iogauge.common.text import notices, unknown
from iogauge.measure import kernels, sites
from iogauge.measure.iokernel import Stack
from iogauge.measure.session import new_name
from iogauge.measure.tune.advice import Advice
from iogauge.measure.tune.drive import Drive, Progress
from iogauge.measure.tune.space import Scope, Space, space_of
from iogauge.measure.tune.trials import Job, Runner, Session
from reframe_tests.machine import leftovers

from . import options

DECIDED, FAILED, UNDECIDED = 0, 1, 3
notice = notices("tune")
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
BUDGET = "10m"


def seconds(words: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", words)
    if not match or not float(match[1]):
        raise argparse.ArgumentTypeError(f"{words!r}: expected a time such as 600, 90s, 10m or 1h")
    return float(match[1]) * UNITS[match[2]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--pattern")
    add("--fs", default="disk")
    add("--stack", default="openmpi")
    add("--processes", type=int, default=4)
    add("--budget", type=seconds)
    add("--default", default=DEFAULT)
    add("--for", dest="wish", choices=("write", "read", "both"), default="write")
    scopes = parser.add_mutually_exclusive_group()
    parser.set_defaults(scope="everything")
    for name in get_args(Scope)[1:]:
        scopes.add_argument(f"--{name}", dest="scope", action="store_const", const=name)
    add("--fsync", action=argparse.BooleanOptionalAction)
    add("--site-entry", dest="site", action="store_true")
    add("--write", type=options.out_folder)
    add("--resume", nargs="?", const="")
    add("--seed", type=int, default=1)
    add("--program", type=options.in_file)
    add("--launch")


def asked_for(args: argparse.Namespace) -> dict[str, Any]:
    """The parameters that determine the search, for its record."""
    systems = sites.local_file_systems()
    place = Path(systems[args.fs]["path"] if args.fs in systems else args.fs).absolute()
    if args.fs in systems and systems[args.fs].get("create"):
        place.mkdir(parents=True, exist_ok=True)
    if not place.is_dir():
        raise UsageError(f"--fs {unknown(args.fs, systems)}, or an existing folder")
    in_memory = mount_of(place)["type"] in IN_MEMORY
    of_this_call = ("run", "write", "resume")
    return {
        **{name: value for name, value in vars(args).items() if name not in of_this_call},
        "place": str(place),
        "launch": args.launch or "",
        "fsync": not in_memory if args.fsync is None else args.fsync,
        "program": str(args.program.absolute()) if args.program else "",
        "command": shlex.join(["iogauge", *sys.argv[1:]]),
    }


def job_of(asked: dict[str, Any]) -> Job:
    environ = kernels.environ(asked["stack"])
    stack = Stack.of(environ, Path(asked["program"]))
    if asked["processes"] > stack.most:
        raise UsageError(f"--processes {asked['processes']}: use at most {stack.most}: {stack.why}")
    asked["program"] = asked["program"] or str(kernels.build_for_runs(environ))
    launch = shlex.split(asked["launch"]) or [*stack.launch, "-n", str(asked["processes"])]
    return Job(
        tuple(launch),
        Path(asked["program"]),
        tuple(shlex.split(asked["pattern"])),
        Path(asked["place"]),
        asked["fsync"],
        stack.variables,
    )


def space(asked: dict[str, Any], job: Job) -> Space:
    """The search space: this iokernel's methods, the stack's MPI-IO, the file system's stripes."""
    listing = Stack("", job.program, (), job.environment).listing()
    features = {"ompio" if str(listing["libraries"].get("mpi")).startswith("Open MPI") else "romio"}
    if mount_of(job.place)["type"] in ("lustre", "beegfs", "pvfs2", "ceph"):
        features.add("striped")
    return space_of(
        listing,
        job.pattern[0],
        str(asked["default"]),
        asked["processes"],
        asked["scope"],
        frozenset(features),
    )


def search(session: Session, job: Job, space: Space) -> Found:
    wish, budget = session.asked["wish"], float(session.asked["budget"])
    for line in leftovers.remove(job.place):
        notice(line)
    notice(f"{space.size} settings; {session.folder}")
    try:
        with Bar("tune") as bar:
            watch = Progress(bar, budget, wish, space.default)
            return Drive(session, space, Runner(job, space), budget, wish, watch).all()
    finally:
        if session.trials:
            place = Path(os.environ.get("IOGAUGE_STORE") or session.output / "store")
            try:
                ingest(session.write_report(), place, strict=False, notice=notice)
            except AnalysisError as error:
                notice(f"not stored: {error}")


def begin(args: argparse.Namespace) -> Session:
    output = paths.output()
    if args.resume is not None:
        session = Session.resume(output, args.resume)
        session.asked["budget"] = args.budget or session.asked["budget"]
        return session
    if not args.pattern:
        raise UsageError("--pattern is missing; use one such as --pattern 's3d --grid 100x100x100'")
    args.budget = args.budget or seconds(BUDGET)
    return Session(output, new_name(), asked_for(args))


def work(args: argparse.Namespace) -> int:
    session = begin(args)
    job = job_of(session.asked)
    of = space(session.asked, job)
    try:
        found = search(session, job, of)
    except DefaultFailedError as error:
        notice(f"the default itself does not run: {error}; choose another with --default")
        return FAILED
    except KeyboardInterrupt:
        notice(f"stopped; to continue: iogauge tune --resume {session.name}")
        return 128 + signal.SIGINT
    advice = Advice(session, of, found)
    print("\n".join(advice.lines()))
    folder = args.write or session.folder / "advice"
    written = advice.write(folder, bool(session.asked["site"]))
    print("\n".join(f"wrote    {path}" for path in written))
    return DECIDED if advice.is_decided else UNDECIDED


def run(args: argparse.Namespace) -> int:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    with lock.measuring("iogauge tune", lock.both(paths.output()), notice):
        return work(args)
