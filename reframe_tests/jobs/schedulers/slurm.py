# SPDX-License-Identifier: BSD-3-Clause
"""`slurm.j2` (job states by `sacct`) and `squeue.j2` (by `squeue`, without accounting)."""

from __future__ import annotations

from typing import Any

from reframe.core.schedulers.slurm import SlurmJobScheduler, SqueueJobScheduler, _SlurmJob

from reframe_tests.jobs import registry
from reframe_tests.jobs.schedulers.templated import TemplatedJob


class TemplatedSlurmJob(TemplatedJob, _SlurmJob):
    """A Slurm job with a templated script."""

    template = "slurm.sh.j2"


@registry.scheduler("slurm.j2")
class TemplatedSlurmScheduler(SlurmJobScheduler):
    """ReFrame's `slurm`, with templated scripts."""

    def make_job(self, *args: Any, **kwargs: Any) -> TemplatedSlurmJob:
        return TemplatedSlurmJob(*args, **kwargs)


@registry.scheduler("squeue.j2")
class TemplatedSqueueScheduler(SqueueJobScheduler):
    """ReFrame's `squeue`, with templated scripts."""

    def make_job(self, *args: Any, **kwargs: Any) -> TemplatedSlurmJob:
        return TemplatedSlurmJob(*args, **kwargs)
