# SPDX-License-Identifier: BSD-3-Clause
"""One flipped bit in each kind of file: verification names data set, index and byte."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import iokernel_model as model
import netCDF4
import numpy as np
import pytest
from iokernel_stacks import MOVING, How, Stack
from written import IOR, S3D, Writer, Written

from tests.selftest.injector import Plan, preload

STEP = 1  # the second dump's file
NAME, INDEX = "u", (2, 5, 9, 11)
HDF5 = {"hdf5": ".h5", "netcdf4": ".nc"}  # methods whose files are HDF5's, and their extensions
BYTE = 4321  # of IOR's data; in the second segment of a file of two processes


@dataclass
class Target:
    path: Path
    offset: int  # of the element
    owner: int  # the process whose data it is


def s3d_target(how: How, folder: Path) -> Target:
    """Where u[2,5,9,11] stands, by the format's own readers or by the layout's definition."""
    owner = S3D.owner(INDEX)
    if how.method in HDF5:
        path = folder / model.s3d_name(STEP, HDF5[how.method])
        with h5py.File(path) as file:
            begin = file[NAME].id.get_offset()
        return Target(path, begin + 8 * int(np.ravel_multi_index(INDEX, S3D.shape(NAME))), owner)
    if how.method == "pnetcdf":
        path = folder / model.s3d_name(STEP, ".nc")
        begin = model.cdf5_begins(path)[NAME]
        return Target(path, begin + 8 * int(np.ravel_multi_index(INDEX, S3D.shape(NAME))), owner)
    path = folder / model.s3d_name(STEP, ".bin")
    if how.method == "posix":
        own = path.with_name(f"{path.name}.{owner:08d}")
        return Target(own, S3D.place_in_share(NAME, INDEX), owner)
    if how.mode == "ordered":
        before = sum(S3D.share(rank, STEP).nbytes for rank in range(owner))
        return Target(path, before + S3D.place_in_share(NAME, INDEX), owner)
    return Target(path, S3D.place(NAME, INDEX), owner)


def flip(target: Target, byte: int, bit: int) -> None:
    with target.path.open("r+b") as file:
        file.seek(target.offset + byte)
        (old,) = file.read(1)
        file.seek(target.offset + byte)
        file.write(bytes([old ^ 1 << bit]))


def values(how: How, target: Target) -> tuple[Any, Any]:
    """What a public reader finds at the element now, and how many elements of u are wrong."""
    if how.method in HDF5:
        with h5py.File(target.path) as file:
            array = file[NAME][...]
    elif how.method == "pnetcdf":
        with netCDF4.Dataset(target.path) as dataset:
            array = dataset.variables[NAME][:].data
    else:
        found = np.fromfile(target.path, np.float64, 1, offset=target.offset)[0]
        return float(found), 1
    return float(array[INDEX]), int(np.sum(array != S3D.array(NAME, STEP)))


def check(run: Any, target: Target, dataset: str, index: list[int], reader: int) -> dict[str, Any]:
    line = run.error(1)
    where = ",".join(map(str, index))
    assert f"data set {dataset}[{where}], byte {target.offset} of {target.path}" in line
    found: dict[str, Any] = run.result()
    assert found["status"] == "failed"
    assert found["verification"]["verdict"] == "mismatch"
    assert found["verification"]["mismatches"] == 1
    first: dict[str, Any] = found["verification"]["first"]
    assert (first["dataset"], first["index"]) == (dataset, index)
    assert (first["file"], first["offset"]) == (str(target.path), target.offset)
    assert first["process"] == reader
    assert re.search(rf"expected {re.escape(repr(first['expected']))}", line)
    return first


@pytest.mark.parametrize("how", MOVING, ids=str)
def test_s3d(stack: Stack, how: How, written: Writer, tmp_path: Path) -> None:
    made = written(stack, how, "s3d")
    folder = made.copy(tmp_path / "data")
    good = made.read(folder, tmp_path / "good.json").good()  # or a failure below would say little
    assert good["verification"]["elements"] == 2 * 13 * 11 * 7 * 16
    target = s3d_target(how, folder)
    right = float(S3D.array(NAME, STEP)[INDEX])
    assert values(how, target)[0] == right
    flip(target, 3, 2)
    wrong, count = values(how, target)
    assert wrong != right and count == 1
    # Read by the process before the owner: on one node reading is shifted by one process.
    reader = (target.owner - 1) % S3D.processes
    first = check(made.read(folder), target, NAME, list(INDEX), reader)
    assert (first["expected"], first["found"]) == (right, wrong)
    assert target.path.exists(), "--read-only removes nothing"


def ior_target(how: How, folder: Path) -> Target:
    path, owner = folder / "testFile", BYTE // IOR.block % IOR.processes
    if how.method == "posix":
        # With a file for each process the element is counted within it.
        return Target(path.with_name("testFile.00000001"), BYTE % IOR.own, 1)
    if how.method in HDF5:
        with h5py.File(path) as file:
            return Target(path, file["data"].id.get_offset() + BYTE, owner)
    if how.method == "pnetcdf":
        return Target(path, model.cdf5_begins(path)["data"] + BYTE, owner)
    if how.mode == "ordered":
        return Target(path, IOR.ordered().index(BYTE), owner)
    return Target(path, BYTE, owner)


@pytest.mark.parametrize("how", MOVING, ids=str)
def test_ior(stack: Stack, how: How, written: Writer, tmp_path: Path) -> None:
    made: Written = written(stack, how, "ior")
    folder = made.copy(tmp_path / "data")
    target = ior_target(how, folder)
    index = BYTE % IOR.own if how.method == "posix" else BYTE
    right = int(IOR.file_of(1)[index] if how.method == "posix" else IOR.shared()[index])
    flip(target, 0, 6)
    first = check(made.read(folder), target, "data", [index], (target.owner - 1) % 2)
    assert (first["expected"], first["found"]) == (right, right ^ 64)


def test_every_wrong_element_is_counted(openmpi: Stack, written: Writer, tmp_path: Path) -> None:
    made = written(openmpi, How("posix-shared", None), "s3d")
    folder = made.copy(tmp_path / "data")
    path = folder / model.s3d_name(0, ".bin")
    data = bytearray(path.read_bytes())
    for element in range(0, 16016, 1000):
        data[8 * element] ^= 1
    path.write_bytes(data)
    run = made.read(folder)
    assert run.result()["verification"]["mismatches"] == 17
    assert "17 of 32032 elements are wrong" in run.error(1)


@pytest.mark.parametrize("how", MOVING, ids=str)
def test_wrong_seed(openmpi: Stack, how: How, written: Writer, tmp_path: Path) -> None:
    """Values of another run are not taken for right: an old file in the way is seen."""
    made = written(openmpi, how, "ior")
    folder = made.copy(tmp_path / "data")
    words = [*how.options(), "--read-only", "--dir", str(folder)]
    run = openmpi.run("ior", *model.Ior(seed=2).options(), *words, document=tmp_path / "r.json")
    run.error(1)
    assert run.result()["verification"]["mismatches"] > 0.95 * IOR.own * IOR.processes


def test_a_copy_behind_the_data(stack: Stack, injector: Path, tmp_path: Path) -> None:
    """All that is read back is right, but each file is twice as long as its data."""
    words = ("metadata", "--files", "3", "--method", "posix", "--dir", str(tmp_path))
    environment = preload(injector, Plan("write", "double", times=None), tmp_path)
    run = stack.run(*words, environment=environment)
    assert run.status == 1
    assert "other data was written after it, or data was written twice" in run.stderr
