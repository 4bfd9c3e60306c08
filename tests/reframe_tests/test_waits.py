# SPDX-License-Identifier: BSD-3-Clause
"""A job that waits in the queue: after a while the scheduler's own reason is printed."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reframe_tests.jobs.schedulers import cobalt, loadleveler, pbs, slurm, templated

BACKENDS = [
    cobalt.CobaltScheduler,
    loadleveler.LoadLevelerScheduler,
    pbs.TemplatedPbsScheduler,
    pbs.TemplatedTorqueScheduler,
    slurm.TemplatedSlurmScheduler,
    slurm.TemplatedSqueueScheduler,
]


class Scheduler:
    says = "Not Running"
    never, held = re.compile("Never"), re.compile("Held")
    queued = frozenset({"QUEUED"})
    ask_why = "qstat -f {}"

    def __init__(self) -> None:
        self.said: list[str] = []

    def pending_reason(self, job: Any) -> str:
        return self.says

    def log(self, text: str, level: int) -> None:
        assert level == logging.INFO
        self.said.append(text)


class Job(templated.TemplatedJob):
    state, jobid, submit_time = "QUEUED", "7.n1", 0.0
    longest_wait: float | None = None

    def __init__(self) -> None:
        self.scheduler = Scheduler()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(templated.time, "time", lambda: now[0])
    # A site file of other tests makes these short.
    monkeypatch.setattr(templated, "NEVER", 90.0)
    monkeypatch.setattr(templated, "HELD", 300.0)
    monkeypatch.setattr(templated, "AGAIN", 20.0)
    return now


def end_of(job: Job, clock: list[float], most: int = 1300) -> tuple[list[int], str | None]:
    """When something was said, looking every ten seconds, and why it was given up."""
    found, why = [], None
    while not why and clock[0] < most:
        before = len(job.scheduler.said)
        why = job.why_not()
        found += [int(clock[0])] * (len(job.scheduler.said) - before)
        clock[0] += 10
    return found, why


def test_the_reason_is_said_after_five_ten_and_twenty_minutes(clock: list[float]) -> None:
    """At the latest at the next look, which is a fifth of the wait away."""
    job = Job()
    (first, second, third), why = end_of(job, clock, 2000)
    assert (300 <= first <= 360, 600 <= second <= 2 * 360 * 1.2, third >= 2 * second) == (True,) * 3
    assert why is None
    assert re.match(
        r"in the queue: job 7.n1, [56] minutes: Not Running; more: qstat -f 7.n1; ",
        job.scheduler.said[0],
    )


def test_a_running_job_does_not_wait(clock: list[float]) -> None:
    job = Job()
    job.state = "RUNNING"
    assert end_of(job, clock) == ([], None)


def test_a_wait_longer_than_asked_for_ends_with_the_reason(clock: list[float]) -> None:
    job = Job()
    job.longest_wait = 60
    assert end_of(job, clock) == ([], "maximum pending time exceeded: Not Running")
    assert clock[0] == 80


def test_what_never_starts_ends_soon_and_a_hold_after_five_minutes(clock: list[float]) -> None:
    job = Job()
    job.scheduler.says = "Never here"
    assert end_of(job, clock) == ([], "it cannot start: Never here")
    assert templated.NEVER <= clock[0] < 1.5 * templated.NEVER
    job, clock[0] = Job(), 0.0
    job.scheduler.says = "Held by me"
    assert end_of(job, clock)[1] == "it cannot start: Held by me"
    assert templated.HELD <= clock[0] < 1.3 * templated.HELD


def test_a_hold_that_ends_is_none(clock: list[float]) -> None:
    job = Job()
    job.scheduler.says = "Held by me"
    assert end_of(job, clock, 200)[1] is None
    job.scheduler.says = "Not Running"
    assert end_of(job, clock, 400)[1] is None
    job.scheduler.says = "Held by me"
    assert end_of(job, clock, 600)[1] is None


@pytest.mark.parametrize("reason", ["PartitionTimeLimit", "PartitionNodeLimit", "PartitionConfig"])
def test_slurms_first_reason_is_not_the_answer(reason: str, clock: list[float]) -> None:
    """A job over a limit has PartitionConfig until the queue is examined (22.05.8: 3 seconds)."""
    job = Job()
    scheduler: Any = job.scheduler
    scheduler.never, scheduler.held = slurm.Queued.never, slurm.Queued.held
    scheduler.pending_reason = lambda _: "PartitionConfig" if clock[0] < 200 else reason
    assert end_of(job, clock)[1] == f"it cannot start: {reason}"
    assert 290 <= clock[0] < 400


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_batch_system_can_be_asked(backend: Any) -> None:
    assert backend.queued
    assert "{}" in backend.ask_why


@pytest.mark.parametrize("status", [0, 1, 143, -11])
def test_cobalts_log_has_the_exit_status(status: int, tmp_path: Path) -> None:
    """Without a log, the script's remains."""
    job: Any = SimpleNamespace(workdir=tmp_path, name="job", _exitcode=None)
    scheduler: Any = SimpleNamespace()
    cobalt.CobaltScheduler.record_end(scheduler, job)
    assert job._exitcode is None
    said = f"Info: task completed normally with an exit code of {status}; initiating job cleanup"
    (tmp_path / "job.cobaltlog").write_text(f"Thu Nov 26 18:00:00 2026 +0000 (UTC) {said}\n")
    cobalt.CobaltScheduler.record_end(scheduler, job)
    assert job._exitcode == status
