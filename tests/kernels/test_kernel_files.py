# SPDX-License-Identifier: BSD-3-Clause
"""Independent readers open iokernel's files and find every value where it belongs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import h5py
import iokernel_model as model
import netCDF4
import numpy as np
import pytest
from iokernel_stacks import HOWS, MOVING, How, Stack
from written import IOR, S3D, Writer

from iogauge.common import tables
from iogauge.common.hints import variable

PREFIXES = tables.rows("base/hints.def", "IO_HINT_PREFIX")

ATTRIBUTES = [
    {"time": 0.0, "tstep": 0.0, "time_save": 1.0e5},
    dict.fromkeys(("time", "tstep"), model.S3D_INTERVAL) | {"time_save": 1.0e5},
]
DATA_MODEL = {"pnetcdf": "NETCDF3_64BIT_DATA", "netcdf4": "NETCDF4"}
BYTES = {"pnetcdf": np.int8, "netcdf4": np.uint8}
RAW_SHARED = ("posix-shared", "master", "twophase", "mpiio")


def of(*methods: str) -> list[How]:
    return [how for how in HOWS if how.method in methods]


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("how", of("pnetcdf", "netcdf4"), ids=str)
def test_s3d_netcdf(stack: Stack, how: How, written: Writer) -> None:
    folder = written(stack, how, "s3d").folder
    assert names(folder) == [
        "pressure_wave_test.0.000E+00.field.nc",
        "pressure_wave_test.1.000E-06.field.nc",
    ]
    for step in range(2):
        with netCDF4.Dataset(folder / model.s3d_name(step, ".nc")) as file:
            assert file.data_model == DATA_MODEL[how.method]
            dims = {name: len(dim) for name, dim in file.dimensions.items()}
            assert list(dims.items()) == [
                ("x", 13), ("y", 11), ("z", 7), ("nsc", 11), ("three", 3),
            ]  # fmt: skip
            assert list(file.variables) == list(S3D.NAMES)
            assert file.variables["yspecies"].dimensions == ("nsc", "z", "y", "x")
            assert file.variables["u"].dimensions == ("three", "z", "y", "x")
            assert file.variables["pressure"].dimensions == ("z", "y", "x")
            assert file.variables["temp"].dimensions == ("z", "y", "x")
            found = {name: file.getncattr(name) for name in file.ncattrs()}
            assert found == pytest.approx(ATTRIBUTES[step], rel=1e-15)
            for name in S3D.NAMES:
                assert file.variables[name].dtype == np.float64
                values = file.variables[name][:]
                assert not np.ma.is_masked(values)
                np.testing.assert_array_equal(values, S3D.array(name, step))


@pytest.mark.parametrize("how", of("hdf5"), ids=str)
def test_s3d_hdf5(stack: Stack, how: How, written: Writer) -> None:
    folder = written(stack, how, "s3d").folder
    assert names(folder) == [model.s3d_name(step, ".h5") for step in range(2)]
    for step in range(2):
        with h5py.File(folder / model.s3d_name(step, ".h5")) as file:
            assert sorted(file) == sorted(S3D.NAMES)
            assert dict(file.attrs) == pytest.approx(ATTRIBUTES[step], rel=1e-15)
            for name in S3D.NAMES:
                assert file[name].dtype == np.dtype("<f8")
                np.testing.assert_array_equal(file[name][...], S3D.array(name, step))


@pytest.mark.parametrize("how", of(*RAW_SHARED), ids=str)
def test_s3d_raw(stack: Stack, how: How, written: Writer) -> None:
    folder = written(stack, how, "s3d").folder
    assert names(folder) == [model.s3d_name(step, ".bin") for step in range(2)]
    for step in range(2):
        stored = ">f8" if how.mode == "external32" else "<f8"  # the standard: big-endian
        found = np.fromfile(folder / model.s3d_name(step, ".bin"), stored)
        right = S3D.canonical(step)
        if how.mode == "ordered":  # a call of each process, rank after rank
            right = np.concatenate([S3D.share(rank, step) for rank in range(S3D.processes)])
        np.testing.assert_array_equal(found, right)


def test_s3d_posix(stack: Stack, written: Writer) -> None:
    folder = written(stack, How("posix", None), "s3d").folder
    for step in range(2):
        for rank in range(2):
            path = folder / f"{model.s3d_name(step, '.bin')}.{rank:08d}"
            np.testing.assert_array_equal(np.fromfile(path, np.float64), S3D.share(rank, step))
    assert len(names(folder)) == 4


def ior_bytes(how: How, path: Path) -> model.Bytes:
    if how.method == "hdf5":
        with h5py.File(path) as file:
            return np.asarray(file["data"][...])
    if how.method in DATA_MODEL:
        with netCDF4.Dataset(path) as dataset:
            assert dataset.variables["data"].dtype == BYTES[how.method]
            return np.asarray(dataset.variables["data"][:].data).view(np.uint8)
    return np.fromfile(path, np.uint8)


@pytest.mark.parametrize("how", [h for h in MOVING if h.method != "posix"], ids=str)
def test_ior_shared(stack: Stack, how: How, written: Writer) -> None:
    folder = written(stack, how, "ior").folder
    assert names(folder) == ["testFile"]
    right = IOR.shared()
    if how.mode == "ordered":
        right = right[IOR.ordered()]
    np.testing.assert_array_equal(ior_bytes(how, folder / "testFile"), right)


@pytest.mark.parametrize("how", MOVING, ids=str)
def test_ior_file_per_process(stack: Stack, how: How, written: Writer) -> None:
    folder = written(stack, how, "ior-F").folder
    assert names(folder) == ["testFile.00000000", "testFile.00000001"]
    for rank, path in enumerate(sorted(folder.iterdir())):
        np.testing.assert_array_equal(ior_bytes(how, path), IOR.file_of(rank))


@pytest.mark.parametrize("how", MOVING, ids=str)
def test_document_of_files(stack: Stack, how: How, written: Writer) -> None:
    """Paths, sizes and data sets' places in the document are the files'."""
    made = written(stack, how, "s3d")
    files = {entry["path"]: entry["bytes"] for entry in made.document["files"]}
    assert files == {str(p): p.stat().st_size for p in made.folder.iterdir()}
    assert made.document["file_bytes"] == sum(files.values())
    assert made.document["verification"]["verdict"] == "not asked"
    shapes = {d["name"]: tuple(d["shape"]) for d in made.document["payload"]["datasets"]}
    assert shapes == {name: S3D.shape(name) for name in S3D.NAMES}
    offsets = {d["name"]: d["offset"] for d in made.document["payload"]["datasets"]}
    first = sorted(made.folder.iterdir())[0]
    if how.method == "pnetcdf":
        assert offsets == model.cdf5_begins(first)
    elif how.method in ("hdf5", "netcdf4"):
        with h5py.File(first) as file:
            assert offsets == {name: file[name].id.get_offset() for name in S3D.NAMES}
    elif how.method == "posix" or how.mode == "ordered":
        assert set(offsets.values()) == {None}
    else:
        zeros = {name: (0,) * len(S3D.shape(name)) for name in S3D.NAMES}
        assert offsets == {name: S3D.place(name, zeros[name]) for name in S3D.NAMES}


def test_hdf5_chunks(stack: Stack, tmp_path: Path) -> None:
    """A chunk for each process's block, still every value in its place, and no offset."""
    words = ["s3d", *S3D.options(), "--method", "hdf5", "--dir", str(tmp_path), "--keep"]
    hints = ["--hint", "hdf5_chunk=block", "--hint", "hdf5_coll_metadata=true"]
    document = tmp_path.with_suffix(".json")
    found = stack.run(*words, *hints, document=document).good()
    assert found["verification"]["verdict"] == "verified"
    assert {d["offset"] for d in found["payload"]["datasets"]} == {None}
    with h5py.File(tmp_path / model.s3d_name(0, ".h5")) as file:
        assert file["u"].chunks == (3, 7, 6, 13)  # 11 points along y, 2 processes
        np.testing.assert_array_equal(file["u"][...], S3D.array("u", 0))


