# SPDX-License-Identifier: BSD-3-Clause
"""Sessions that were killed: what had finished is a session like any other, called interrupted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.errors import EXIT_DATA, EXIT_NOT_VERIFIED, EXIT_OK, AnalysisError
from iogauge.analysis.session import recover as recovery
from iogauge.analysis.session.loader import last_report, load_session
from iogauge.analysis.session.recover import read_cases
from iogauge.cli.main import main
from iogauge.common import processes
from iogauge.common.run_folder import sessions

DATA = Path(__file__).parents[2] / "data" / "session" / "results"
RECORDED = DATA / "20261120T174318"
NAME = "20261121T120000"


def lost(output: Path) -> list[str]:
    """The sessions that have ended without a report."""
    names = recovery.without_report(sessions(output), recovery.known(output))
    return [name for name in names if recovery.has_ended(output, name)]


def gone() -> str:
    """A process that was on this machine, and is no more."""
    process = subprocess.Popen(["sleep", "100"])
    identity = processes.identity(process.pid)
    process.kill()
    process.wait()
    return identity


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
        session = {"version": "4.10.4", "cmdline": "reframe -r", "workdir": "/", "process": gone()}
        (folder / "case.json").write_text(json.dumps({"session": session, "case": kept}))
    return output


def recover(output: Path, *words: str) -> int:
    return main(
        ["store", "recover", *words, "--output", str(output), "--store", str(output / "store")]
    )


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


def test_what_cannot_be_stored_is_said(
    killed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the rest is done: the report of the session is written."""

    def full(*_: Any, **more: Any) -> None:
        raise AnalysisError("no room\n left")

    monkeypatch.setattr("iogauge.cli.store.ingest", full)
    assert recover(killed) == EXIT_DATA
    done = capsys.readouterr()
    assert done.err.count("iogauge: not stored: no room left\n") == 1
    assert NAME in done.out and lost(killed) == []


def edit(killed: Path, **change: Any) -> None:
    """Change what all case files say of their session."""
    for path in killed.rglob("case.json"):
        data = json.loads(path.read_text())
        path.write_text(json.dumps({**data, "session": {**data["session"], **change}}))


def test_a_session_that_runs_is_left_alone(killed: Path) -> None:
    edit(killed, process=processes.identity(os.getpid()))
    assert lost(killed) == []
    assert recover(killed, NAME) == EXIT_OK  # whoever started it knows better
    assert list((killed / "store").glob("**/interrupted-*.parquet"))


def test_a_number_that_was_given_out_again_hides_nothing(killed: Path) -> None:
    host, number, began, *rest = processes.identity(os.getpid()).split()
    edit(killed, process=" ".join([host, number, f"{began}1", *rest]))
    assert lost(killed) == [NAME]


@pytest.mark.parametrize("process", ["elsewhere 1 2 3 4", "1", 1, None, {}])
def test_of_another_machines_session_nobody_knows(
    killed: Path, process: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(killed, process=process)
    assert recover(killed) == EXIT_OK
    assert f"session {NAME} is of another machine" in capsys.readouterr().err
    assert recover(killed, NAME) == EXIT_OK
    assert list((killed / "store").glob("**/interrupted-*.parquet"))


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"case": 1}', '{"case": {"ended": "x"}}', "[" * 10**5]
)
def test_a_case_that_cannot_be_read_is_none(killed: Path, text: str) -> None:
    (first, *_) = sorted((killed / NAME).glob("*/*/*/*/case.json"))
    first.write_text(text)
    assert len(read_cases(killed, NAME)[0]) == 2
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


def cases_of(killed: Path) -> list[dict[str, Any]]:
    (report,) = (killed / "reports").glob(f"*{NAME}.json")
    cases: list[dict[str, Any]] = json.loads(report.read_text())["runs"][0]["testcases"]
    return cases


def stage(killed: Path, **change: Any) -> Path:
    """One of the cases as it is before its end: in the stage folder, and not checked."""
    (folder, *_) = sorted(path.parent for path in (killed / NAME).rglob("case.json"))
    staged = killed / "stage" / folder.relative_to(killed)
    staged.parent.mkdir(parents=True, exist_ok=True)
    folder.rename(staged)
    data = json.loads((staged / "case.json").read_text())
    data["case"] |= {"result": "fail", "checked": False, "fail_reason": "not checked"} | change
    (staged / "case.json").write_text(json.dumps(data))
    return staged


def test_a_case_that_ended_and_was_not_checked_is_kept(killed: Path) -> None:
    stage(killed)
    assert recover(killed) == EXIT_OK
    assert sorted(str(case.get("fail_reason")) for case in cases_of(killed)) == [
        "None", "killed", "not checked",
    ]  # fmt: skip
    (report,) = (killed / "reports").glob(f"*{NAME}.json")
    assert all(run.result for run in load_session(report).runs)


