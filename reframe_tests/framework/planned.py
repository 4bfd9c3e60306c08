# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks whose pattern is planned from a user's file: a log, or data."""

from pathlib import Path
from typing import Any

from reframe.core.builtins import run_after, variable

from iogauge.analysis.errors import AnalysisError
from iogauge.analysis.replay.trace import Choice, Trace, load
from reframe_tests.framework.base import IoBenchmark
from reframe_tests.framework.variants import axis
from reframe_tests.machine import scales


class Planned(IoBenchmark):
    """Listed only if the file is given (`given`). `kept`: the plan's name; `plan` makes it."""

    kept = ""
    made: Any = None
    cannot = ""

    @property
    def given(self) -> str:
        raise NotImplementedError

    def plan(self, to: Path) -> Any:
        """Writes the plan; `AnalysisError` if the file is unusable, which skips the test."""
        raise NotImplementedError

    def in_quick(self) -> bool:
        """Whether `iogauge run` includes it: the user asked for it."""
        return True

    @run_after("init")
    def leave_out_without_file(self) -> None:
        if not self.given:
            self.valid_systems = []
        if self.in_quick():
            self.tags |= {"quick"}
        self.keep_files = [*self.keep_files, self.kept]

    def plan_once(self) -> None:
        """Plan on first use, when the test's folder exists."""
        if not self.made and not self.cannot:
            try:
                self.made = self.plan(Path(self.stagedir) / self.kept)
            except AnalysisError as problem:
                self.cannot = str(problem)

    def shortage(self) -> str | None:
        return self.cannot or super().shortage()


class PlannedOfLog(Planned):
    """`log`: a Darshan log with DXT, or the recorder's traces. `only`: a folder."""

    log = variable(str, value="", loggable=True)
    only = variable(str, value="", loggable=True)
    scales = {"log": scales.Scale()}
    scale = axis(["log"])

    @property
    def given(self) -> str:
        return str(self.log)

    def load_log(self) -> Trace:
        return load(Path(self.log), Choice(only=[self.only] if self.only else []))
