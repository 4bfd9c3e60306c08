# SPDX-License-Identifier: BSD-3-Clause
"""The short form of `make soak-kills`, and that it would tell."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from iogauge.common import processes
from tests import soak_kills
from tests.soak_kills import VICTIMS, Tally, ours

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(
    not shutil.which("mpicc.mpich"),
    reason="mpicc.mpich is missing: environments/debian/setup.sh installs it",
)
def test_nothing_is_lost_and_nothing_left(tmp_path: Path) -> None:
    words = ["--kills", "2", "--ingest-kills", "15", "--work", str(tmp_path / "work")]
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak_kills", *words, "--only", "ReFrame", "tree"],
        cwd=ROOT, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line for line in done.stdout.splitlines() if "KILL" in line]
    assert len(rows) == 3
    assert all([cell.strip() for cell in row.split("|")[-4:-1]] == ["0", "0", "0"] for row in rows)


@pytest.mark.parametrize("what", ["lost", "processes", "folders"])
def test_each_kind_of_loss_fails(what: str) -> None:
    tally = Tally()
    assert tally.is_good()
    other = Tally()
    getattr(other, what).append("one")
    tally.add(other)
    assert not tally.is_good()
    assert tally.row("x")[-3:].count(1) == 1


def test_what_left_its_parent_and_session_is_found() -> None:
    token = str(uuid.uuid4())  # these tests may run twice on a machine
    environment = {**os.environ, soak_kills.TOKEN: token}
    command = ["setsid", "--fork", "sleep", "1000"]
    subprocess.run(command, env=environment, check=True)
    while "sleep 1000" not in (found := ours(token)).values():
        assert found  # it is setsid still
    assert len(found) == 1 and not ours("another")
    for number in found:
        os.kill(number, signal.SIGKILL)


@pytest.mark.slow
def test_what_is_just_loading_its_program_is_found() -> None:
    """A chain of programs in one process, each of which loads the next: it is always there."""
    chain = 'n=$1; [ "$n" -gt 0 ] && exec sh -c "$0" "$0" $((n - 1)); exec sleep 1000'
    token = str(uuid.uuid4())
    environment = {**os.environ, soak_kills.TOKEN: token}
    process = subprocess.Popen(["sh", "-c", chain, chain, "2000"], env=environment)
    try:
        seen, words = 0, ""
        while words != "sleep 1000":
            found = ours(token)
            assert list(found) == [process.pid], f"look {seen + 1}"
            seen, words = seen + 1, found[process.pid]
    finally:
        process.kill()
        process.wait()
    assert seen > 1


def test_whom_each_way_meets() -> None:
    running = {
        1: "make -f Makefile run", 2: "python -m iogauge run --parent 1 -- -r",
        3: "python /x/bin/reframe -C a -r", 4: "python -c ... guard.main()", 5: "bash ./rfm_job.sh",
    }  # fmt: skip
    met = {who: choose(running) for who, (_, choose) in VICTIMS.items()}
    assert met == {
        "make, TERM": [1], "make, KILL": [1], "run_session, KILL": [2], "ReFrame, KILL": [3],
        "all but guards and jobs, KILL": [1, 2, 3], "the job's script, KILL": [5],
        "the whole tree, KILL": [1, 2, 3, 4, 5],
    }  # fmt: skip


def test_a_guard_ends_a_session_when_its_maker_is_killed() -> None:
    """Also one that ignores the signal, and a process that the leader left behind."""
    maker = (
        "import subprocess, sys, time\n"
        "from iogauge.common.guard import Guard; guard = Guard(15, 0.5)\n"
        "job = subprocess.Popen(['bash', '-c', 'trap \"\" TERM; sleep 1000 & sleep 1001'], "
        "start_new_session=True)\n"
        "guard.watch(job.pid); print(job.pid, flush=True); time.sleep(1000)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", maker], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        job = int(process.stdout.readline())
        assert processes.of_session(job)
        process.kill()
        # The job has the pipe too, and closes it a moment before it is gone.
        process.stdout.read()
    while processes.of_session(job):
        pass


def test_a_guard_leaves_alone_what_it_was_told_to_forget() -> None:
    maker = (
        "import subprocess; from iogauge.common.guard import Guard; guard = Guard(9, 1)\n"
        "job = subprocess.Popen(['sleep', '1000'], start_new_session=True, stdout=2)\n"
        "guard.watch(job.pid); guard.forget(job.pid); print(job.pid)\n"
        "guard._process.stdin.close(); guard._process.wait()"
    )
    done = subprocess.run(
        [sys.executable, "-c", maker], cwd=ROOT, capture_output=False, stdout=subprocess.PIPE,
        text=True, check=True,
    )  # fmt: skip
    job = int(done.stdout)
    assert processes.of_session(job) == [job]
    os.kill(job, signal.SIGKILL)


def test_a_number_that_was_given_out_again_gets_no_signal() -> None:
    """`find` names a process that is gone by the second look, and one that is not."""
    first, second = (subprocess.Popen(["sleep", "1000"]) for _ in range(2))
    looks = iter([[first.pid, second.pid], [second.pid]])
    assert processes.send(signal.SIGKILL, lambda: next(looks))
    assert second.wait() == -signal.SIGKILL
    assert first.poll() is None
    first.kill()
    first.wait()
    assert not processes.send(signal.SIGKILL, list)
