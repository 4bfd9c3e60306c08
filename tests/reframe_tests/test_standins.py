# SPDX-License-Identifier: BSD-3-Clause
"""PBS, Torque, Cobalt and LoadLeveler from submission to verdict, against command stand-ins."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import batch_standin
from tests.reframe_session import (
    ROOT,
    SLEEP,
    Session,
    is_asleep,
    reframe,
    reframe_of,
    untraced_kernel,
)

KINDS = tuple(batch_standin.COMMANDS)
ONLY = ("-t", "smoke", "-n", "S3d.*call=mpiio:collective")

pytestmark = [
    pytest.mark.first,
    pytest.mark.skipif(
        not shutil.which("mpicc.mpich"), reason="mpicc.mpich is missing: make setup"
    ),
]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For all of these systems; the job in which it shows that it notices wrong bytes
    runs here, so that in the tests each session has one job."""
    program = untraced_kernel(tmp_path_factory.mktemp("kernel"))
    first = run(KINDS[0], program, tmp_path_factory.mktemp("first"))
    assert first.status == 0, first.text
    return program


def environment(folder: Path, kind: str, says: str = "") -> dict[str, str]:
    batch_standin.install(folder / "standin", kind)
    path = f"{folder / 'standin' / 'bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "STANDIN_SAYS": says}


def run(kind: str, kernel: Path, output: Path, *options: str, says: str = "") -> Session:
    return reframe(
        output,
        *("-r", "--system", kind, *ONLY, "-S", f"kernel_path={kernel}", *options),
        config=ROOT / "tests" / "standin_site.py",
        tests="s3d.py",
        environment=environment(output, kind, says),
    )


def shown_at_once(session: Session) -> str:
    """The reason in the case's own file, which `iogauge run` shows when a case fails."""
    case = Path(session.cases[0]["stagedir"]) / "case.json"
    return str(json.loads(case.read_text())["case"]["fail_reason"])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
def test_a_job_runs_from_submission_to_verdict(kind: str, kernel: Path, tmp_path: Path) -> None:
    session = run(kind, kernel, tmp_path)
    assert session.status == 0, session.text
    (case,) = session.cases
    kept = Path(case["outputdir"])
    assert json.loads((kept / "result.json").read_text())["verification"]["verdict"] == "verified"
    assert case["jobid"] in ("100", "100.server", "frontend.site.100")
    assert list((tmp_path / "disk").iterdir()) == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_fails_is_quoted(kind: str, kernel: Path, tmp_path: Path) -> None:
    session = run(kind, kernel, tmp_path, "-S", "S3d.hints=cb_buffer_size=none")
    assert session.status == 1
    assert "cb_buffer_size=none" in session.cases[0]["fail_reason"]
    assert list((tmp_path / "disk").iterdir()) == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_cancelled_job_says_so_and_cleans_up(kind: str, kernel: Path, tmp_path: Path) -> None:
    """Cancelled by the system's own command, from outside, while it runs."""
    disk = tmp_path / "disk"
    with ThreadPoolExecutor(1) as pool:
        session = pool.submit(run, kind, kernel, tmp_path, "-S", f"S3d.prerun_cmds={SLEEP}")
        while not is_asleep():
            assert not session.done(), session.result().text
            time.sleep(0.1)
        name = batch_standin.COMMANDS[kind][2]
        subprocess.run([tmp_path / "standin" / "bin" / name, "100"], check=True)
        ended = session.result()
    assert ended.status == 1
    assert "the job ended with exit status 143" in ended.cases[0]["fail_reason"]
    assert list(disk.iterdir()) == []


NOT_AN_ID = {"pbs": "'try' is not a job ID", "torque": "'try' is not a job ID"}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_submission_without_an_id_is_quoted(kind: str, kernel: Path, tmp_path: Path) -> None:
    session = run(kind, kernel, tmp_path, says="no-id")
    assert session.status == 1
    assert NOT_AN_ID.get(kind, "no job id in 'try again later'") in session.text


# A state of no known letter is not quoted by the stock PBS back end: only its letter is.
@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("kind", "says", "quoted"),
    [
        *((kind, "garbled", "Segmentation fault") for kind in KINDS),
        *((kind, "noise", "'Segmentation fault'") for kind in KINDS),
        ("loadleveler", "state", "?"),
    ],
)
def test_a_wrong_answer_is_never_the_end_of_a_job(
    kind: str, says: str, quoted: str, kernel: Path, tmp_path: Path
) -> None:
    """The job is given up, which ends it: it must not run beside the next one."""
    slow = ("-S", "S3d.prerun_cmds=sleep 300")
    session = run(kind, kernel, tmp_path, *slow, says=says)
    assert session.status == 1
    (case,) = session.cases
    assert "neither the job nor its end in " in case["fail_reason"]
    assert quoted in case["fail_reason"]
    status = tmp_path / "standin" / "jobs" / "100.status"
    while not status.exists():
        time.sleep(0.1)
    assert status.read_text().strip() == "143"
    assert list((tmp_path / "disk").iterdir()) == []


