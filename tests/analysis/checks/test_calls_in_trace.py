# SPDX-License-Identifier: BSD-3-Clause
"""A trace that shows another method or mode than the result is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from iogauge.analysis.checks.calls_in_trace import CALLS
from iogauge.analysis.checks.evidence_of_trace import against_the_trace
from iogauge.common import tables
from reframe_tests.machine.calls import BY_NAME
from tests.recorded_runs import Run, refusal, traced


def test_each_method_and_mode_has_a_row() -> None:
    assert sorted(CALLS) == sorted(BY_NAME)
    assert {name.partition(":")[0] for name in CALLS} == set(tables.names("methods"))


def called(run: Run, method: str, mode: str | None) -> Run:
    """The same run, whose kernel says that it was another call."""
    run.document["asked"] |= {"method": method, "mode": mode}
    run.expected = replace(run.expected, method=method, mode=mode)
    return run


# The recorded run, what it says that it is, and the reason of the refusal.
OTHERS = {
    "posix as mpiio:collective": ("openmpi-posix-ceilings", "mpiio", "collective", "at least"),
    "posix as mpiio:independent": ("openmpi-posix-ceilings", "mpiio", "independent", "at least 1"),
    "posix as hdf5:collective": ("openmpi-posix-ceilings", "hdf5", "collective", "at least"),
    "collective as posix-shared": ("ompio-collective", "posix-shared", None, "no MPI-IO calls"),
    "collective as independent": ("ompio-collective", "mpiio", "independent", "independent"),
    "collective as nonblocking": ("ompio-collective", "mpiio", "nonblocking", "nonblocking"),
    "collective as ordered": ("ompio-collective", "mpiio", "ordered", "shared file pointer"),
    "independent as collective": ("mpich-sieving", "mpiio", "collective", "collective"),
    "nonblocking as collective": ("mpich-pnetcdf", "pnetcdf", "collective", "collective"),
    "nonblocking as independent": ("mpich-pnetcdf", "pnetcdf", "independent", "independent"),
    "HDF5 as posix": ("openmpi-hdf5", "posix", None, "no MPI-IO calls"),
    "HDF5 collective as independent": ("openmpi-hdf5", "hdf5", "independent", "independent"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_call_is_refused(name: str, tmp_path: Path) -> None:
    recorded, method, mode, reason = OTHERS[name]
    said = refusal(called(traced(recorded), method, mode), tmp_path)
    call = f"{method}:{mode}" if mode else method
    assert f"method {call}" in said and reason in said
    assert "expected" in said


def test_one_process_that_gathers_and_writes_is_not_posix_shared(tmp_path: Path) -> None:
    run = called(traced("openmpi-posix-ceilings"), "posix-shared", None)
    files = tuple(
        replace(file, ranks=(replace(file.ranks[0], rank=0),)) if "field" in file.path else file
        for file in run.trace.files
    )
    run.log = replace(run.trace, files=files)
    assert "by 2 at least, found 1" in refusal(run, tmp_path)


def test_several_writers_of_a_file_are_not_master(tmp_path: Path) -> None:
    run = called(traced("openmpi-posix-ceilings"), "master", None)
    files = tuple(
        replace(file, ranks=tuple(replace(file.ranks[0], rank=r, written=10) for r in (0, 1)))
        if "field" in file.path
        else file
        for file in run.trace.files
    )
    run.log = replace(run.trace, files=files)
    assert "expected one process to write" in refusal(run, tmp_path)


def test_an_open_without_data_may_have_had_the_hints(tmp_path: Path) -> None:
    run = traced("ompio-collective")
    files = tuple(
        replace(file, values={**file.values, "COLL_OPENS": 2 * file.values.get("COLL_OPENS", 0)})
        for file in run.trace.files
    )
    run.log = replace(run.trace, files=files)
    assert "opens of its files, found" in refusal(run, tmp_path)


@pytest.mark.parametrize("recorded", ["openmpi-posix-ceilings", "ompio-collective"])
def test_calls_that_are_not_counted(recorded: str, tmp_path: Path) -> None:
    run = traced(recorded)
    for sample in run.document["samples"]:
        sample["write"]["library_calls"] = 0
    assert "calls, the result says at most 0" in refusal(run, tmp_path)


def test_a_slow_call_that_is_not_said() -> None:
    run = traced("openmpi-posix-ceilings")
    slow = max(f.values["F_MAX_WRITE_TIME"] for f in run.trace.files if "ceiling" not in f.path)
    for most, said in ((2 * slow, False), (slow / 2, True)):
        for sample in run.document["samples"]:
            sample["write"]["latency"] = {"max": most}
        found = "; ".join(against_the_trace(run.document, run.trace))
        assert ("write: a call took" in found) == said


def test_a_job_of_this_machine_has_one_node(tmp_path: Path) -> None:
    run = traced("openmpi-posix-ceilings")
    run.document["system"]["nodes"] = 2
    assert "system.nodes is 2, but the job ran on this machine" in refusal(run, tmp_path)
