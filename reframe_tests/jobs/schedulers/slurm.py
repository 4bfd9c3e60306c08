# SPDX-License-Identifier: BSD-3-Clause
"""`slurm.j2` (job states by `sacct`) and `squeue.j2` (by `squeue`, without accounting)."""

import re

from reframe.core.schedulers.slurm import SlurmJobScheduler, SqueueJobScheduler, _SlurmJob

from reframe_tests.jobs import registry
from reframe_tests.jobs.schedulers.templated import Templated, TemplatedJob


class TemplatedSlurmJob(TemplatedJob, _SlurmJob):
    """A Slurm job with a templated script."""


class Queued(Templated):
    """Mixed in before a stock back end."""

    job, template = TemplatedSlurmJob, "slurm.sh.j2"
    queued = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"})
    ask_why = "squeue -h -j {} -o %r"
    reason = re.compile(r"(\S.*)")
    # From Slurm's "Job Reason Codes". A job that its partition refuses has PartitionConfig,
    # whatever the cause, until Slurm first examines the queue.
    held = re.compile(r"JobHeld(User|Admin)|PartitionConfig")
    never = re.compile(
        r"Partition(TimeLimit|NodeLimit)|BadConstraints|(Account|QOS)NotAllowed"
        r"|JobHoldMaxRequeue|launch.failed.requeued.held|ReservationDeleted|MaxMemPerLimit"
        r"|DependencyNeverSatisfied|Invalid(Account|QOS)|(Assoc|QOS)Max\w*Per(Job|Node)|QOSMin"
    )


@registry.scheduler("slurm.j2")
class TemplatedSlurmScheduler(Queued, SlurmJobScheduler):
    """ReFrame's `slurm`, with templated scripts."""


@registry.scheduler("squeue.j2")
class TemplatedSqueueScheduler(Queued, SqueueJobScheduler):
    """ReFrame's `squeue`, with templated scripts."""
