# SPDX-License-Identifier: BSD-3-Clause
"""Opens, closes and ceilings that the trace shows otherwise are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.recorded_runs import refusal, traced


def test_opens_and_closes_without_time(tmp_path: Path) -> None:
    run = traced("mpich-holes")
    run.log = replace(
        run.trace,
        files=tuple(
            replace(file, ranks=tuple(replace(work, seconds=9.0) for work in file.ranks))
            if file.module == "MPI-IO"
            else file
            for file in run.trace.files
        ),
    )
    assert "in MPI-IO calls with opens and closes" in refusal(run, tmp_path)


def test_ceilings_of_small_calls(tmp_path: Path) -> None:
    run = traced("openmpi-posix-ceilings")
    run.log = replace(
        run.trace,
        files=tuple(
            replace(file, values={**file.values, "WRITES": 15}) if "ceiling" in file.path else file
            for file in run.trace.files
        ),
    )
    assert "ceilings (fpp): expected at most 8 calls to write, found" in refusal(run, tmp_path)
