# SPDX-License-Identifier: BSD-3-Clause
"""`cobalt.j2`: Argonne's Cobalt (Blue Gene/Q). qsub prints the job's number; qstat prints a table,
and nothing with status 1 once the job has left the queue; <name>.cobaltlog says how it ended."""

import re
import stat
from pathlib import Path
from typing import Any

from iogauge.common.files import text_of
from reframe_tests.jobs import registry
from reframe_tests.jobs.schedulers.command import CommandScheduler, NotUnderstood, both

EXIT_CODE = re.compile(r"task completed normally with an exit code of (-?\d+)")


@registry.scheduler("cobalt.j2")
class CobaltScheduler(CommandScheduler):
    template = "cobalt.sh.j2"
    submit_command = ["qsub"]
    cancel_command = ["qdel"]
    submitted = re.compile(r"^\s*(\d+)\s*$", re.MULTILINE)
    held_states = {
        "user_hold": "held until qrls",
        "admin_hold": "held until an administrator releases it",
        "dep_fail": "a job that it depends on has failed",
    }
    queued = frozenset({"queued", "dep_hold", "maxrun_hold", *held_states})
    ask_why = "qstat -lf {}"

    def submit(self, job: Any) -> None:
        """In script mode Cobalt executes the file itself."""
        script = Path(job.script_filename)
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        super().submit(job)

    def look(self, job: Any) -> str | None:
        done = self.ask(["qstat", "--header", "JobID:State:Location", job.jobid])
        for line in done.stdout.splitlines():
            words = line.split()
            if len(words) >= 2 and words[0] == job.jobid:
                return str(words[1])
        if done.returncode == 1 and not (done.stdout + done.stderr).strip():
            return None
        raise NotUnderstood(f"qstat: neither the job nor its end in {both(done)}")

    def record_end(self, job: Any) -> None:
        # The template's `--debuglog`; without it the script's own exit_status remains.
        log = text_of(Path(job.workdir) / f"{job.name}.cobaltlog")
        if match := EXIT_CODE.search(log):
            job._exitcode = int(match[1])