# README of S3D-IO, "Example metadata of the output file", grid 800 x 800 x 800.
HEADER = """\
netcdf pressure_wave_test.0.000E+00.field {
dimensions:
        x = 800 ;
        y = 800 ;
        z = 800 ;
        nsc = 11 ;
        three = 3 ;
variables:
        double yspecies(nsc, z, y, x) ;
        double u(three, z, y, x) ;
        double pressure(z, y, x) ;
        double temp(z, y, x) ;

// global attributes:
                :time = 0. ;
                :tstep = 0. ;
                :time_save = 100000. ;
}
"""


@pytest.mark.parametrize(
    "how", [How("pnetcdf", "nonblocking"), How("netcdf4", "collective")], ids=str
)
def test_ncdump_is_the_readme_of_s3d_io(stack: Stack, how: How, written: Writer) -> None:
    path = written(stack, how, "s3d").folder / model.s3d_name(0, ".nc")
    dump = subprocess.run(["ncdump", "-h", str(path)], capture_output=True, text=True, check=True)
    right = HEADER
    for axis, length in zip("xyz", S3D.grid, strict=True):
        right = right.replace(f"{axis} = 800 ;", f"{axis} = {length} ;")
    assert dump.stdout.expandtabs(8) == right


def test_hints_of_the_environment_are_in_the_document(stack: Stack, tmp_path: Path) -> None:
    """All that iogauge/common/hints.py puts there, and ROMIO's file, which ROMIO takes up."""
    keys = [f"{start}of_test" for start, way, _ in PREFIXES if way == "ENVIRONMENT"]
    ways = {key: str(variable(key)) for key in keys}
    romio = tmp_path / "romio"
    romio.write_text("cb_buffer_size 1048576\nromio_cb_write enable\n")
    environment = dict.fromkeys(ways.values(), "1") | {"ROMIO_HINTS": str(romio)}
    words = ["s3d", *S3D.options(), "--method", "mpiio", "--dir", str(tmp_path)]
    words += ["--unknown-hints", "pass"]
    document = tmp_path.with_suffix(".json")
    found = stack.run(*words, document=document, environment=environment).good()
    asked, used = found["asked"], found["used"]
    of_romio = {"cb_buffer_size": "1048576", "romio_cb_write": "enable"}
    assert asked["hints"] == dict.fromkeys(keys, "1") | of_romio
    assert asked["hints_environment"] == ways | dict.fromkeys(of_romio, "ROMIO_HINTS")
    has_romio = used["mpi_io"] == "ROMIO"
    assert has_romio == (stack.name == "mpich")
    assert sorted(used["hints_ignored"]) == ([] if has_romio else sorted(of_romio))


