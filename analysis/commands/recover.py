# SPDX-License-Identifier: BSD-3-Clause
"""`recover`: sessions that were killed, from what their finished cases left.

ReFrame writes its report when a session ends. Where it was killed, each case that had finished has
a file case.json in the output folder (a failed one: in the stage folder), as
reframe_tests/framework/case_file.py leaves it. A report is made of these, marked as interrupted.
"""

from __future__ import annotations

import argparse
import json
import re
import socket
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from iogauge import json_file
from iogauge.files import write_whole
from iogauge.run_folder import CASE

from ..errors import EXIT_OK, AnalysisError
from ..session.loader import REPORTS, all_reports, read_report
from . import formats, options
from .ingest import ingest

EXAMPLES = """\
examples:
  python -m analysis recover                     all sessions below output/ that have no report
  python -m analysis recover --output /scratch/me/output --json

`make run` does this by itself before it measures. A session that is still running is left alone.
"""

COLUMNS = ("session", "cases", "report")
INTERRUPTED = "interrupted"
Row = dict[str, Any]
# A session's folder: when it began, and which process it was; of before 2026-11-22 without that.
FOLDER = re.compile(r"(20\d{6}T\d{6})(?:-(\d+))?")
BEGAN = "%Y%m%dT%H%M%S"
LAST = 2.0**33  # seconds since 1970


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sessions", nargs="*", metavar="SESSION",
        help="folders below the output folder whose sessions are over (default: all that are)",
    )  # fmt: skip
    options.add_output(parser)
    options.add_store(parser)
    formats.add_format(parser, "what was recovered")


def run(args: argparse.Namespace) -> int:
    """Make the reports, and put them into the store."""
    done: list[Row] = []
    for name in lost(args.output, args.sessions):
        cases = read_cases(args.output, name)
        if cases:
            report = write_report(args.output, name, cases)
            ingest(report, args.store)
            done.append({"session": name, "cases": len(cases), "report": str(report)})
    if done or formats.for_programs(args):
        formats.show(args, done, list(COLUMNS), note=f"marked as {INTERRUPTED}")
    return EXIT_OK


def lost(output: Path, over: Sequence[str] = ()) -> list[str]:
    """Names of sessions that have folders and no report, and are not running; `over`: only these,
    which are known not to be."""
    known = set()
    try:
        reports = all_reports(output)
    except AnalysisError:
        reports = []
    for report in reports:
        try:
            info = read_report(report)["session_info"]
        except AnalysisError:
            continue  # whose it is cannot be known: its folder makes another report
        known.add(Path(info.get("prefix_output") or "").name)
    found = {path.name for place in _places(output) if place.is_dir() for path in place.iterdir()}
    if over:
        return sorted(name for name in (found - known) & set(over) if is_session(name))
    return sorted(name for name in found - known if _is_over(name))


def _places(output: Path) -> tuple[Path, Path]:
    return output, output / "stage"


def _is_over(name: str) -> bool:
    """A session's folder whose process is gone. (A number may have been given out again: then the
    session waits for another time.)"""
    match = FOLDER.fullmatch(name)
    return is_session(name) and not (match and match[2] and Path(f"/proc/{match[2]}").exists())


def is_session(name: str) -> bool:
    """A folder's name that begins with a time there is."""
    match = FOLDER.fullmatch(name)
    try:
        return match is not None and bool(datetime.strptime(match[1], BEGAN))
    except ValueError:
        return False


def read_cases(output: Path, name: str) -> list[dict[str, Any]]:
    """What the finished cases said, in the order of their ends; of one that is in both places, what
    it said in the output folder. Files that cannot be read are no cases."""
    found: dict[str, dict[str, Any]] = {}
    for place in reversed(_places(output)):
        for path in sorted((place / name).glob(f"*/*/*/*/{CASE}")):
            try:
                data = json_file.read(path, CASE)
                case = {**data["case"], "ended": _time(data["case"]["ended"])}
                session = dict(data["session"])
                found[str(path.parent.relative_to(place / name))] = {
                    "session": session, "case": case
                }  # fmt: skip
            except (json_file.Unreadable, ValueError, KeyError, TypeError):
                continue
    return sorted(found.values(), key=lambda data: float(data["case"]["ended"]))


def _time(ended: Any) -> float:
    """Of a case's end; `ValueError` for what no file's time can be."""
    if not 0 <= float(ended) < LAST:
        raise ValueError(f"{ended} is no time")
    return float(ended)


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
