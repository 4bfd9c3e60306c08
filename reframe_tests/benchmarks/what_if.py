# SPDX-License-Identifier: BSD-3-Clause
"""What a traced program wrote, through every method: its arrays, and who owns which part of them.

-S WhatIf.log=FILE     a Darshan log with DXT, or a folder of the embedded recorder's traces
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import parameter, run_after, variable

from analysis.errors import AnalysisError
from analysis.replay import plan, trace, what_if
from reframe_tests.framework.base import IoBenchmark
from reframe_tests.machine import calls, scales

EXTENTS = "app.extents"


@rfm.simple_test
class WhatIf(IoBenchmark):
    """Listed only where a log is given. `only`: a folder whose files count."""

    descr = "what a traced program wrote, through other methods"
    pattern = "extents"
    log = variable(str, value="", loggable=True)
    only = variable(str, value="", loggable=True)
    call = parameter(calls.names(), type=str, loggable=True)
    scales = {"log": scales.Scale()}
    scale = parameter(["log"], type=str, loggable=True)

    made: what_if.WhatIf | None = None
    cannot = ""

    @run_after("init")
    def leave_out_without_a_log(self) -> None:
        if not self.log:
            self.valid_systems = []
        self.tags |= {"quick"}  # `make run` runs what a user has asked for

    @run_after("setup")
    def keep_the_arrays(self) -> None:
        self.keep_files = [*self.keep_files, EXTENTS]

    def scale_processes(self) -> int | None:
        """Those of the log; asked first, when the folder of the test is there."""
        if not self.made and not self.cannot:
            try:
                choice = trace.Choice(only=[self.only] if self.only else [])
                with tempfile.TemporaryDirectory() as folder:
                    planned = plan.make(
                        trace.load(Path(self.log), choice), Path(folder) / "schedule"
                    )
                self.made = what_if.make(planned.trace, Path(self.stagedir) / EXTENTS)
            except AnalysisError as problem:
                self.cannot = str(problem)
        return self.made.processes if self.made else 1

    def scale_steps(self) -> int:
        return self.made.steps if self.made else 1

    def shortage(self) -> str | None:
        return self.cannot or super().shortage()

    def pattern_options(self) -> list[str]:
        return [f'--extents "$PWD/{EXTENTS}"']

    def payload_bytes(self) -> int:
        return self.made.bytes * self.dumps if self.made else 0
