# SPDX-License-Identifier: BSD-3-Clause
"""`store add`, `store recover` and `store path` (docs/how-to/interrupted-session.md)."""

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from iogauge.analysis import errors
from iogauge.analysis.session import loader, recover
from iogauge.analysis.session.loader import INTERRUPTED, all_reports, measured, read_report
from iogauge.analysis.store import database
from iogauge.analysis.store.ingest import clean, ingest
from iogauge.common import progress
from iogauge.common.run_folder import JOB, sessions
from iogauge.common.text import notices, one_line

from . import formats, options

Row = dict[str, Any]
notice = notices("iogauge")
RECOVERED = ("session", "cases", "unfinished", "report")
add_path = options.add_store
# What ends a job; a job of this machine ends with the session.
CANCEL = {
    "slurm.j2": "scancel",
    "squeue.j2": "scancel",
    "pbs.j2": "qdel",
    "torque.j2": "qdel",
    "cobalt.j2": "qdel",
    "loadleveler.j2": "llcancel",
}


def run_path(args: argparse.Namespace) -> int:
    print(options.store_of(args).absolute())
    return errors.EXIT_OK


def add_add(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("reports", nargs="*", type=options.in_file)
    add("--last", action="store_true")
    add("--quiet", action="store_true")
    options.add_store(parser)
    formats.add_format(parser)


def run_add(args: argparse.Namespace) -> int:
    reports, place = args.reports, options.store_of(args)
    if not reports:
        reports = [options.last_report(args.output)] if args.last else all_reports(args.output)
    done, problems = [], 0
    clean(place, notice)
    for report in progress.steps(reports, "store"):
        try:
            if loader.is_database(report):
                found = list(loader.database_reports(report))
            else:
                data = read_report(report)
                found = [data] if args.reports or measured(data) else []
            done += [ingest(report, place, data, notice=notice) for data in found]
        except errors.AnalysisError as error:
            problems += 1
            say_not_stored(error)
    if not done and not problems:
        why = "expected reports of sessions, found dry runs"
        raise errors.NothingFoundError(f"{args.output}: {why}")
    if done:
        database.compact(place)
        if not args.quiet:
            columns = ("session", "state", "runs", "records")
            formats.show(args, done, columns, note=f"store: {place}")
    return errors.EXIT_DATA if problems else errors.EXIT_OK


def say_not_stored(error: errors.AnalysisError) -> None:
    notice(f"not stored: {one_line(str(error), errors.LONGEST)}")


def add_recover(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sessions", nargs="*")
    options.add_store(parser)
    formats.add_format(parser)


def run_recover(args: argparse.Namespace) -> int:
    done: list[Row] = []
    problems = 0
    reports, place = recover.known(args.output), options.store_of(args)
    there = sessions(args.output)
    if unknown := set(args.sessions) - {*there, *(one.name for one in reports)}:
        names = ", ".join(sorted(unknown))
        raise errors.NothingFoundError(f"{args.output}: found no session {names}; see --output")
    ours = [one for one in reports if one.is_ours]
    missing = database.missing(place, [one.uuid for one in ours])
    wanted = [one.path for one in ours if one.uuid in missing]
    for name in recover.without_report(there, reports):
        if not (name in args.sessions if args.sessions else _has_ended(args.output, name)):
            continue
        cases, running = recover.read_cases(args.output, name)
        for line in _may_run(running):
            notice(f"session {name}: {line}")
        if cases:
            report = recover.write_interrupted(args.output, name, cases)
            wanted.append(report)
            values = (name, len(cases), len(running), str(report))
            done.append(dict(zip(RECOVERED, values, strict=True)))
    for report in wanted:
        try:
            ingest(report, place, strict=False, notice=notice)
        except errors.AnalysisError as error:
            problems += 1
            say_not_stored(error)
    if done or formats.for_programs(args):
        formats.show(args, done, RECOVERED, note=f"marked as {INTERRUPTED}")
    return errors.EXIT_DATA if problems else errors.EXIT_OK


def _has_ended(output: Path, name: str) -> bool:
    ended = recover.has_ended(output, name)
    if ended is None:
        command = f"iogauge store recover {name}"
        notice(f"session {name} is of another machine; if it has ended: {command}")
    return bool(ended)


def _may_run(folders: Sequence[Path]) -> Iterator[str]:
    """Print a line for each batch job that may still run, once: its file is then removed."""
    for folder in folders:
        try:
            scheduler, number = (folder / JOB).read_text(encoding="utf-8").split()
            (folder / JOB).unlink()
        except (OSError, ValueError):
            continue
        if scheduler in CANCEL and re.fullmatch(r"[\w.@\[\]-]+", number):
            cancel = f"{CANCEL[scheduler]} {number}"
            yield f"{folder.name}: its job may still be running; to end it: {cancel}"
