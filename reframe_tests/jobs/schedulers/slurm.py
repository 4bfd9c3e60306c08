# SPDX-License-Identifier: BSD-3-Clause
"""`slurm.j2` (job states by `sacct`) and `squeue.j2` (by `squeue`, without accounting)."""

import re

from reframe.core.schedulers.slurm import SlurmJobScheduler, SqueueJobScheduler, _SlurmJob

from reframe_tests.jobs import registry
from reframe_tests.jobs.schedulers.templated import Templated, TemplatedJob


class TemplatedSlurmJob(TemplatedJob, _SlurmJob):
    """A Slurm job with a templated script."""


# Why a job is pending, if waiting does not help (Slurm's "Job Reason Codes").
NEVER = re.compile(
    r"Partition(TimeLimit|NodeLimit|Config)|BadConstraints|(Account|QOS)NotAllowed"
    r"|JobHeld(User|Admin)|JobHoldMaxRequeue|launch.failed.requeued.held|ReservationDeleted"
    r"|DependencyNeverSatisfied|Invalid(Account|QOS)|(Assoc|QOS)Max\w*Per(Job|Node)\w*|QOSMin\w*|MaxMemPerLimit"
)


class HopelessReasons(list[str]):
    """ReFrame's own, and NEVER: ReFrame cancels the job, and its test fails with the reason."""

    def __contains__(self, reason: object) -> bool:
        return super().__contains__(reason) or bool(NEVER.fullmatch(str(reason)))


class Hopeful(Templated):
    """Mixed in before a stock back end."""

    job, template = TemplatedSlurmJob, "slurm.sh.j2"

    def __init__(self) -> None:
        super().__init__()
        self._cancel_reasons = HopelessReasons(self._cancel_reasons)  # type: ignore[has-type]


@registry.scheduler("slurm.j2")
class TemplatedSlurmScheduler(Hopeful, SlurmJobScheduler):
    """ReFrame's `slurm`, with templated scripts."""


@registry.scheduler("squeue.j2")
class TemplatedSqueueScheduler(Hopeful, SqueueJobScheduler):
    """ReFrame's `squeue`, with templated scripts."""
