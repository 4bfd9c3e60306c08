# SPDX-License-Identifier: BSD-3-Clause
"""A user's own program: the calls of its trace, repeated, verified and compared with the trace.

-S Replay.log=FILE     a Darshan log with DXT, or a folder of the embedded recorder's traces
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import reframe.utility.typecheck as typ
from reframe.core.builtins import sanity_function, variable
from reframe.core.exceptions import SanityError

from iogauge.analysis.checks.result_file import Wrong, load, refuse
from iogauge.analysis.checks.verdict import exit_status
from iogauge.analysis.errors import AnalysisError
from iogauge.analysis.replay import check, plan, schedule, trace
from iogauge.common.run_folder import DOCUMENT, TRACE
from reframe_tests.framework.planned import PlannedOfLog
from reframe_tests.framework.variants import axis, benchmark
from reframe_tests.machine.calls import Call

SCHEDULE = "app.schedule"


@dataclass(frozen=True)
class AsLogged(Call):
    """The log's calls: `iokernel` is given no method."""

    @property
    def options(self) -> list[str]:
        return []


@benchmark
class Replay(PlannedOfLog):
    """Listed only if a log is given. `only`: a folder whose files count; `think`: a factor for the
    pauses between phases; `fold`: with num_tasks, fewer processes than the log has."""

    descr = "a traced program, call by call"
    pattern = "replay"
    think = variable(float, value=1.0, loggable=True)
    fold = variable(typ.Bool, value=False, loggable=True)
    call = axis(["as-logged"])
    dxt = True  # else there is nothing to compare with the log
    fsync = False  # as in the log
    ceilings = False  # a log may have only one direction

    kept = SCHEDULE
    made: plan.Plan | None = None

    @property
    def the_call(self) -> Call:
        return AsLogged("as-logged", None)

    def plan(self, to: Path) -> plan.Plan:
        return plan.make(self.load_log(), to)

    def scale_processes(self) -> int | None:
        self.plan_once()
        return self.made.trace.processes if self.made else 1

    def pattern_options(self) -> list[str]:
        return [
            f'--schedule "$PWD/{SCHEDULE}"',
            f"--think {self.think:g}",
            *(["--fold"] if self.fold else []),
        ]

    def sums(self, direction: int) -> check.Sums:
        return check.sums(self.made.trace, direction) if self.made else check.Sums(0, 0)

    def payload_bytes(self) -> int:
        """What the log writes; if it only reads, what it reads."""
        return self.sums(trace.WRITE).bytes or self.sums(trace.READ).bytes

    @sanity_function
    def all_bytes_are_right(self) -> bool:
        """Everything the planner counted was moved; all of it was verified, except for what the
        program left undefined; and the replay's trace matches the log."""
        try:
            document = load(Path(self.stagedir) / DOCUMENT)
            refuse(self.complaints(document))
        except (Wrong, KeyError, AnalysisError) as wrong:
            raise SanityError(str(wrong)) from None
        return True

    def complaints(self, document: dict[str, Any]) -> list[str]:
        written, read = self.sums(trace.WRITE), self.sums(trace.READ)
        verified = document["verification"]
        asked = document["asked"]["pattern_options"]
        undefined = self.made.undefined if self.made else 0
        every = (written.bytes + read.bytes) * self.repeats
        found = [
            (document["status"], "ok", "status"),
            (exit_status(Path(self.stagedir)), "0", "exit status"),
            (verified["verdict"], "verified", "verdict"),
            (asked["bytes_written"], written.bytes, "bytes written"),
            (asked["bytes_read"], read.bytes, "bytes read"),
            (asked["writes"], written.calls, "writes"),
            (asked["reads"], read.calls, "reads"),
            (len(document["samples"]), self.repeats, "repeats"),
        ]
        wrong = [f"{what} is {has!r}, not {right!r}" for has, right, what in found if has != right]
        if verified["bytes"] > every or (verified["bytes"] < every and not undefined):
            wrong.append(f"{verified['bytes']} of {every} bytes were verified")
        return wrong or self.unlike_the_log()

    def unlike_the_log(self) -> list[str]:
        """The replay's own trace, if all processes have one, and there is one repeat."""
        if not self.recorder or self.repeats != 1 or self.fold:
            return []
        planned = Path(self.stagedir) / SCHEDULE
        log, replay = check.load(planned, Path(self.log), Path(self.stagedir) / TRACE)
        return check.compare(log, replay, float(schedule.read_header(planned)["gap"])).wrong
