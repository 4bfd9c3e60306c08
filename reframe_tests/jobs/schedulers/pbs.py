# SPDX-License-Identifier: BSD-3-Clause
"""`pbs.j2` (PBS Professional, OpenPBS) and `torque.j2`."""

import re
import time
from typing import Any

import reframe.utility.osext as osext
from reframe.core.exceptions import JobSchedulerError
from reframe.core.schedulers.pbs import PbsJobScheduler, TorqueJobScheduler, _PbsJob

from reframe_tests.jobs import registry
from reframe_tests.jobs.schedulers.command import both
from reframe_tests.jobs.schedulers.templated import Templated, TemplatedJob

# `123.server`, `123`, an array's `123[].server`.
JOB_ID = re.compile(r"\d+(\[\d*\])?(\.\S+)?")

# qstat's exit statuses for a job that it does not know (any more), and for one that has ended.
GONE = (153, 35)
ENDED = re.compile(r"^\s*job_state = [CF]\b", re.MULTILINE)
RAN = re.compile(r"^\s*(exec_host|Exit_status) = ", re.MULTILINE)

DEPENDS = re.compile(r"^\s*depend = ", re.MULTILINE)  # held until another job has ended

# How long output may take to come back from the node after the end, in seconds.
OUTPUT_PATIENCE = 30.0


class TemplatedPbsJob(TemplatedJob, _PbsJob):
    ended_at: float | None = None


class Careful(Templated):
    """Mixed in before a stock back end, which takes the first word of any answer for a job's id,
    takes an answer without the job for its end, and waits for ever for output that never comes."""

    job = TemplatedPbsJob
    queued = frozenset({"QUEUED", "HELD", "WAITING"})
    ask_why = "qstat -f {}"
    reason = re.compile(r"^\s*comment = (.*)", re.MULTILINE)
    never, held = re.compile("Can Never Run"), re.compile("held until")

    def submit(self, job: Any) -> None:
        super().submit(job)  # type: ignore[misc]
        if not JOB_ID.fullmatch(answer := job.jobid):
            job._jobid = None
            raise JobSchedulerError(f"qsub {job.script_filename}: {answer!r} is not a job ID")

    def poll(self, *jobs: Any) -> None:
        for job in jobs:
            if job is not None and not job.completed:
                self.poll_one(job)

    def poll_one(self, job: Any) -> None:
        try:
            super().poll(job)  # type: ignore[misc]
        except (JobSchedulerError, KeyError) as problem:  # KeyError: a state with an unknown letter
            self.count(job, f"qstat: neither the job nor its end in {problem}")
            return
        if job.state != "COMPLETED" or job.cancelled:
            job.misunderstood = 0
        elif doubt := self.doubt(job):
            job._completed = False
            self.count(job, doubt)
        else:
            self.wait_for_output(job)

    def why_in(self, output: str, job: Any) -> str:
        why = super().why_in(output, job)
        is_held = output and job.state == "HELD" and not DEPENDS.search(output)
        return f"held until qrls: {why}" if is_held else why

    def doubt(self, job: Any) -> str | None:
        """The end of a job is queried once more: it counts only if qstat says so."""
        done = osext.run_command(f"qstat -f {job.jobid}")
        if done.returncode in GONE or (done.returncode == 0 and ENDED.search(done.stdout)):
            return None
        return f"qstat: neither the job nor its end in {both(done)}"

    def wait_for_output(self, job: Any) -> None:
        """For a job that has ended; one that never ran has none."""
        if job.ended_at is None:
            job.ended_at = time.monotonic()
            job._completed = job._completed or self.never_ran(job)
        elif time.monotonic() - job.ended_at > OUTPUT_PATIENCE:
            job._completed = True

    def never_ran(self, job: Any) -> bool:
        """True if PBS's history says so; False without a history."""
        past = osext.run_command(f"qstat -xf {job.jobid}").stdout
        return bool(ENDED.search(past)) and not RAN.search(past)


@registry.scheduler("pbs.j2")
class TemplatedPbsScheduler(Careful, PbsJobScheduler):
    template = "pbs.sh.j2"


@registry.scheduler("torque.j2")
class TemplatedTorqueScheduler(Careful, TorqueJobScheduler):
    template = "torque.sh.j2"
