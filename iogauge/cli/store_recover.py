# SPDX-License-Identifier: BSD-3-Clause
"""`store recover`: sessions that were killed, from what their finished cases left.

ReFrame writes its report when a session ends. Where it was killed, each case that had begun has a
file case.json in the stage folder (one that had ended well: in the output folder), as
reframe_tests/framework/case_file.py leaves it. A report is made of those that had finished, which
is those that were checked or left a result document, marked as interrupted. A report that was
written, and not stored because `iogauge run` was killed then, is stored too.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from iogauge.analysis.errors import EXIT_DATA, EXIT_OK, AnalysisError, NothingFoundError
from iogauge.analysis.session import case_file
from iogauge.analysis.session.loader import (
    INTERRUPTED,
    REPORTS,
    all_reports,
    folders,
    measured,
    read_report,
)
from iogauge.analysis.store import database as store
from iogauge.common import processes
from iogauge.common.files import write_whole
from iogauge.common.run_folder import (
    BEGAN,
    CASE,
    DOCUMENT,
    JOB,
    case_files,
    is_session,
    places,
    sessions,
)

from . import formats, options
from .store_add import ingest

EXAMPLES = """\
examples:
  iogauge store recover                     all sessions below output/ that have no report
  iogauge store recover 20261121T174318-4711-1  this one, of another machine, which is over

`iogauge run` does this by itself before it measures. A session that is still running is left alone,
and one of another machine, unless it is named: nobody can see from here whether it runs.
"""

COLUMNS = ("session", "cases", "unfinished", "report")
Row = dict[str, Any]
# What ends a job; those of this machine end with the session.
CANCEL = {"slurm.j2": "scancel", "squeue.j2": "scancel", "pbs.j2": "qdel", "torque.j2": "qdel",
          "cobalt.j2": "qdel", "loadleveler.j2": "llcancel"}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sessions", nargs="*", metavar="SESSION",
        help="folders below the output folder whose sessions are over (default: all that are)",
    )  # fmt: skip
    options.add_store(parser)
    formats.add_format(parser, "what was recovered")


@dataclass(frozen=True)
class Known:
    """A report that can be read. A kill while it was written leaves one that cannot: then the cases
    make another one."""

    path: Path
    uuid: str
    folders: set[str]  # the session's, by name
    measured: bool

    @property
    def name(self) -> str:
        return self.path.stem.removeprefix("run-report-")

    @property
    def is_ours(self) -> bool:
        """Has the name that `iogauge run` gives it, which stores each of its sessions."""
        return self.measured and is_session(self.name)


def run(args: argparse.Namespace) -> int:
    """Make the reports, and put them into the store, with those that were made and not stored."""
    done: list[Row] = []
    problems = 0
    reports, place = known(args.output), options.store_of(args)
    names = {*sessions(args.output), *(one.name for one in reports)}
    if unknown := set(args.sessions) - names:
        raise NothingFoundError(f"{args.output}: there is no session {', '.join(sorted(unknown))}")
    ours = [one for one in reports if one.is_ours]
    missing = store.missing(place, [one.uuid for one in ours])
    wanted = [one.path for one in ours if one.uuid in missing]
    for name in lost(args.output, args.sessions, reports):
        cases, running = read_cases(args.output, name)
        for line in _may_run(running):
            say(f"session {name}: {line}")
        if cases:
            report = write_report(args.output, name, cases)
            wanted.append(report)
            done.append({
                "session": name, "cases": len(cases), "unfinished": len(running),
                "report": str(report),
            })  # fmt: skip
    for report in wanted:
        try:
            ingest(report, place, strict=False)
        except AnalysisError as error:
            problems += 1
            say(f"not stored: {error}")
    if done or formats.for_programs(args):
        formats.show(args, done, list(COLUMNS), note=f"marked as {INTERRUPTED}")
    return EXIT_DATA if problems else EXIT_OK


def say(text: str) -> None:
    options.say(f"iogauge: {text}")


def known(output: Path) -> list[Known]:
    """The reports that can be read."""
    found = []
    for path in all_reports(output, missing_ok=True):
        try:
            data = read_report(path)
        except AnalysisError:
            continue
        info = data["session_info"]
        found.append(Known(path, info["uuid"], folders(info), measured(data)))
    return found


def lost(
    output: Path, over: Sequence[str] = (), reports: Sequence[Known] | None = None
) -> list[str]:
    """Names of sessions that have folders and no report, and are not running; `over`: only these,
    which are known not to be."""
    known_ones = known(output) if reports is None else reports
    reported = {name for one in known_ones for name in one.folders}
    names = [name for name in sessions(output) if name not in reported]
    if over:
        return [name for name in names if name in over]
    return [name for name in names if _is_over(output, name)]


def _is_over(output: Path, name: str) -> bool:
    """Whether the process that wrote a session's files is gone; that nobody can know is said."""
    for path in case_files(output, name):
        data = case_file.read(path.parent)
        if data is not None:
            gone = processes.is_gone(str(data["session"].get("process")))
            if gone is None:
                say(f"session {name} was begun elsewhere: if it is over, give its name")
            return bool(gone)
    return False