def test_a_case_without_a_result_was_not_finished(
    killed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stage(killed)
    (folder / "result.json").unlink()
    (folder / "job_id").write_text("slurm.j2 4711\n")
    assert recover(killed, "--json") == EXIT_OK
    said = capsys.readouterr()
    assert json.loads(said.out)[0]["unfinished"] == 1
    assert len(cases_of(killed)) == 2
    assert "may still be running; to end it: scancel 4711" in said.err


@pytest.mark.parametrize(
    "text", ["slurm.j2 1;reboot", "slurm.j2", "local.j2 1", "x 1", "\n", "a b c"]
)
def test_no_other_words_of_a_jobs_file_become_a_command(
    killed: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stage(killed)
    (folder / "result.json").unlink()
    (folder / "job_id").write_text(text)
    assert recover(killed) == EXIT_OK
    assert "may still be running" not in capsys.readouterr().err


def test_a_copy_that_was_cut_short_does_not_hide_the_whole_one(killed: Path) -> None:
    """The kill fell while ReFrame copied a case's files from the stage to the output folder."""
    staged = stage(killed, result="pass", checked=True, fail_reason=None)
    half = killed / staged.relative_to(killed / "stage")
    half.mkdir(parents=True)
    shutil.copy(staged / "result.json", half / "rfm_job.sh")
    (half / "case.json").write_text('{"session"')
    assert recover(killed) == EXIT_OK
    (report,) = (killed / "reports").glob(f"*{NAME}.json")
    assert [run.status for run in load_session(report).runs].count("ok") == 2


def test_one_broken_document_does_not_lose_the_others(killed: Path) -> None:
    (first, *_) = sorted((killed / NAME).rglob("result.json"))
    first.write_text(first.read_text()[:100])
    assert recover(killed) == EXIT_OK
    (report,) = (killed / "reports").glob(f"*{NAME}.json")
    assert [run.status for run in load_session(report).runs].count("failed") == 2
    assert list((killed / "store").glob("**/interrupted-*.parquet"))


def test_a_report_that_was_not_stored_is(killed: Path) -> None:
    """`make run` was killed between ReFrame and `ingest`; what others left is theirs."""
    reports = killed / "reports"
    text = (reports / "run-report-0.json").read_text()
    made = text.replace(json.loads(text)["session_info"]["uuid"], "0-0")
    (reports / "run-report-20261120T174318-1-1.json").write_text(made)
    assert recover(killed, "20261120T174318-1-1") == EXIT_OK
    assert [path.stem for path in (killed / "store").glob("**/*.parquet")] == ["0-0"]


def test_a_report_cut_short_by_the_kill_is_made_again(killed: Path) -> None:
    path = killed / "reports" / f"run-report-{NAME}.json"
    path.write_text(unreadable({"session_info": {}}))
    assert recover(killed) == EXIT_OK
    assert len(cases_of(killed)) == 3


@pytest.mark.parametrize(("result", "status"), [("pass", "ok"), ("fail", "failed")])
def test_a_case_that_was_being_copied_is_not_an_aborted_one(
    killed: Path, result: str, status: str
) -> None:
    """ReFrame got the signal after its verdict: its report says abort, and the output folder has
    the first of the files."""
    staged = stage(killed, result=result, checked=True, fail_reason="sanity error: wrong")
    half = killed / staged.relative_to(killed / "stage")
    half.mkdir(parents=True)
    (half / "rfm_job.sh").write_text("#!/bin/bash\n")
    data = json.loads((killed / "reports" / "run-report-0.json").read_text())
    data["session_info"]["prefix_output"] = str(killed / NAME)
    case = json.loads((staged / "case.json").read_text())["case"]
    case |= {"result": "abort", "fail_reason": "aborted", "outputdir": str(half)}
    data["runs"] = [{"testcases": [case | {"stagedir": str(staged)}]}]
    report = killed / "reports" / "run-report-1.json"
    report.write_text(json.dumps(data))
    session = load_session(report)
    (run,) = session.runs
    assert session.interrupted
    assert (run.status, run.reason) == (status, "wrong" if status == "failed" else "")
    assert run.result and run.document == staged / "result.json"


def test_an_interrupted_session_says_so(killed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recover(killed) == EXIT_OK
    report = str(killed / "reports" / f"run-report-{NAME}.json")
    places = ["--output", str(killed), "--store", str(killed / "store")]
    words = "Interrupted: only what had finished"
    capsys.readouterr()
    main(["summary", report])
    assert words in capsys.readouterr().out
    main(["summary", report, "--json"])
    assert json.loads(capsys.readouterr().out)["session"]["interrupted"] is True
    main(["report", report, *places])
    assert words in (killed / "report.html").read_text()
    whole = str(killed / "reports" / "run-report-0.json")
    main(["report", whole, *places])
    assert words not in (killed / "report.html").read_text()
    capsys.readouterr()
    main(["summary", whole])
    assert words not in capsys.readouterr().out
    main(["compare", "interrupted", "last~1", *places[2:]])
    said = f"session interrupted-{NAME} was interrupted: cases are missing in it\n"
    assert said in capsys.readouterr().err
    main(["compare", "last~1", "last~1", *places[2:]])
    assert said not in capsys.readouterr().err


def test_the_session_before_is_not_shown_without_a_word(
    killed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    places = ["--output", str(killed), "--store", str(killed / "store")]
    for words in (["summary"], ["report"], ["store", "add", "--last"]):
        main([*words, *(places if words != ["summary"] else places[:2])])
        assert f"session {NAME} is newer and has no report" in capfd.readouterr().err
    assert recover(killed) == EXIT_OK
    capfd.readouterr()
    main(["summary", *places[:2]])
    said = capfd.readouterr()
    assert "is newer" not in said.err and "Interrupted" in said.out
