# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks whose pattern is planned from a file that the user gives: a log, or data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reframe.core.builtins import run_after

from iogauge.analysis.errors import AnalysisError
from reframe_tests.framework.base import IoBenchmark


class Planned(IoBenchmark):
    """Listed only where the file is given. A child says which it is (`given`), what the plan is
    called that `iokernel` reads (`kept`), and makes it (`plan`)."""

    kept = ""
    made: Any = None
    cannot = ""

    @property
    def given(self) -> str:
        raise NotImplementedError

    def plan(self, to: Path) -> Any:
        """Writes the plan; `AnalysisError` where the file cannot be used, which skips the test."""
        raise NotImplementedError

    def in_quick(self) -> bool:
        """`make run` runs what a user has asked for."""
        return True

    @run_after("init")
    def leave_out_without_a_file(self) -> None:
        if not self.given:
            self.valid_systems = []
        if self.in_quick():
            self.tags |= {"quick"}

    @run_after("setup")
    def keep_the_plan(self) -> None:
        self.keep_files = [*self.keep_files, self.kept]

    def plan_once(self) -> None:
        """At the first question that needs it: by then the folder of the test is there."""
        if not self.made and not self.cannot:
            try:
                self.made = self.plan(Path(self.stagedir) / self.kept)
            except AnalysisError as problem:
                self.cannot = str(problem)

    def shortage(self) -> str | None:
        return self.cannot or super().shortage()
