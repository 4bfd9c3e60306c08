# SPDX-License-Identifier: BSD-3-Clause
"""What a traced program wrote, through every method: its arrays, and who owns which part of them.

-S WhatIf.log=FILE     a Darshan log with DXT, or a folder of the embedded recorder's traces
"""

import tempfile
from pathlib import Path

from iogauge.analysis.replay import plan, what_if
from reframe_tests.framework.planned import PlannedOfLog
from reframe_tests.framework.variants import axis, benchmark
from reframe_tests.machine import calls

EXTENTS = "app.extents"


@benchmark
class WhatIf(PlannedOfLog):
    """Listed only if a log is given. `only`: a folder whose files count."""

    descr = "what a traced program wrote, through other methods"
    pattern = "extents"
    call = axis(calls.names())

    kept = EXTENTS
    made: what_if.WhatIf | None = None

    def plan(self, to: Path) -> what_if.WhatIf:
        with tempfile.TemporaryDirectory() as folder:
            planned = plan.make(self.load_log(), Path(folder) / "schedule")
        return what_if.make(planned.trace, to)

    def scale_processes(self) -> int | None:
        self.plan_once()
        return self.made.processes if self.made else 1

    def scale_steps(self) -> int:
        return self.made.steps if self.made else 1

    def pattern_options(self) -> list[str]:
        return [f'--extents "$PWD/{EXTENTS}"']

    def payload_bytes(self) -> int:
        return self.made.bytes * self.dumps if self.made else 0
