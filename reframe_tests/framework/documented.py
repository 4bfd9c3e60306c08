# SPDX-License-Identifier: BSD-3-Clause
"""Tests as experiments of the seed documents: their tags, and sweeps at only the documents' points
(references/experiments.yaml)."""

from __future__ import annotations

from typing import Any

import reframe as rfm
import reframe.core.runtime as rt
from reframe.core.builtins import run_after

from iogauge.common import experiments
from iogauge.common.experiments import SMOKE, SMOKE_PROCESSES
from reframe_tests.machine.scales import OF_DOCUMENTS, QUICK_SCALE


def processes_of(test: str) -> list[int]:
    """The values of a test's parameter `processes` on the system that ReFrame runs for."""
    system = rt.runtime().system
    most = max(
        (part.processor.num_cpus or 1) * part.extras.get("nodes", 1) for part in system.partitions
    )
    return experiments.process_axis(test, system.name, most)


class OverProcesses:
    """A sweep over the numbers of processes of its experiments: it has a parameter `processes`."""

    processes: int
    only_documented = True

    def scale_processes(self) -> int | None:
        return int(self.processes)


class Documented(rfm.RegressionTestPlugin):
    """Mixed into `IoBenchmark`: the names of its experiments as tags."""

    # A sweep leaves out points that no experiment has, at the documents' scales.
    only_documented = False

    def is_smoke_point(self) -> bool:
        """For a sweep at scale `smoke`: is it one of the few that show that it runs?"""
        test: Any = self
        return int(test.processes) in SMOKE_PROCESSES

    def fits_together(self) -> bool:
        """For a sweep: does this point make sense?"""
        return True

    @run_after("init")
    def flush_as_the_document_did(self) -> None:
        test: Any = self
        if test.fsync is None:
            test.fsync = not OF_DOCUMENTS.fullmatch(test.scale)

    @run_after("init", always_last=True)
    def tag_with_its_experiments(self) -> None:
        test: Any = self
        given = {name: getattr(test, name) for name in type(test).param_space.params}
        found = experiments.of_run(type(test).__name__, given, rt.runtime().system.name)
        if test.only_documented:
            known = bool(found) or given["scale"] == QUICK_SCALE
            if given["scale"] == SMOKE:
                known = self.is_smoke_point()
            if not known or not self.fits_together():
                test.valid_systems = []
        test.tags |= {one.id for one in found}
