# SPDX-License-Identifier: BSD-3-Clause
"""Opens, closes, ceilings and storage reads that the recorder saw otherwise are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from iogauge.analysis.checks.evidence_of_trace import against_the_trace
from tests.recorded_runs import Run, document_of, judged, refusal, traced


def _with_opens(run: Run, seconds: float, **counts: int) -> None:
    """All MPI-IO of the trace takes so long, and none of it moves data."""
    files = []
    for file in run.trace.files:
        if file.module == "MPI-IO":
            ranks = tuple(replace(w, seconds=seconds, reading=0, writing=0) for w in file.ranks)
            file = replace(file, ranks=ranks, values={**file.values, **counts})
        files.append(file)
    run.log = replace(run.trace, files=tuple(files))


def test_opens_and_closes_without_time(tmp_path: Path) -> None:
    run = traced("mpich-holes")
    _with_opens(run, 9.0)
    assert "in opens and closes of MPI-IO" in refusal(run, tmp_path)


@pytest.mark.parametrize("again", [{"COLL_OPENS": 99}, {"HINTS": 99}])
def test_a_library_may_open_again_while_it_moves_data(again: dict[str, int]) -> None:
    """PnetCDF does, for its independent calls. All phases together are the limit then."""
    run = traced("mpich-holes")
    around = sum(
        phase["max"]
        for side in ("write", "read")
        for sample in run.document["samples"]
        for name, phase in sample[side]["phases"].items()
        if name != side
    )
    for counts, seconds, said in (
        ({}, 0.99 * around, ""),
        ({}, 2 * around, "in opens and closes of MPI-IO"),
        (again, 2 * around, ""),
        (again, 9.0, "in MPI-IO calls with opens and closes"),
    ):
        _with_opens(run, seconds, **counts)
        found = "; ".join(against_the_trace(run.document, run.trace))
        assert said in found and bool(said) == ("opens and closes" in found)


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
    """Neither the run's own reads nor the ceilings' reads count for the other."""
    run = document_of("posix", caches="dropped")
    run.document["system"]["filesystem"]["type"] = "ext4"
    run.outside = replace(run.outside, storage_read=own, ceilings_read=ceilings)
    assert f"bytes{what} only 4096 were read from storage" in refusal(run, tmp_path)


def test_a_repeat_read_from_memory_is_seen(tmp_path: Path) -> None:
    """All data of each repeat comes from storage, unless the file system compresses it."""
    run = document_of("posix", caches="dropped")
    system = run.document["system"]["filesystem"]
    system["type"] = "btrfs"
    each = run.document["payload"]["bytes"]
    assert each >= 2**20
    run.outside = replace(run.outside, storage_read=each, ceilings_read=2**40)
    assert "were read from storage" in refusal(run, tmp_path)
    system["options"] = "rw,compress=zstd:3"
    judged(run, tmp_path)


@pytest.mark.parametrize("kind", ["", "-fpp", "-shared"])
def test_one_flush_of_a_file_for_each_repeat_is_enough(kind: str) -> None:
    run = traced("openmpi-posix-ceilings")
    run.document["asked"]["fsync"] = True
    samples = run.document["samples"]
    most = len(samples)

    def found(flushes: int) -> str:
        files = tuple(
            replace(file, values={**file.values, "FSYNCS": flushes if kind in file.path else most})
            for file in run.trace.files
        )
        return "; ".join(against_the_trace(run.document, replace(run.trace, files=files)))

    assert "fsync" not in found(len(samples))
    assert "fsync is claimed" in found(len(samples) - 1)