@pytest.mark.parametrize(("io", "right"), [("^ompio", "ROMIO"), ("ompio", "OMPIO")])
def test_the_mpi_io_that_was_chosen_is_told(
    openmpi: Stack, tmp_path: Path, io: str, right: str
) -> None:
    """Open MPI's ROMIO shows none of its hints where none was given."""
    words = ["s3d", "--grid", "8x8x8", "--method", "mpiio", "--dir", str(tmp_path)]
    document = tmp_path.with_suffix(".json")
    found = openmpi.run(*words, document=document, environment={"OMPI_MCA_io": io}).good()
    assert found["used"]["mpi_io"] == right


def test_a_hint_of_one_direction_is_in_force_in_that_direction(
    mpich: Stack, tmp_path: Path
) -> None:
    """What is in use is told of the first file: a run that writes, then one that only reads."""
    words = ["s3d", "--grid", "16x16x16", "--method", "mpiio", "--dir", str(tmp_path)]
    for given, written, read in (("write", "1048576", "16777216"), ("read", "16777216", "1048576")):
        hint = ["--hint", f"{given}:cb_buffer_size=1048576"]
        for way, right in (("--write-only", written), ("--read-only", read)):
            place = tmp_path / "result.json"
            document = mpich.run(*words, *hint, way, "--keep", "--overwrite", document=place).good()
            assert document["asked"]["hints"] == {f"{given}:cb_buffer_size": "1048576"}
            assert document["used"]["hints"]["cb_buffer_size"] == right, (given, way)
