# SPDX-License-Identifier: BSD-3-Clause
"""`local.j2`: jobs are processes of this machine, and end with ReFrame, however that ends."""

import functools
import signal
import socket
import time
from pathlib import Path
from typing import Any

import reframe.utility.osext as osext
from reframe.core.schedulers.local import LocalJobScheduler, _LocalJob

from iogauge.common.guard import Guard
from iogauge.common.processes import wait_for_any
from reframe_tests.jobs import registry
from reframe_tests.jobs.schedulers.templated import Templated, TemplatedJob

# How long a job may take to remove its files, in seconds.
PATIENCE = 10
# How long polling running jobs waits for the end of one, in seconds. Each poll makes ReFrame work
# beside the measurement; and a test whose job has ended waits no longer than this.
LOOK = 0.2


@functools.cache
def guard() -> Guard:
    """One for all jobs of this process."""
    return Guard(signal.SIGTERM, PATIENCE)


class TemplatedLocalJob(TemplatedJob, _LocalJob):
    """A local job with a templated script."""


@registry.scheduler("local.j2", local=True)
class TemplatedLocalScheduler(Templated, LocalJobScheduler):
    job, template = TemplatedLocalJob, "local.sh.j2"

    def submit(self, job: Any) -> None:
        """ReFrame's own takes a path with a blank in it for a command and its options."""
        job._f_stdout = Path(job.stdout).open("w+")  # noqa: SIM115 (closed as the job ends)
        job._f_stderr = Path(job.stderr).open("w+")  # noqa: SIM115
        job._proc = osext.run_command_async(
            [str(Path(job.script_filename).absolute())],
            stdout=job._f_stdout,
            stderr=job._f_stderr,
            start_new_session=True,
            preexec_fn=guard().watch,  # the job tells: ReFrame may be killed as it starts
        )
        job._jobid = job._proc.pid
        name = socket.gethostname()
        is_short = self.get_option("unqualified_hostnames")
        job._nodelist = [name.split(".")[0] if is_short else name]
        job._submit_time = time.time()
        job._state = "RUNNING"

    def poll(self, *jobs: Any) -> None:
        running = [job for job in jobs if job is not None and not self.finished(job)]
        wait_for_any([job._jobid for job in running if job._jobid], LOOK)
        super().poll(*running)
        for job in running:
            if self.finished(job):
                guard().forget(job._jobid)
