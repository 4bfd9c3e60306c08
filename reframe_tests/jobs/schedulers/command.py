# SPDX-License-Identifier: BSD-3-Clause
"""The common base of our own back ends: a batch system driven by three commands. An answer that its
manual does not show is counted, and fails the test after `PATIENCE` times in a row."""

import re
import shlex
import time
from typing import Any

import reframe.core.schedulers as sched
import reframe.utility.osext as osext
from reframe.core.exceptions import JobError, JobSchedulerError, ReframeError, SpawnedProcessError

from reframe_tests.jobs.schedulers.templated import Templated, TemplatedJob

PATIENCE = 3
# Seconds for which a job may be held: a site's hook may hold a new job, and another release it. PBS
# calls periodic hooks every two minutes unless told otherwise.
HELD = 300.0


class CommandJob(TemplatedJob, sched.Job):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.has_ended = False
        self.misunderstood = 0


class NotUnderstood(Exception):
    """A command's answer that its manual does not show."""


class CommandScheduler(Templated, sched.JobScheduler):
    job = CommandJob
    # For children: the words of each command, without the job.
    submit_command: list[str]
    cancel_command: list[str]
    # Finds the job's id in the answer to a submission.
    submitted: re.Pattern[str]
    pending_states: frozenset[str] = frozenset()
    # States that end only if somebody ends them, and who.
    held_states: dict[str, str] = {}

    def __init__(self) -> None:
        self._submit_timeout = self.get_option("job_submit_timeout")

    def look(self, job: Any) -> str | None:
        """The job's state now, None once it has ended; `NotUnderstood`."""
        raise NotImplementedError

    def note_the_end(self, job: Any) -> None:
        """Set `_exitcode`, if the system reports it."""

    def emit_preamble(self, job: Any) -> list[str]:
        """None: the directives are in the template."""
        return []

    def allnodes(self) -> Any:
        raise NotImplementedError(f"{self.registered_name} does not list nodes")

    def filternodes(self, job: Any, nodes: Any) -> Any:
        raise NotImplementedError(f"{self.registered_name} does not filter nodes")

    def submit(self, job: Any) -> None:
        words = [*self.submit_command, job.script_filename]
        done = self.ask(words)
        if done.returncode:
            raise JobSchedulerError(f"{shlex.join(words)} failed: {both(done)}")
        found = self.submitted.search(done.stdout + done.stderr)
        if not found:
            raise JobSchedulerError(f"{shlex.join(words)}: no job id in {both(done)}")
        job._jobid = found[1]
        job._submit_time = time.time()

    def cancel(self, job: Any) -> None:
        words = [*self.cancel_command, job.jobid]
        done = self.ask(words)
        if done.returncode:
            raise JobSchedulerError(f"{shlex.join(words)} failed: {both(done)}")

    def wait(self, job: Any) -> None:
        while not self.finished(job):
            self.poll(job)
            time.sleep(1)

    def finished(self, job: Any) -> bool:
        return bool(job.has_ended)

    def poll(self, *jobs: Any) -> None:
        for job in jobs:
            if job is not None and not job.has_ended:
                self.poll_one(job)

    def poll_one(self, job: Any) -> None:
        try:
            state = self.look(job)
        except NotUnderstood as problem:
            job.misunderstood += 1
            self.log(f"job {job.jobid}: {problem}")
            if job.misunderstood >= PATIENCE:
                give_up(self, job, str(problem))
                job.has_ended = True
            return
        job.misunderstood = 0
        if state is None:
            job._state = "COMPLETED"
            self.note_the_end(job)
            job.has_ended = True
            return
        job._state = state
        held = self.held_states.get(state)
        if held_too_long(job, bool(held)):
            give_up(self, job, f"the job is in state {state}: {held}")
            job.has_ended = True
            return
        waited = time.time() - job.submit_time
        waits = held or state in self.pending_states
        if waits and job.max_pending_time and waited > job.max_pending_time:
            self.cancel(job)
            job._exception = JobError("maximum pending time exceeded", job.jobid)

    def ask(self, words: list[str]) -> Any:
        """Run a command; its status is up to the caller. A missing one is named."""
        try:
            return osext.run_command(shlex.join(words), timeout=self._submit_timeout)
        except (SpawnedProcessError, OSError) as error:
            raise JobSchedulerError(f"{shlex.join(words)}: {error}") from None


def held_too_long(job: Any, is_held: bool) -> bool:
    job.held_since = (job.held_since or time.monotonic()) if is_held else None
    return is_held and time.monotonic() - job.held_since >= HELD


def give_up(scheduler: Any, job: Any, problem: str) -> None:
    """For a job in an unknown state: it must not run beside the next measurement."""
    try:
        scheduler.cancel(job)
    except ReframeError as error:
        problem += f"; and it could not be cancelled: {error}"
    job._exception = JobError(problem, job.jobid)


def both(done: Any) -> str:
    """All output of a command, for a message."""
    return repr((done.stdout + done.stderr).strip() or "no output at all")
