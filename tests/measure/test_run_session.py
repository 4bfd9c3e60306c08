# SPDX-License-Identifier: BSD-3-Clause
"""`iogauge run` shows and stores what its own ReFrame run wrote, and says where that is nothing."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from iogauge.analysis.judge import claims
from iogauge.measure import session
from iogauge.measure.session import (
    NOTHING_MEASURED,
    NOTHING_SELECTED,
    count,
    draws_order,
    given_report,
)
from tests.measure.test_lock import dead, left, owner
from tests.reframe_session import reframe_of

ROOT = Path(__file__).parents[2]
OPTIONS = ["-C", "site_configs/local.py", "--system", "local", "-R", "--exec-policy=serial"]
S3D = [*OPTIONS, "-c", "reframe_tests/benchmarks/s3d.py", "-p", "mpich"]
ONE = [*S3D, "-n", "S3d%.*fs=ram.*call=posix%.*smoke", "-S", "repeats=1"]
BEFORE = ROOT / "tests" / "data" / "session" / "results"

needs_mpich = pytest.mark.skipif(
    not shutil.which("mpicc.mpich"),
    reason="mpicc.mpich is missing: environments/debian/setup.sh installs it",
)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """With a session before, whose page and report must stay as they are."""
    shutil.copytree(BEFORE, tmp_path / "output")
    (tmp_path / "output" / "report.html").write_text("the session before")
    return tmp_path / "output"


def start(output: Path, *words: str) -> subprocess.Popen[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RFM_")}
    return subprocess.Popen(
        [sys.executable, "-m", "iogauge", "run", "--rounds", "0", "--", *words],
        cwd=ROOT,
        # Whoever else measures on this machine: no figure counts here.
        env={
            **kept,
            "IOGAUGE_NO_LOCK": "1",
            "IOGAUGE_OUTPUT": str(output),
            "IOGAUGE_DISK": str(output / "disk"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    said, _ = process.communicate()
    return process.returncode, said


def shows_nothing_of_before(output: Path, said: str) -> bool:
    """No table, no page, nothing in the store."""
    untouched = (output / "report.html").read_text() == "the session before"
    return untouched and "fastest" not in said and not list(output.glob("store/*"))


def test_a_filter_that_selects_nothing_is_an_error(output: Path) -> None:
    status, said = finish(start(output, *S3D, "-n", "^S3D.*mpiio"))
    assert status == NOTHING_SELECTED
    assert "nothing was selected" in said and "^S3D.*mpiio" in said
    assert shows_nothing_of_before(output, said)


def test_a_command_line_that_reframe_refuses_shows_nothing(output: Path) -> None:
    status, said = finish(start(output, *S3D, "--no-such-option"))
    assert status not in (0, NOTHING_MEASURED)
    assert "left no report" in said
    assert shows_nothing_of_before(output, said)


@pytest.mark.slow
@needs_mpich
def test_a_session_in_which_all_was_skipped_is_an_error(output: Path) -> None:
    status, said = finish(start(output, *ONE, "-S", "num_tasks=100000"))
    assert status == NOTHING_MEASURED, said
    assert "nothing was measured: all 1 selected tests were skipped" in said


@pytest.mark.slow
@needs_mpich
def test_the_page_is_that_of_this_very_run(output: Path) -> None:
    status, said = finish(start(output, *ONE))
    assert status == 0, said
    (report,) = (output / "reports").glob("run-report-2*.json")
    name = report.stem.removeprefix("run-report-")
    assert (output / name / "report.html").is_file()
    assert "the session before" not in (output / "report.html").read_text()
    assert "1 stack" in said or "posix" in said
    assert list(output.glob("store/**/*.parquet"))


@pytest.mark.slow
@needs_mpich
def test_ctrl_c_ends_the_run_and_shows_what_had_finished(output: Path) -> None:
    two = [*S3D, "-n", "S3d%.*fs=ram.*call=(posix|master)%.*smoke", "-S", "repeats=1"]
    slow = ["-S", "S3d.prerun_cmds=[ ! -e $HOME/never ] || true; sleep 2"]
    process = start(output, *two, *slow)
    while not list(output.glob("stage/*/local/host/mpich/S3d*/exit_status")):
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    status, said = finish(process)
    assert status == 128 + signal.SIGINT, said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ([], None),
        (["-n", "S3d"], None),
        (["--report-file", "a.json", "-v"], Path("a.json")),
        (["--report-file=a.json", "--report-file=b.json"], Path("b.json")),
    ],
)
def test_a_report_that_the_user_names_is_found(words: list[str], right: Path | None) -> None:
    assert given_report(words) == right


@pytest.mark.parametrize(
    ("words", "drawn"),
    [
        ("--repeat=8", True), ("--exec-order=random -S repeats=1", True),
        ("--exec-order random", True), ("--exec-order=name", False), ("--exec-order uid", False),
        ("--exec-order=random --exec-order=name", False),
    ],
)  # fmt: skip
def test_an_order_that_the_user_named_is_not_drawn(words: str, drawn: bool) -> None:
    assert draws_order(words.split()) == drawn


def test_the_runs_of_claims_are_in_an_order_drawn_by_chance() -> None:
    """Else their jobs are no pairs, and no session decides a claim."""
    runs = [run for claim in claims.load() for run in claim.run]
    assert runs and all(draws_order(shlex.split(run)) for run in runs)


def test_skipped_tests_and_fixtures_measured_nothing() -> None:
    cases = [{"result": "pass", "fixture": True}, {"result": "skip"}, {"result": "fail"}]
    assert count({"runs": [{"testcases": cases}]}) == (1, 2)


def test_two_sessions_of_one_second_have_names_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session.time, "strftime", lambda _: "20260101T000000")
    mine = {session.new_name(), session.new_name()}
    monkeypatch.setattr(session.os, "getpid", lambda: 4711)
    assert len({session.new_name(), *mine}) == 3


@pytest.mark.slow
@needs_mpich
def test_what_had_finished_outlives_a_kill_of_reframe(output: Path) -> None:
    """As by the kernel of the operating system when memory is short."""
    three = [*S3D, "-n", "S3d%.*fs=ram.*call=(posix|master|null)%.*smoke", "-S", "repeats=1"]
    process = start(output, *three, "-S", "S3d.prerun_cmds=sleep 3")
    while not list(output.glob("2*-*/local/host/mpich/S3d*/case.json")):
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(reframe_of(process.pid), signal.SIGKILL)
    status, said = finish(process)
    assert status == 128 + signal.SIGKILL
    (report,) = (output / "reports").glob("run-report-2*.json")
    assert f"interrupted-{report.stem.removeprefix('run-report-')}" in said or "interrupted" in said
    cases = json.loads(report.read_text())["runs"][0]["testcases"]
    assert "pass" in [case["result"] for case in cases]
    assert list(output.glob("store/**/interrupted-*.parquet"))


def test_a_make_that_is_gone_already_starts_nothing(output: Path) -> None:
    """It was killed before this program could ask to be told."""
    environment = {**os.environ, "IOGAUGE_OUTPUT": str(output), "IOGAUGE_NO_LOCK": "1"}
    command = [
        sys.executable,
        "-m",
        "iogauge",
        "run",
        "--parent",
        "4194305",
        "--",
        *ONE,
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    assert done.returncode == 128 + signal.SIGTERM
    assert [path.name for path in (output / "reports").iterdir()] == ["run-report-0.json"]


@pytest.mark.slow
@needs_mpich
def test_an_mpi_that_does_not_start_is_said(output: Path, tmp_path: Path) -> None:
    """As a failure while it runs, and in the summary, with the log: the launcher's own words are
    not quoted."""
    source, library = tmp_path / "wait.c", tmp_path / "wait.so"
    source.write_text(
        "#include <unistd.h>\n"
        "int MPI_Init(void *a, void *b) { for ((void)a, (void)b;;) pause(); }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    launch = 'LD_PRELOAD={library} exec {real} "$@" --start-limit 1'
    said = failed_by(output, tmp_path, launch.replace("{library}", str(library)))
    assert "MPI_Init did not return within 1 s" in said


@pytest.mark.slow
@needs_mpich
def test_an_mpi_whose_start_fails_is_said(output: Path, tmp_path: Path) -> None:
    """MPICH itself ends the process within MPI_Init: it has no such network."""
    launch = 'FI_PROVIDER=none UCX_TLS=none MPIR_CVAR_CH4_NETMOD=none exec {real} "$@"'
    assert "MPI_Init failed" in failed_by(output, tmp_path, launch)


def failed_by(output: Path, tmp_path: Path, launch: str) -> str:
    """A session's summary whose launcher is this line of a shell: the reason, with the log."""
    launcher = tmp_path / "bin" / "mpiexec.mpich"
    launcher.parent.mkdir()
    real = shutil.which(launcher.name)
    launcher.write_text(f"#!/bin/sh\n{launch.replace('{real}', str(real))}\n")
    launcher.chmod(0o755)
    prepare = f"S3d.prerun_cmds=export PATH={launcher.parent}:$PATH"
    status, said = finish(start(output, *ONE, "-S", "trace=false", "-S", prepare))
    assert status == 1, said
    why = f"MPI did not start on {socket.gethostname()}: MPI_Init "
    now, summary = said.split("rows", 1)[0], said.partition("\nfailed")[2]
    assert f"run: FAILED S3d ram posix mpich: {why}" in now, said
    assert f": {why}" in summary and "exit status" not in said
    log = re.search(r"; log: (\S+)", summary)
    assert log and "MPI did not start" in Path(log[1]).read_text(), said
    return summary


