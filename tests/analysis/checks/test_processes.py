# SPDX-License-Identifier: BSD-3-Clause
"""What the recorder and the kernels' second clock saw otherwise than the result says is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.analysis.checks import arithmetic
from iogauge.analysis.checks.beside_trace import against_the_recorder
from tests.recorded_runs import document_of, traced


def test_a_phase_longer_by_another_clock() -> None:
    document = traced("openmpi-posix-ceilings").document
    phase = document["samples"][0]["write"]["phases"]["write"]
    phase["elapsed"] = phase["max"]
    assert not list(arithmetic.complaints(document))
    phase["elapsed"] = 2 * phase["max"] + 1e-3
    assert "another clock says" in "; ".join(arithmetic.complaints(document))


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ("0 1 0", ""),
        ("0 1 0 0 0", ""),
        ("3 1 0 0 0", "expected no messages meanwhile, found 3"),
        (f"0 {2**50} 0 0 0", "memory.peak_rss is"),
        ("0 1 1 0 0", "said to be ext4, but the files are in memory"),
        ("0 1 0 2 0", "opened with O_DIRECT or O_DSYNC"),
        ("0 1 0 0 1", "a file had data before it was created"),
    ],
)
def test_what_processes_did(counts: str, reason: str, tmp_path: Path) -> None:
    document = document_of("posix")
    data = document.document
    data["system"]["filesystem"]["type"] = "ext4"
    data["asked"]["fsync"] = False
    data["verification"]["verdict"] = "not asked"
    data["samples"] = [sample | {"series": None} for sample in data["samples"]]
    (tmp_path / "storage-000000-7").write_text(f"1 1 {counts}\n")
    said = "; ".join(against_the_recorder(data, tmp_path))
    assert reason in said if reason else not said


@pytest.mark.parametrize(("calls", "reason"), [(9, ""), (0, "fsync: expected after writing")])
def test_fsync_before_the_data(calls: int, reason: str, tmp_path: Path) -> None:
    data = document_of("posix").document
    data["asked"]["fsync"] = True
    data["verification"]["verdict"] = "not asked"
    data["samples"] = [sample | {"series": None} for sample in data["samples"]]
    (tmp_path / "operations-000000-7").write_text(f"stat 3 3 0.1\nflush {calls} 1 0.1\n")
    said = "; ".join(against_the_recorder(data, tmp_path))
    assert reason in said if reason else not said


@pytest.mark.parametrize(
    ("calls", "seconds", "reason"),
    [
        ((8, 4), 0.1, ""),
        ((8, 1), 0.1, "remove: expected 4 files of each process, found 1 in 8"),
        ((4, 4), 0.1, "remove: expected 4 files of each process, found 4 in 4"),
        ((8, 4), 9.0, "remove: took at least 9 s, but the result says 2 s"),
    ],
)
def test_files_removed(calls: tuple[int, int], seconds: float, reason: str, tmp_path: Path) -> None:
    said = of_series("remove", calls, seconds, tmp_path)
    assert reason in said if reason else not said


@pytest.mark.parametrize(
    ("calls", "seconds", "nodes", "reason"),
    [
        ((2, 8), 2.0, 1, ""),
        ((2, 9), 2.0, 1, ""),  # others' files are there too
        ((1, 4), 0.1, 1, "readdir: expected 4 files of each process, found 4 in 1"),
        ((1, 4), 0.1, 2, ""),
        ((2, 8), 4.0, 2, "readdir: took at least 4 s, but the result says 2 s"),
    ],
)
def test_folders_read(
    calls: tuple[int, int], seconds: float, nodes: int, reason: str, tmp_path: Path
) -> None:
    said = of_series("readdir", calls, seconds, tmp_path, nodes)
    assert reason in said if reason else not said


def test_files_that_were_created(tmp_path: Path) -> None:
    assert not of_series("create", (8, 4), 1.9, tmp_path)
    found = of_series("create", (8, 4), 9.0, tmp_path)
    assert "create: took at least 9 s, but the result says 2 s" in found


def of_series(
    what: str, calls: tuple[int, int], seconds: float, folder: Path, nodes: int = 1
) -> str:
    """What is said of two repeats of one process with four files, in which it took a second."""
    data = document_of("posix").document
    data["verification"]["verdict"] = "not asked"
    data["asked"]["fsync"] = False
    data["system"] |= {"processes": 1, "io_processes": 0, "nodes": nodes}
    one = {"seconds": {"min": 1.0, "mean": 1.0, "max": 1.0}}
    series = {"files_per_process": 4, what: one}
    data["samples"] = [data["samples"][0] | {"series": series}] * 2
    (folder / "operations-000000-7").write_text(f"{what} {calls[0]} {calls[1]} {seconds}\n")
    return "; ".join(against_the_recorder(data, folder))
