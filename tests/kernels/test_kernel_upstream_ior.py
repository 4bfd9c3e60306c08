# SPDX-License-Identifier: BSD-3-Clause
"""Files of `iokernel ior` and of upstream's IOR: the same layout, and with -G the same data.

The layouts are aiori-HDF5.c's and aiori-NCMPI.c's, looked at with the formats' own readers.
Where IOR names upstream's program for a stack (as tests.bench takes it), each program reads and
checks what the other has written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
from iokernel_stacks import Stack
from numpy.typing import NDArray

from iogauge.measure.kernels import variables
from tests import bench

APIS = {
    "POSIX": ["-a", "POSIX"],
    "MPIIO": ["-a", "MPIIO"],
    "HDF5": ["-a", "HDF5"],
    "NCMPI": ["-a", "NCMPI", "-c"],  # upstream enters independent mode once for each segment
}
PROCESSES, BLOCK, TRANSFER, SEGMENTS, SIGNATURE = 2, 8192, 2048, 3, 1234
SIZES = ["-b", str(BLOCK), "-t", str(TRANSFER), "-s", str(SEGMENTS)]


def transfer_of(rank: int) -> NDArray[np.int64]:
    """IOR's data for -G: words that count on from the signature, the process in the upper half."""
    return (rank << 32) + SIGNATURE + np.arange(TRANSFER // 8, dtype=np.int64)


def segment() -> NDArray[np.int64]:
    ranks = np.repeat(range(PROCESSES), BLOCK // TRANSFER)
    return np.concatenate([transfer_of(int(rank)) for rank in ranks])


def ours(stack: Stack, api: str, path: Path, *more: str) -> None:
    words = ["ior", *APIS[api], *SIZES, "-G", str(SIGNATURE), "-k", "-o", str(path), *more]
    document = path.with_suffix(".json")
    found = stack.run(*words, processes=PROCESSES, document=document).good()
    assert found["verification"]["verdict"] == ("not asked" if "-w" in more else "verified")


@pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])
def test_hdf5_has_a_data_set_for_each_segment(openmpi: Stack, tmp_path: Path, own: bool) -> None:
    ours(openmpi, "HDF5", tmp_path / "file", *(["-F"] if own else []), "-C")
    paths = sorted(path for path in tmp_path.iterdir() if path.suffix != ".json")
    assert len(paths) == (PROCESSES if own else 1)
    for rank, path in enumerate(paths):
        right = np.tile(transfer_of(rank), BLOCK // TRANSFER) if own else segment()
        with h5py.File(path) as file:
            assert list(file) == [f"Dataset-0000.{i:04d}" for i in range(SEGMENTS)]
            for name in file:
                assert file[name].dtype == np.int64
                assert file[name][...].tolist() == right.tolist()


def test_pnetcdf_has_a_record_for_each_block(openmpi: Stack, tmp_path: Path) -> None:
    ours(openmpi, "NCMPI", tmp_path / "file", "-C")
    with netCDF4.Dataset(tmp_path / "file") as file:
        assert file.data_model == "NETCDF3_64BIT_DATA" and list(file.variables) == ["data_var"]
        found = file["data_var"]
        assert found.dimensions == ("segments_times_np", "number_of_transfers", "transfer_size")
        assert file.dimensions["segments_times_np"].isunlimited() and found.dtype == np.int8
        assert found.shape == (SEGMENTS * PROCESSES, BLOCK // TRANSFER, TRANSFER)
        found.set_auto_mask(False)
        assert found[...].tobytes() == segment().tobytes() * SEGMENTS


@pytest.mark.parametrize("api", APIS)
def test_each_reads_the_other(stack: Stack, api: str, tmp_path: Path) -> None:
    program = bench.upstream("IOR", stack.mpi)
    if program is None:
        pytest.skip(f"no upstream ior linked to {stack.mpi}: give IOR=PATH")

    def upstream(path: Path, signature: int, *more: str) -> str:
        words = [*stack.launch, "-n", str(PROCESSES), str(program), *APIS[api], *SIZES]
        words += ["-G", str(signature), "-k", "-o", str(path), *more]
        done = subprocess.run(
            words,
            env={**os.environ, **variables()},
            capture_output=True,
            text=True,
            timeout=180,
        )
        assert "Max" in done.stdout, done.stderr
        return done.stdout + done.stderr

    ours(stack, api, tmp_path / "ours", "-w")
    assert "incorrect" not in upstream(tmp_path / "ours", SIGNATURE, "-r", "-R").lower()
    wrong = upstream(tmp_path / "ours", SIGNATURE + 1, "-r", "-R").lower()
    assert "incorrect" in wrong, "and upstream does look"
    upstream(tmp_path / "theirs", SIGNATURE, "-w")
    ours(stack, api, tmp_path / "theirs", "-r", "-R")
