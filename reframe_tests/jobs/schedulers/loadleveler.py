# SPDX-License-Identifier: BSD-3-Clause
"""`loadleveler.j2`: IBM LoadLeveler (Blue Gene/P, Power6). llq prints a table of steps, or `llq:
There is currently no job status to report.` once the job has left."""

import re
from typing import Any

from reframe_tests.jobs import registry
from reframe_tests.jobs.schedulers.command import CommandScheduler, NotUnderstood, both

GONE = "llq: There is currently no job status to report"

# Completed, cancelled, removed, rejected, terminated, not run: a job may stay listed after its end.
ENDED = frozenset({"C", "CA", "RM", "X", "TX", "NR"})


@registry.scheduler("loadleveler.j2")
class LoadLevelerScheduler(CommandScheduler):
    template = "loadleveler.sh.j2"
    submit_command = ["llsubmit"]
    cancel_command = ["llcancel"]
    submitted = re.compile(r'llsubmit: The job "([^"]+)" has been submitted')
    held_states = {
        "H": "held until llhold -r, perhaps after rejections (ACTION_ON_MAX_REJECT)",
        "S": "held until an administrator releases it",
        "HS": "held until an administrator and llhold -r release it",
        "SX": "it cannot start, because its submission failed",
    }
    queued = frozenset({"I", "NQ", "D", *held_states})  # idle, not queued, deferred
    ask_why = "llq -s {}"
    reason = re.compile(r"^=+ EVALUATIONS FOR .*\n((?:.*\n)+)", re.MULTILINE)

    def look(self, job: Any) -> str | None:
        done = self.ask(["llq", "-f", "%id", "%st", job.jobid])
        number = job.jobid.rpartition(".")[2]
        # llq shortens long host names: host.number.step is identified by its number.
        row = re.search(
            rf"^\S+\.{re.escape(number)}\.\d+\s+([A-Z]+)\s*$", done.stdout, re.MULTILINE
        )
        if row:
            return None if row[1] in ENDED else row[1]
        if GONE in done.stdout + done.stderr:
            return None
        raise NotUnderstood(f"llq: neither the job nor its end in {both(done)}")
