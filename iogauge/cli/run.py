# SPDX-License-Identifier: BSD-3-Clause
"""`run`: a session, two stacks compared, or job scripts only. `collect`: the scripts' results."""

import argparse
import os
import re
import shlex
import subprocess
from pathlib import Path

from iogauge.analysis.errors import EXIT_OK, UsageError
from iogauge.common import lock, paths
from iogauge.common.text import CONTROL, notice, unknown
from iogauge.measure import kernels, offline, rounds, run_session, sites, stacks
from iogauge.measure.session import REFRAME, measuring_session
from iogauge.measure.sites import Asked
from reframe_tests.framework.variants import SCALES

from . import options

QUICK = "quick"
# How ReFrame's actions that start no job begin.
NO_RUN = (
    *("-l", "-L", "-V", "-h", "--list", "--describe", "--detect", "--ci", "--show", "--dry"),
    *("--version", "--help", "--delete", "--performance-compare"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("-n", dest="tests", action="append", default=[])
    add("-t", dest="tags", action="append", default=[])
    add("-S", dest="settings", type=options.setting, action="append", default=[])
    add("--site", default=sites.LOCAL)
    add("--system")
    add("--stack", type=options.names, default=[])
    add("--fs", type=options.names, default=[])
    add("--scale", type=options.names, default=[])
    add("--rounds", type=options.count)
    add("-v", "--verbose", action="store_true")
    add("--dry-run", action="store_true")
    add("-o", "--output", type=options.out_folder)
    add("--there")
    add("--iokernel")
    add("--parent", type=int, help=argparse.SUPPRESS)  # what `make` says of itself
    add("reframe", nargs="*")


def run(args: argparse.Namespace) -> int:
    for name in () if args.dry_run else ("there", "iokernel"):
        if getattr(args, name):
            raise UsageError(f"--{name}: use it with --dry-run only")
    if args.rounds and len(args.stack) != 2:
        raise UsageError("--rounds: expected two stacks to compare, as --stack openmpi,mpich")
    asked = _asked(args)
    paths.pass_on()
    if args.dry_run:
        return _render(args, asked)
    os.environ["IOGAUGE_OUTPUT"] = str((args.output or paths.output()).absolute())
    if asked.is_local:
        use(args.stack)
    if any(word.startswith(NO_RUN) for word in args.reframe):
        return subprocess.run([REFRAME, *asked.options()], check=False).returncode
    if asked.is_local and not paths.is_checkout() and not paths.builds().exists():
        notice(f"run: iokernel is built first, in {paths.builds()} (a minute)")
    if not sites.runs_here(sites.partitions(asked.site)):  # for other nodes
        os.environ.setdefault(lock.ESCAPE, lock.MACHINE)
    with measuring_session(f"iogauge run {shlex.join(asked.words)}"[:80], args.parent) as child:
        if args.rounds:
            names = [
                str(kernels.environ(name)["name"]) if asked.is_local else name
                for name in args.stack
            ]
            return run_session.compare(child, names, args.rounds, asked.options())
        seconds = rounds.SECONDS if asked.is_local and args.rounds is None else None
        return run_session.run(child, asked.options(), paths.output(), seconds)


def use(names: list[str]) -> None:
    names = names or os.environ.get("IOGAUGE_STACKS", "").split()
    if missing := [name for name in names if kernels.lacking(name)]:
        stacks.install(missing)
    os.environ["IOGAUGE_STACKS"] = " ".join(names)


def _asked(args: argparse.Namespace) -> Asked:
    site = sites.find(args.site)
    is_local = site.stem == sites.LOCAL
    parts = sites.partitions(site)
    known = {"scale": SCALES, "fs": [fs for part in parts for fs in part["extras"]["filesystems"]]}
    known["stack"] = [name for part in parts for name in part["environs"] if not is_local]
    for option, names in known.items():  # ReFrame would leave out what it does not know
        for name in getattr(args, option):
            if names and name not in names:
                raise UsageError(f"--{option} {unknown(name, dict.fromkeys(names))}")
    selects = ("-n", "--name", "-t", "--tag")
    chosen = any(word.startswith(selects) for word in args.reframe) or (args.tests and not is_local)
    tags = args.tags or ([] if chosen or args.scale else [QUICK])
    # File systems and scales are tags of tests, too.
    tags = [*tags, *(_any_of(given) for given in (args.fs, args.scale) if given)]
    settings = (["repeats=1"] if is_local and not args.rounds else []) + args.settings
    words = ["--exec-policy=serial"] if sites.runs_here(parts) else []
    for option, values in (("-n", args.tests), ("-t", tags), ("-S", settings)):
        words += [word for value in values for word in (option, value)]
    if args.stack and not is_local:
        words += ["-p", _any_of(args.stack)]
    words += ["-v"] * args.verbose
    return Asked(site, args.system or site.stem, (*words, *args.reframe))


def _any_of(names: list[str]) -> str:
    return f"^({'|'.join(map(re.escape, names))})$"


def _render(args: argparse.Namespace, asked: Asked) -> int:
    if asked.is_local and args.stack:
        os.environ["IOGAUGE_STACKS"] = " ".join(args.stack)
    target: Path = args.output or Path("scripts")
    there = args.there or str(target.absolute())
    if not Path(there).is_absolute() or CONTROL.search(there):
        right = "an absolute path without control characters"
        raise UsageError(f"--there {there!r}: expected {right}")
    scripts, skipped = offline.render(asked, target, there, args.iokernel or "iokernel")
    print(*scripts, sep="\n")
    if skipped:
        notice(f"run: {skipped}")
    return EXIT_OK


def add_collect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=options.in_path)
    parser.add_argument("--site", type=options.in_file)


def run_collect(args: argparse.Namespace) -> int:
    paths.pass_on()
    return offline.collect(args.folder, args.site)
