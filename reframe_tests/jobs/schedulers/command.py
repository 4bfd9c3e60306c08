# SPDX-License-Identifier: BSD-3-Clause
"""The common base of our own back ends: a batch system driven by three commands. An answer that its
manual does not show is counted, and fails the test after some times in a row."""

import re
import shlex
import time
from typing import Any

import reframe.core.schedulers as sched
import reframe.utility.osext as osext
from reframe.core.exceptions import JobSchedulerError, SpawnedProcessError

from reframe_tests.jobs.schedulers.templated import Templated, TemplatedJob


class CommandJob(TemplatedJob, sched.Job):
    _completed = False


class NotUnderstood(Exception):
    """A command's answer that its manual does not show."""


class CommandScheduler(Templated, sched.JobScheduler):
    job = CommandJob
    # For children: the words of each command, without the job.
    submit_command: list[str]
    cancel_command: list[str]
    # Finds the job's id in the answer to a submission.
    submitted: re.Pattern[str]
    # States that end only if somebody ends them, and who.
    held_states: dict[str, str] = {}
    held = re.compile("state ")

    def __init__(self) -> None:
        self._submit_timeout = self.get_option("job_submit_timeout")

    def pending_reason(self, job: Any) -> str:
        held = self.held_states.get(job.state)
        return f"state {job.state}: {held}" if held else super().pending_reason(job)

    def look(self, job: Any) -> str | None:
        """The job's state now, None once it has ended; `NotUnderstood`."""
        raise NotImplementedError

    def record_end(self, job: Any) -> None:
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
        return bool(job._completed)

    def poll(self, *jobs: Any) -> None:
        for job in jobs:
            if job is not None and not job._completed:
                self.poll_one(job)

    def poll_one(self, job: Any) -> None:
        try:
            state = self.look(job)
        except NotUnderstood as problem:
            self.count(job, str(problem))
            return
        job.misunderstood = 0
        if state is None:
            job._state = "COMPLETED"
            self.record_end(job)
            job._completed = True
            return
        job._state = state

    def ask(self, words: list[str]) -> Any:
        """Run a command, whatever its status. A missing one is named."""
        try:
            return osext.run_command(shlex.join(words), timeout=self._submit_timeout)
        except (SpawnedProcessError, OSError) as error:
            raise JobSchedulerError(f"{shlex.join(words)}: {error}") from None


def both(done: Any) -> str:
    """All output of a command, for a message."""
    return repr((done.stdout + done.stderr).strip() or "no output at all")
