# SPDX-License-Identifier: BSD-3-Clause
"""What a traced program wrote, through every method: its arrays, and who owns which part of them.

-S WhatIf.log=FILE     a Darshan log with DXT, or a folder of the embedded recorder's traces
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import parameter, variable

from iogauge.analysis.replay import plan, trace, what_if
from reframe_tests.framework.planned import Planned
from reframe_tests.machine import calls, scales

EXTENTS = "app.extents"


@rfm.simple_test
class WhatIf(Planned):
    """Listed only if a log is given. `only`: a folder whose files count."""

    descr = "what a traced program wrote, through other methods"
    pattern = "extents"
    log = variable(str, value="", loggable=True)
    only = variable(str, value="", loggable=True)
    call = parameter(calls.names(), type=str, loggable=True)
    scales = {"log": scales.Scale()}
    scale = parameter(["log"], type=str, loggable=True)

    kept = EXTENTS
    made: what_if.WhatIf | None = None

    @property
    def given(self) -> str:
        return str(self.log)

    def plan(self, to: Path) -> what_if.WhatIf:
        choice = trace.Choice(only=[self.only] if self.only else [])
        with tempfile.TemporaryDirectory() as folder:
            planned = plan.make(trace.load(Path(self.log), choice), Path(folder) / "schedule")
        return what_if.make(planned.trace, to)

    def scale_processes(self) -> int | None:
        """The log's processes."""
        self.plan_once()
        return self.made.processes if self.made else 1

    def scale_steps(self) -> int:
        return self.made.steps if self.made else 1

    def pattern_options(self) -> list[str]:
        return [f'--extents "$PWD/{EXTENTS}"']

    def payload_bytes(self) -> int:
        return self.made.bytes * self.dumps if self.made else 0