WAITS = {
    "pbs": "Not Running: No available resources on nodes",
    "torque": "Not Running: No available resources on nodes",
    "cobalt": "it is in state queued",
    "loadleveler": "The status of job step is : Idle Not enough resources to start now.",
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_does_not_start_in_time_is_cancelled_with_the_schedulers_reason(
    kind: str, kernel: Path, tmp_path: Path
) -> None:
    session = run(kind, kernel, tmp_path, "-S", "S3d.max_pending_time=1s", says="pending")
    assert session.status == 1
    reason = session.cases[0]["fail_reason"]
    assert reason, session.text
    assert f"maximum pending time exceeded: {WAITS[kind]}" in reason
    assert shown_at_once(session) == reason
    assert (tmp_path / "standin" / "jobs" / "100.status").read_text() == "271"


HELD = {
    "pbs": "it cannot start: held until qrls: job held, too many failed attempts to run",
    "torque": "it cannot start: held until qrls: job held, too many failed attempts to run",
    "cobalt": "it cannot start: state admin_hold: held until an administrator releases it",
    "loadleveler": "it cannot start: state S: held until an administrator releases it",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("kind", "says", "why"),
    [
        ("pbs", "never", "Can Never Run: Insufficient amount of resource: ncpus (R: 8 A: 4)"),
        *((kind, "held", why) for kind, why in HELD.items()),
    ],
)
def test_a_job_that_waiting_does_not_start_is_cancelled_with_the_reason(
    kind: str, says: str, why: str, kernel: Path, tmp_path: Path
) -> None:
    session = run(kind, kernel, tmp_path, says=says)
    assert session.status == 1
    reason = session.cases[0]["fail_reason"]
    assert why in reason
    assert shown_at_once(session) == reason
    assert (tmp_path / "standin" / "jobs" / "100.status").read_text() == "271"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_is_released_in_time_is_waited_for(
    kind: str, kernel: Path, tmp_path: Path
) -> None:
    """A site's hook may hold a new job for a while."""
    session = run(kind, kernel, tmp_path, says="released")
    assert session.status == 0, session.text


# Torque's back end is the same code as PBS's, and without a history waits half a minute.
@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["pbs", "cobalt", "loadleveler"])
def test_a_job_that_never_ran_ends_and_says_so(kind: str, kernel: Path, tmp_path: Path) -> None:
    """Deleted by an administrator while it waited: no output ever comes."""
    session = run(kind, kernel, tmp_path, says="lost")
    assert session.status == 1
    reason = session.cases[0]["fail_reason"]
    assert "the job was killed; stderr: empty; it left no result.json" in reason


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_command_is_named(kind: str, kernel: Path, tmp_path: Path) -> None:
    session = reframe(
        tmp_path,
        *("-r", "--system", kind, *ONLY, "-S", f"kernel_path={kernel}"),
        config=ROOT / "tests" / "standin_site.py",
        tests="s3d.py",
    )
    assert session.status == 1
    assert batch_standin.COMMANDS[kind][0] in session.cases[0]["fail_reason"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pbs", "loadleveler"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_session_cancels_its_job_or_the_next_one_names_it(
    kind: str, number: int, kernel: Path, tmp_path: Path
) -> None:
    """SIGTERM to `make run`'s program; SIGKILL to ReFrame, which then can cancel nothing."""
    disk, command = tmp_path / "disk", batch_standin.COMMANDS[kind][2]
    words = ["-C", "tests/standin_site.py", "-c", "reframe_tests/benchmarks/s3d.py", "-R"]
    slow = [
        "--system",
        kind,
        *ONLY,
        "-S",
        f"kernel_path={kernel}",
        "-S",
        f"S3d.prerun_cmds={SLEEP}",
    ]
    places = {"IOGAUGE_OUTPUT": str(tmp_path), "IOGAUGE_DISK": str(disk), "IOGAUGE_NO_LOCK": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "iogauge", "run", "--rounds", "0", "--", *words, *slow],
        cwd=ROOT, text=True,
        env={**environment(tmp_path, kind), **places}, stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    ) as session:  # fmt: skip
        while not is_asleep():
            assert session.poll() is None
            time.sleep(0.1)
        if number == signal.SIGKILL:
            os.kill(reframe_of(session.pid), number)
        else:
            session.send_signal(number)
        _, said = session.communicate()
    if number == signal.SIGKILL:
        (named,) = [line for line in said.splitlines() if "may still be running" in line]
        job = named.partition(f"{command} ")[2].split()[0]
        assert list(disk.iterdir())  # it does
        subprocess.run([tmp_path / "standin" / "bin" / command, job], check=True)
    assert session.returncode == 128 + number, said
    while list(disk.iterdir()):
        time.sleep(0.1)
