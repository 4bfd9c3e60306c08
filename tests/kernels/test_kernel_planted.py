# SPDX-License-Identifier: BSD-3-Clause
"""The recorder plants wrong bytes in what a run has read, and the run notices each of them."""

from __future__ import annotations

from pathlib import Path

import iokernel_model as model
import pytest
from iokernel_stacks import How, Stack
from recorder_runs import kernel

from iogauge.analysis.checks.beside_trace import against_the_recorder

S3D = ("s3d", "--grid", "23x19x17", "--procs-grid", "2x1x1", "--steps", "2", "--repeat", "3")
RUNS = {
    "posix": (*S3D, "--method", "posix"),
    "posix-shared, reused": (*S3D, "--method", "posix-shared", "--buffer", "reused"),
    "mpiio": (*S3D, "--method", "mpiio", "--mode", "nonblocking"),
    "hdf5, filtered": (*S3D, "--method", "hdf5", "--mode", "filtered"),
    "series": ("metadata", "--files", "5", "--method", "posix", "--repeat", "2"),
    "facts": ("ramses-amr", "--size", "8", "--method", "mpiio", "--repeat", "2"),
    "servers": ("ior", "-b", "64k", "-t", "8k", "--method", "ioserver", "--repeat", "2"),
}


@pytest.mark.parametrize("name", RUNS)
def test_each_planted_byte_is_noticed(openmpi: Stack, name: str, tmp_path: Path) -> None:
    run, _ = kernel(openmpi, tmp_path, *RUNS[name], more={"IOGAUGE_TRACE_PLANT": "7"})
    document = run.result()
    assert document["verification"]["verdict"] == "verified" and run.status == 0, run
    assert not list(against_the_recorder(document, tmp_path / "traces"))


def test_without_a_number_nothing_is_planted(openmpi: Stack, tmp_path: Path) -> None:
    run, _ = kernel(openmpi, tmp_path, *RUNS["posix"])
    assert run.status == 0
    assert not list((tmp_path / "traces").glob("planted-*"))


def test_the_file_of_the_last_repeat_is_that_of_a_single_one(
    openmpi: Stack, tmp_path: Path
) -> None:
    """So that a run that only reads knows its values, whatever the number of repeats."""
    found = []
    for repeats in ("1", "3"):
        folder = tmp_path / repeats
        folder.mkdir()
        how = How("posix-shared", None).options()
        words = ("--dir", str(folder), "--write-only", "--keep", "--repeat", repeats)
        run = openmpi.run("s3d", *S3D[1:5], *how, *words, document=folder / "r.json", processes=2)
        assert run.status == 0, run
        found.append((folder / model.s3d_name(0, ".bin")).read_bytes())
    assert found[0] == found[1]
