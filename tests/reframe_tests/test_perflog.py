# SPDX-License-Identifier: BSD-3-Clause
"""The performance log has the lines that ReFrame's own handler makes, a record for each figure."""

from __future__ import annotations

import logging as std_logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from reframe.core import logging

from site_configs.support import common, perflog

FIGURES = {
    "local:host:write_bw": (1.5, 2.0, -0.1, None, "MiB/s", "pass"),
    "local:host:open_time": (0.25, 0, None, None, "s", "pass"),
}


class Case:
    """What ReFrame's logger asks a test."""

    raw_params: ClassVar[dict[str, Any]] = {}
    name = display_name = "S3d %call=posix"
    system, pattern, method, mode, scale, fs, caches = (
        "local",
        "s3d",
        "posix",
        "",
        "smoke",
        "ram",
        "",
    )
    num_tasks, tags, jobid, ended = 4, {"quick", "s3d"}, "17", 1.7e9
    gathered = 0

    def __init__(self, figures: dict[str, Any]) -> None:
        self.perfvalues = figures

    @classmethod
    def variant_name(cls) -> str:
        return "S3d"

    @classmethod
    def loggable_attrs(cls) -> list[tuple[str, str | None]]:
        cls.gathered += 1
        names = ("name", "system", "pattern", "method", "mode", "scale", "fs", "caches", "jobid")
        others = [("ended", "job_completion_time_unix"), ("perfvalues", None), ("tags", None)]
        return [*((name, None) for name in names), ("num_tasks", None), *others]

    def is_performance_check(self) -> bool:
        return bool(self.perfvalues)

    def info(self) -> str:
        return "S3d on local:host"


def logged(folder: Path, handler: Any, case: Case, *, multiline: bool) -> str:
    """The log's text after one case that passed."""
    section = common.logging()[0]["handlers_perflog"][0]
    handler.setFormatter(logging.RFC3339Formatter(fmt=section["format"], datefmt="%FT%T"))
    handler.setLevel("info")
    logger = logging.Logger("perf")
    logger.setLevel("info")
    logger.addHandler(handler)
    partition, environ = SimpleNamespace(name="host"), SimpleNamespace(name="mpich")
    task = SimpleNamespace(testcase=(case, partition, environ), result="pass", succeeded=True)
    adapter = logging.LoggerAdapter(logger, case)
    adapter.log_result(logging.INFO, task, multiline=multiline)
    handler.close()
    return (folder / "local" / "host" / "S3d.log").read_text()


@pytest.mark.parametrize("figures", [FIGURES, {}], ids=["two figures", "no performance check"])
def test_the_lines_are_reframes_own(tmp_path: Path, figures: dict[str, Any]) -> None:
    section = common.logging()[0]["handlers_perflog"][0]
    mine = perflog.LineForEachFigure(
        str(tmp_path / "mine" / section["prefix"]), section["format"], section["append"]
    )
    own = logging.MultiFileHandler(
        str(tmp_path / "own" / section["prefix"]), mode="a+", fmt=section["format"], perffmt=""
    )
    expected = logged(tmp_path / "own", own, Case(figures), multiline=True)
    before = Case.gathered
    found = logged(tmp_path / "mine", mine, Case(figures), multiline=False)
    assert found == expected and len(found.splitlines()) == 1 + max(1, len(figures))
    assert Case.gathered == before + 1


def test_a_record_is_formatted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each of its figures."""
    formatted = []
    stock = logging.CheckFieldFormatter.formatMessage

    def counted(formatter: Any, record: Any) -> str:
        formatted.append(record)
        return str(stock(formatter, record))

    monkeypatch.setattr(logging.CheckFieldFormatter, "formatMessage", counted)
    section = common.logging()[0]["handlers_perflog"][0]
    handler = perflog.LineForEachFigure(str(tmp_path / section["prefix"]), section["format"], True)
    text = logged(tmp_path, handler, Case(FIGURES), multiline=False)
    assert len(text.splitlines()) == 1 + len(FIGURES) and len(formatted) == 1


def test_the_terminal_gets_the_message_alone() -> None:
    """Of a record without the fields of a test, which ReFrame's formatter asks for."""
    record = std_logging.makeLogRecord({"msg": "P: write_bw: %g", "args": (1.5,)})
    assert logging.RFC3339Formatter(fmt="%(message)s").format(record) == "P: write_bw: 1.5"