@pytest.mark.slow
def test_the_next_start_removes_what_a_killed_job_left(output: Path) -> None:
    """Also where it measures nothing there itself."""
    case = output / "stage" / "20261121T120000-1-1" / "local" / "host" / "mpich" / "S3d_0"
    case.mkdir(parents=True)
    place = output / "a file system"
    place.mkdir()
    (case / "case.json").write_text(json.dumps({"case": {"fs_path": str(place)}}))
    for name in ("not an object", "not a path"):
        other = case.with_name(name)
        other.mkdir()
        (other / "case.json").write_text("[]" if name == "not an object" else '{"case": 1}')
    gone, alive = left(place, "iogauge.aaaaaaa1", dead()), owner(os.getpid())
    stays = left(place, "iogauge.aaaaaaa2", alive)
    status, said = finish(start(output, *S3D, "-n", "none of them"))
    assert status == NOTHING_SELECTED
    assert f"removed {gone}" in said and not gone.exists() and stays.exists()


def test_a_signal_before_the_first_case_measures_nothing(output: Path) -> None:
    """It came while `recover` ran."""
    code = (
        "import os, signal; from iogauge.measure import session, run_session\n"
        "session.Child.analysis = lambda child, *_: os.kill(os.getpid(), signal.SIGTERM)\n"
        "session.Child._ended = lambda child, number, frame: setattr(child, 'signal', number)\n"
        "session.measure = run_session.measure = lambda *_: print('measures')\n"
        "from iogauge.cli.main import main; raise SystemExit(main(['run', '-n', 'x']))"
    )
    environment = {**os.environ, "IOGAUGE_OUTPUT": str(output), "IOGAUGE_NO_LOCK": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, ""), done.stderr


def child_that_starts(start: str) -> tuple[str, str]:
    """What a step's status and its signal were, and stderr; `start`: in place of Popen."""
    code = (
        "import os, signal, subprocess; from iogauge.measure import session\n"
        "real, child = subprocess.Popen, session.Child()\n"
        "def start(*words, **more):\n"
        f"    {start}\n"
        "session.subprocess.Popen = start\n"
        "print(child.run(['sleep', '1000'], dict(os.environ)), child.signal)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout, done.stderr


def test_a_signal_while_a_step_is_being_started_ends_it() -> None:
    """It came when the step had begun, and nobody knew its number yet."""
    start = "made = real(*words, **more); os.kill(os.getpid(), signal.SIGTERM); return made"
    said, error = child_that_starts(start)
    assert said == f"{128 + signal.SIGINT} {int(signal.SIGTERM)}\n", error


def test_ctrl_c_before_there_is_a_step_ends_it() -> None:
    """The terminal has sent it to those that were there; the step began afterwards."""
    said, error = child_that_starts(
        "os.kill(os.getpid(), signal.SIGINT); return real(*words, **more)"
    )
    assert said == f"{128 + signal.SIGINT} {int(signal.SIGINT)}\n", error
