# SPDX-License-Identifier: BSD-3-Clause
"""Sessions that were killed: what had finished is a session like any other, called interrupted."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from analysis.commands.recover import lost, read_cases
from analysis.errors import EXIT_NOT_VERIFIED, EXIT_OK
from analysis.session.loader import last_report, load_session

DATA = Path(__file__).parent / "data" / "session" / "results"
RECORDED = DATA / "20261120T174318"
NAME = "20261121T120000"


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """The recorded session, two of whose cases had finished, and one more had failed, when it was
    killed; and a whole session that is older."""
    output = tmp_path / "output"
    shutil.copytree(DATA / "reports", output / "reports")
    shutil.copytree(RECORDED, output / RECORDED.name)
    os.utime(output / "reports" / "run-report-0.json", (1.7e9, 1.7e9))
    report = json.loads((output / "reports" / "run-report-0.json").read_text())
    cases = [case for case in report["runs"][0]["testcases"] if case["result"] == "pass"]
    cases = [case for case in cases if not case["fixture"]][:3]
    for number, case in enumerate(cases):
        failed = number == 2
        tail = Path(case["outputdir"]).relative_to("/checkout/results/20261120T174318")
        folder = output / ("stage" if failed else "") / NAME / tail
        shutil.copytree(RECORDED / tail, folder)
        kept = {key: value for key, value in case.items() if key != "perfvalues"}
        kept |= {"ended": 1.795e9 + number, "outputdir": str(folder), "stagedir": str(folder)}
        kept |= {"result": "fail", "fail_reason": "killed"} if failed else {}
        session = {"version": "4.10.4", "cmdline": "reframe -r", "workdir": "/", "process": 1}
        (folder / "case.json").write_text(json.dumps({"session": session, "case": kept}))
    return output


def recover(output: Path, *words: str) -> int:
    return main(["recover", *words, "--output", str(output), "--store", str(output / "store")])


def test_finished_cases_become_a_session(killed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recover(killed, "--json") == EXIT_OK
    (said,) = json.loads(capsys.readouterr().out)
    assert (said["session"], said["cases"]) == (NAME, 3)
    session = load_session(Path(said["report"]))
    assert [run.status for run in session.runs] == ["ok", "ok", "failed"]
    assert all(run.result and run.result.verdict == "verified" for run in session.runs[:2])
    assert "interrupted" in session.uuid and session.command.endswith("# interrupted")
    assert list((killed / "store").glob("**/interrupted-*.parquet"))
    assert last_report(killed) == Path(said["report"])
    assert main(["summary", said["report"], "--json"]) == EXIT_NOT_VERIFIED


def test_once_is_enough(killed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recover(killed) == EXIT_OK
    assert NAME in capsys.readouterr().out
    assert lost(killed) == []
    assert recover(killed) == EXIT_OK
    assert capsys.readouterr().out == ""


def test_a_session_that_runs_is_left_alone(killed: Path) -> None:
    running = f"{NAME}-{os.getpid()}"
    (killed / NAME).rename(killed / running)
    (killed / "stage" / NAME).rename(killed / "stage" / running)
    assert lost(killed) == []
    assert lost(killed, [running]) == [running]  # whoever started it knows better


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"case": 1}', '{"case": {"ended": "x"}}', "[" * 10**5]
)
def test_a_case_that_cannot_be_read_is_none(killed: Path, text: str) -> None:
    (first, *_) = sorted((killed / NAME).glob("*/*/*/*/case.json"))
    first.write_text(text)
    assert len(read_cases(killed, NAME)) == 2
    assert recover(killed) == EXIT_OK


def test_folders_of_other_names_and_no_folders_are_no_sessions(tmp_path: Path) -> None:
    assert lost(tmp_path / "none") == []
    for name in ("reports", "perflogs", "20261121", "20261121T120000-x"):
        (tmp_path / name / "a" / "b" / "c" / "d").mkdir(parents=True)
    assert lost(tmp_path) == []


def unreadable(data: Any) -> str:
    return json.dumps(data)[:-5]


def test_a_broken_report_of_another_session_stops_nothing(killed: Path) -> None:
    (killed / "reports" / "run-report-1.json").write_text(unreadable({"session_info": {}}))
    assert NAME in lost(killed)
