# SPDX-License-Identifier: BSD-3-Clause
"""`slurm.j2` (job states by `sacct`) and `squeue.j2` (by `squeue`, without accounting)."""

import re
import time
from typing import Any

from reframe.core.schedulers.slurm import SlurmJobScheduler, SqueueJobScheduler, _SlurmJob

from reframe_tests.jobs import registry
from reframe_tests.jobs.schedulers import command
from reframe_tests.jobs.schedulers.templated import Templated, TemplatedJob


class TemplatedSlurmJob(TemplatedJob, _SlurmJob):
    """A Slurm job with a templated script."""


# Why a job is pending, if waiting does not help (Slurm's "Job Reason Codes").
NEVER = re.compile(
    r"Partition(TimeLimit|NodeLimit|Config)|BadConstraints|(Account|QOS)NotAllowed"
    r"|JobHoldMaxRequeue|launch.failed.requeued.held|ReservationDeleted"
    r"|DependencyNeverSatisfied|Invalid(Account|QOS)|(Assoc|QOS)Max\w*Per(Job|Node)\w*|QOSMin\w*|MaxMemPerLimit"
)
HELD = re.compile(r"JobHeld(User|Admin)")


class HopelessReasons(list[str]):
    """ReFrame's own, and NEVER: ReFrame cancels the job, and its test fails with the reason."""

    of_old_jobs = False

    def __contains__(self, reason: object) -> bool:
        mine = NEVER.fullmatch(str(reason)) or (self.of_old_jobs and HELD.fullmatch(str(reason)))
        return super().__contains__(reason) or bool(mine)


class Hopeful(Templated):
    """Mixed in before a stock back end."""

    job, template = TemplatedSlurmJob, "slurm.sh.j2"

    def __init__(self) -> None:
        super().__init__()
        self._cancel_reasons = HopelessReasons(self._cancel_reasons)  # type: ignore[has-type]

    def _cancel_if_blocked(self, jobs: Any, *reasons: Any) -> None:
        """`jobs`: a single one in ReFrame 4.9."""
        several = hasattr(jobs, "__iter__")
        for old in (False, True):
            self._cancel_reasons.of_old_jobs = old
            these = [
                job
                for job in (jobs if several else [jobs])
                if (time.time() - job.submit_time >= command.HELD) == old
            ]
            if these:
                super()._cancel_if_blocked(these if several else jobs, *reasons)  # type: ignore[misc]


@registry.scheduler("slurm.j2")
class TemplatedSlurmScheduler(Hopeful, SlurmJobScheduler):
    """ReFrame's `slurm`, with templated scripts."""


@registry.scheduler("squeue.j2")
class TemplatedSqueueScheduler(Hopeful, SqueueJobScheduler):
    """ReFrame's `squeue`, with templated scripts."""
