"""`pbs.j2` (PBS Professional, OpenPBS) and `torque.j2`."""

from __future__ import annotations

from typing import Any

from reframe.core.schedulers.pbs import PbsJobScheduler, TorqueJobScheduler, _PbsJob

from reframe_tests import registry
from reframe_tests.schedulers.templated import TemplatedJob


class TemplatedPbsJob(TemplatedJob, _PbsJob):
    """A PBS job with a templated script."""

    template = "pbs.sh.j2"


class TemplatedTorqueJob(TemplatedJob, _PbsJob):
    """A Torque job with a templated script."""

    template = "torque.sh.j2"


@registry.scheduler("pbs.j2")
class TemplatedPbsScheduler(PbsJobScheduler):
    """ReFrame's `pbs`, with templated scripts."""

    def make_job(self, *args: Any, **kwargs: Any) -> TemplatedPbsJob:
        return TemplatedPbsJob(*args, **kwargs)


@registry.scheduler("torque.j2")
class TemplatedTorqueScheduler(TorqueJobScheduler):
    """ReFrame's `torque`, with templated scripts."""

    def make_job(self, *args: Any, **kwargs: Any) -> TemplatedTorqueJob:
        return TemplatedTorqueJob(*args, **kwargs)
