# SPDX-License-Identifier: BSD-3-Clause
"""`local.j2`: jobs are processes of this machine."""

from __future__ import annotations

from typing import Any

from reframe.core.schedulers.local import LocalJobScheduler, _LocalJob

from reframe_tests.jobs import registry
from reframe_tests.jobs.schedulers.templated import TemplatedJob


class TemplatedLocalJob(TemplatedJob, _LocalJob):
    """A local job with a templated script."""

    template = "local.sh.j2"


@registry.scheduler("local.j2", local=True)
class TemplatedLocalScheduler(LocalJobScheduler):
    """ReFrame's `local`, with templated scripts."""

    def make_job(self, *args: Any, **kwargs: Any) -> TemplatedLocalJob:
        return TemplatedLocalJob(*args, **kwargs)
