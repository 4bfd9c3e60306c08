# SPDX-License-Identifier: BSD-3-Clause
"""Opens, closes, ceilings and storage reads that the recorder saw otherwise are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.recorded_runs import document_of, refusal, traced


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
    assert "in opens and closes of MPI-IO" in refusal(run, tmp_path)


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


@pytest.mark.parametrize(
    ("own", "ceilings", "what"), [(4096, 2**40, ""), (2**40, 4096, " of the ceilings")]
)
def test_reads_from_memory_called_dropped(
    own: int, ceilings: int, what: str, tmp_path: Path
) -> None:
    """Neither the run's own reads nor those of the ceilings count for the other."""
    run = document_of("posix", caches="dropped")
    run.document["system"]["filesystem"]["type"] = "ext4"
    run.outside = replace(run.outside, storage_read=own, ceilings_read=ceilings)
    assert f"bytes{what} only 4096 were read from storage" in refusal(run, tmp_path)
