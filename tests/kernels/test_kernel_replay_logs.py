# SPDX-License-Identifier: BSD-3-Clause
"""Replays of logs that others than the embedded recorder wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from iokernel_stacks import ROOT, Stack, missing, prepared, stacks
from recorder_runs import kernel

from iogauge.analysis.replay import check, phases, plan, trace


@pytest.fixture(scope="module")
def any_stack() -> Stack:
    return next(prepared(name) for name, stack in stacks().items() if not missing(stack))


def test_a_log_of_darshans_runtime(any_stack: Stack, tmp_path: Path) -> None:
    """A program that was traced elsewhere, by another recorder than its replay."""
    log = ROOT / "tests" / "data" / "darshan" / "darshan-mpich-hdf5-dxt" / "trace.darshan"
    file = tmp_path / "s"
    plan.make(trace.load(log), file)
    run, _ = kernel(
        any_stack, tmp_path, "replay", "--schedule", str(file), "--think", "0", dxt=True
    )
    assert run.good()["verification"]["bytes"] == 250880 + 261216  # as the log's counters have it
    found = check.compare(*check.load(file, log, tmp_path / "traces"), phases.GAP)
    assert not found.wrong and found.exact == 2


def test_a_log_of_counters(any_stack: Stack, tmp_path: Path) -> None:
    """What is made up for the schedule is made up again to be compared with the replay."""
    log = ROOT / "tests" / "data" / "darshan" / "mpich-holes" / "trace.darshan"
    file = tmp_path / "s"
    made = plan.make(trace.load(log, trace.Choice(synthesise=True)), file)
    run, _ = kernel(any_stack, tmp_path, "replay", "--schedule", str(file), dxt=True)
    assert run.good()["verification"]["verdict"] == "verified"
    found = check.compare(*check.load(file, log, tmp_path / "traces"), phases.GAP)
    assert not found.wrong and found.exact == made.trace.processes
