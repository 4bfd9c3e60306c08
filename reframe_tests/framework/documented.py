# SPDX-License-Identifier: BSD-3-Clause
"""Tests as the documents' experiments (references/experiments.yaml): tags, sweeps."""

from collections.abc import Mapping
from typing import Any

import reframe as rfm
import reframe.core.runtime as rt
from reframe.core.builtins import run_after, variable

from iogauge.common import experiments
from iogauge.common.experiments import SMOKE, SMOKE_PROCESSES, Experiment, Point, scaled_down
from reframe_tests.machine.scales import OF_DOCUMENTS, QUICK_SCALE


def most_processes() -> int:
    """The cores of the current system's largest partition."""
    parts = rt.runtime().system.partitions
    return int(max((p.processor.num_cpus or 1) * p.extras.get("nodes", 1) for p in parts))


def processes_of(test: str, *more: int) -> list[str]:
    """The values of a test's parameter `processes` there."""
    found = experiments.process_axis(test, rt.runtime().system.name, most_processes())
    return list(dict.fromkeys([*map(str, more), *found]))


class OverProcesses:
    """A sweep over the numbers of processes of its experiments: it has a parameter `processes`."""

    processes: str
    only_documented = True
    quick: Mapping[str, str] | None = None

    @property
    def point(self) -> Point:
        return Point.of(self.processes)

    def scale_processes(self) -> int | None:
        return self.point.processes


class Documented(rfm.RegressionTestPlugin):
    """Mixed into `IoBenchmark`: the names of its experiments as tags. Where a machine that is no
    document's is too small, each process stands for `factor` of the document's, with as much data
    as one of them."""

    factor = variable(int, value=1, loggable=True)

    # A sweep leaves out points that no experiment has, at the documents' scales.
    only_documented = False

    @classmethod
    def is_smoke_point(cls, given: Mapping[str, Any]) -> bool:
        """For a sweep at scale `smoke`: is it one of the few that show that it runs?"""
        return given["processes"] in map(str, SMOKE_PROCESSES)

    @classmethod
    def makes_sense(cls, given: Mapping[str, Any]) -> bool:
        """Do these values of the parameters belong together? Other variants are not made."""
        if not cls.only_documented:
            return True
        if given["scale"] == SMOKE:
            return cls.is_smoke_point(given)
        at_quick_scale = given["scale"] == QUICK_SCALE and Point.of(given["processes"]).factor == 1
        return at_quick_scale or bool(cls.experiments_with(given))

    @classmethod
    def experiments_with(cls, given: Mapping[str, Any]) -> list[Experiment]:
        name = rt.runtime().system.name
        return experiments.of_run(cls.__name__, given, name, most_processes())

    def fitting(self, wanted: int | None, most: int) -> int | None:
        """That many processes, or as many as there are, at a document's scale on another
        machine."""
        here = rt.runtime().system.name not in experiments.sites()
        if wanted and here and OF_DOCUMENTS.fullmatch(self.scale) and not self.only_documented:
            self.factor = scaled_down(wanted, most)
        return wanted and max(1, wanted // self.factor if not self.only_documented else wanted)

    @run_after("init")
    def set_default_flush(self) -> None:
        if self.fsync is None:  # type: ignore[has-type]
            self.fsync = not OF_DOCUMENTS.fullmatch(self.scale)

    @run_after("init", always_last=True)
    def tag_with_experiments(self) -> None:
        given = {name: getattr(self, name) for name in type(self).param_space.params}
        if self.only_documented:
            self.factor = self.point.factor
        if not self.makes_sense(given):
            self.valid_systems: list[str] = []
        self.tags |= {one.id for one in self.experiments_with(given)}
