# SPDX-License-Identifier: BSD-3-Clause
"""For a session that collects: a job is done at once, its files are what its script left."""

import shutil
from pathlib import Path
from typing import Any

import reframe.core.schedulers as sched
from reframe.core.exceptions import JobSchedulerError

from reframe_tests.jobs import collected, registry
from reframe_tests.jobs.schedulers.command import CommandScheduler

# The back ends of this folder, as a site file names them.
NAMES = ("local.j2", "slurm.j2", "squeue.j2", "pbs.j2", "torque.j2", "cobalt.j2", "loadleveler.j2")


class CarriedJob(sched.Job):
    """A job that ran on another machine, or before."""

    _completed = False


class CarriedScheduler(CommandScheduler):
    """Fetches files: a job has ended once it is submitted."""

    job, template = CarriedJob, ""

    def submit(self, job: Any) -> None:
        stage = Path(job.workdir)
        source = (collected.folder() or Path()) / collected.place(stage)
        left = [
            path for path in source.glob("*") if path.name != collected.SCRIPT and path.is_file()
        ]
        if not left:
            raise JobSchedulerError(
                f"{source} has no results: was its {collected.SCRIPT} run there?"
            )
        for path in left:
            shutil.copy(path, stage)
        shutil.copy(source / collected.SCRIPT, stage / job.script_filename)
        job._jobid = "collected"
        job._state = "COMPLETED"
        job._completed = True

    def cancel(self, job: Any) -> None:
        """Nothing runs."""


for _name in NAMES:
    registry.scheduler(_name, collects=True)(CarriedScheduler)