def read_cases(output: Path, name: str) -> tuple[list[Row], list[Path]]:
    """What the finished cases said, in the order of their ends, and the folders of the others. Of
    one that is in both places, what it said in the output folder counts: its files are there first.
    Files that cannot be read are no cases."""
    found: dict[Path, Row] = {}
    running = []
    for place in reversed(places(output)):
        for path in sorted((place / name).glob(f"*/*/*/*/{CASE}")):
            folder = path.parent
            data = case_file.read(folder)
            if data is None:
                continue
            if not data["case"].get("checked", True) and not (folder / DOCUMENT).is_file():
                running.append(folder)
                continue
            where = dict.fromkeys(("outputdir", "stagedir"), str(folder.absolute()))
            found[folder.relative_to(place / name)] = {**data, "case": {**data["case"], **where}}
    return sorted(found.values(), key=lambda data: float(data["case"]["ended"])), running


def _may_run(folders: Sequence[Path]) -> Iterator[str]:
    """A line for each job of a batch system, once: then its file is removed."""
    for folder in folders:
        path = folder / JOB
        try:
            scheduler, number = path.read_text(encoding="utf-8").split()
            path.unlink()
        except (OSError, ValueError):
            continue
        if scheduler in CANCEL and re.fullmatch(r"[\w.@\[\]-]+", number):
            yield f"{folder.name}: its job may still run; {CANCEL[scheduler]} {number} ends it"


def write_report(output: Path, name: str, cases: list[dict[str, Any]]) -> Path:
    """In the form of ReFrame's own, as old as its last case: no older session becomes the last."""
    began = datetime.strptime(name[:15], BEGAN).astimezone()
    ended = max(began.timestamp(), *(data["case"]["ended"] for data in cases))
    first = cases[0]["session"]
    report = {
        "session_info": {
            "data_version": "4.2",
            "uuid": f"{INTERRUPTED}-{name}",
            "hostname": socket.gethostname(),
            "time_start": began.astimezone(timezone.utc).strftime("%Y%m%dT%H%M%S%z"),
            "time_start_unix": began.timestamp(),
            "time_elapsed": ended - began.timestamp(),
            "version": first.get("version"),
            "cmdline": f"{first.get('cmdline') or 'reframe'}  # {INTERRUPTED}",
            "workdir": first.get("workdir"),
            "prefix_output": str((output / name).absolute()),
            INTERRUPTED: True,
        },
        "runs": [{"testcases": [data["case"] for data in cases]}],
    }
    path = output / REPORTS / f"run-report-{name}.json"
    write_whole(path, json.dumps(report, indent=1) + "\n", modified=ended)
    return path
