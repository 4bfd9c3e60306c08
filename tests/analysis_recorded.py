# SPDX-License-Identifier: BSD-3-Clause
"""Recorded sessions for the tests of the analysis: copies that a test may change."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

from tests.forked_python import run_python

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(__file__).resolve().parent / "data"

# Those that do not import ReFrame.
NAMES = "advise compare expect expect_learn history report store summary trace why"
COMMANDS = tuple(f"iogauge.cli.{name}" for name in NAMES.split())

Json = dict[str, Any]


class Recorded:
    """A copy of a recorded session below `folder`."""

    def __init__(self, folder: Path, name: str = "session") -> None:
        self.folder = folder
        shutil.copytree(DATA / name, folder, dirs_exist_ok=True)
        self.output = folder / "results"
        self.report = self.output / "reports" / "run-report-0.json"

    def read(self) -> Json:
        data: Json = json.loads(self.report.read_text())
        return data

    def cases(self) -> list[Json]:
        """The report's entries of tests, without the build's."""
        return [case for case in self.read()["runs"][0]["testcases"] if not case["fixture"]]

    def edit(self, change: Callable[[Json], object]) -> None:
        """Change the report."""
        data = self.read()
        change(data)
        self.report.write_text(json.dumps(data))

    def edit_case(self, name: str, stack: str, change: Callable[[Json], object]) -> None:
        """Change the report's entry of the case whose display name is `name`."""

        def edit(data: Json) -> None:
            found = [
                case
                for run in data["runs"]
                for case in run["testcases"]
                if case["display_name"] == name and case["environ"] == stack
            ]
            assert found, f"no case {name!r} on {stack}"
            for case in found:
                change(case)

        self.edit(edit)

    def document(self, name: str, stack: str) -> Path:
        """Where the result document of a case is."""
        for case in self.cases():
            if case["display_name"] == name and case["environ"] == stack:
                relative = Path(case["outputdir"]).relative_to("/checkout")
                return self.folder / relative / "result.json"
        raise AssertionError(f"no case {name!r} on {stack}")

    def edit_document(self, name: str, stack: str, change: Callable[[Json], object]) -> None:
        path = self.document(name, stack)
        data = json.loads(path.read_text())
        change(data)
        path.write_text(json.dumps(data))


def s3d(call: str, fs: str = "ram") -> str:
    """The name of a recorded test."""
    return f"S3d %fs={fs} %call={call} %scale=smoke"


def documents() -> Iterator[Path]:
    """All recorded result documents."""
    for name in ("session", "session-all"):
        yield from sorted((DATA / name).rglob("result.json"))


def run_analysis(
    *arguments: object, stdout: int = subprocess.PIPE, **more: str
) -> subprocess.CompletedProcess[str]:
    """`iogauge ...` as a user runs it, not in a terminal; `more`: of environment."""
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", **more}
    command = ["-m", "iogauge", *map(str, arguments)]
    return run_python(command, environment, COMMANDS, stdout, seconds=600)


def write_parquet(path: Path, query: str) -> None:
    """The rows of a query, which may read the file that it replaces."""
    with duckdb.connect() as connection:
        new = path.with_suffix(".new")
        connection.execute(f"COPY ({query}) TO '{new}' (FORMAT parquet)")
    new.replace(path)
