# SPDX-License-Identifier: BSD-3-Clause
"""Reports for sessions that left none, made from what their finished cases recorded."""

import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from iogauge.common import json_file, processes
from iogauge.common.run_folder import BEGAN, CASE, DOCUMENT, case_files, is_session, places

from ..errors import AnalysisError
from . import case_file, loader

Row = dict[str, Any]


@dataclass(frozen=True)
class Known:
    """A readable report; one that a kill cut short is made again. `folders`: by name."""

    path: Path
    uuid: str
    folders: set[str]
    measured: bool

    @property
    def name(self) -> str:
        return self.path.stem.removeprefix("run-report-")

    @property
    def is_ours(self) -> bool:
        """Whether `iogauge run` made it, by its name: such sessions are stored already."""
        return self.measured and is_session(self.name)


def known(output: Path) -> list[Known]:
    found = []
    for path in loader.all_reports(output, missing_ok=True):
        with suppress(AnalysisError):
            data = loader.read_report(path)
            info = data["session_info"]
            found.append(Known(path, info["uuid"], loader.folders(info), loader.measured(data)))
    return found


def has_ended(output: Path, name: str) -> bool | None:
    """Whether the process that wrote a session's files has ended; None if unknown."""
    for path in case_files(output, name):
        if data := case_file.read(path.parent):
            return processes.is_gone(str(data["session"].get("process")))
    return False


def without_report(there: Sequence[str], reports: Sequence[Known]) -> list[str]:
    reported = {name for one in reports for name in one.folders}
    return [name for name in there if name not in reported]


def read_cases(output: Path, name: str) -> tuple[list[Row], list[Path]]:
    """What the finished cases said, by their ends, and the folders of the others. Of a case in both
    places the output folder counts. Unreadable files are no cases."""
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


def write_interrupted(output: Path, name: str, cases: Sequence[Row]) -> Path:
    first = cases[0]["session"]
    info = {
        "uuid": f"{loader.INTERRUPTED}-{name}",
        "version": first.get("version"),
        loader.SEED_KEY: first.get(loader.SEED_KEY),
        "cmdline": f"{first.get('cmdline') or 'reframe'}  # {loader.INTERRUPTED}",
        "workdir": first.get("workdir"),
        loader.INTERRUPTED: True,
    }
    ended = max(float(data["case"]["ended"]) for data in cases)
    return write_report(output, name, [data["case"] for data in cases], ended, info)


def write_report(output: Path, name: str, cases: Sequence[Row], ended: float, info: Row) -> Path:
    """Write a report in ReFrame's format, dated by its last case, so that an old session is not the
    last."""
    began = datetime.strptime(name[:15], BEGAN).timestamp()
    ended = max(began, ended)
    session = {
        "data_version": "4.2",
        "hostname": socket.gethostname(),
        "time_start_unix": began,
        "time_elapsed": ended - began,
        "prefix_output": str((output / name).absolute()),
        **info,
    }
    path = output / loader.REPORTS / f"run-report-{name}.json"
    report = {"session_info": session, "runs": [{"testcases": cases}]}
    json_file.write(path, report, modified=ended)
    return path
