# SPDX-License-Identifier: BSD-3-Clause
"""Collective buffering of our own: whatever the buffers, aggregators and nodes, the file is the one
that every method of its format writes, and each reads the others'."""

from __future__ import annotations

from pathlib import Path

import h5py
import iokernel_model as model
import numpy as np
import pytest
from iokernel_stacks import How, Stack, check_usage

from tests.selftest.injector import Plan, preload

TWOPHASE, SHARED = How("twophase", None), How("posix-shared", None)
S3D = model.S3d(procs=(2, 2, 1))
IOR = model.Ior(processes=4)
# `--share N`: that many processes are a separate node, and the others are reached by messages.
# A buffer of 4099 bytes ends within elements.
WAYS = (
    "",
    "--buffer-size 4k --rounds 1",
    "--buffer-size 4099 --rounds 3 --aggregators 1",
    "--buffer-size 4k --share 1",
    "--buffer-size 4099 --share 2 --rounds 1",
    "--buffer-size 4k --share 3 --aggregators 1",
)  # fmt: skip
# Which way data takes: all straight; only reads of one row; all exchanged, each call at once,
# a few together, all at last.
KINDS = (
    "--straight 1",
    "--straight 1m --join 1 --buffer-size 4k",
    "--straight 1g --join 1",
    "--straight 1g --join 2k --buffer-size 4099",
    "--straight 1g --join 1m --buffer-size 4k",
    "--straight 1g --join 1m --buffer-size 4k --share 1",
)  # fmt: skip


def s3d(how: How, place: Path, *more: str) -> list[str]:
    return ["s3d", *S3D.options(), *how.options(), "--dir", str(place), "--keep", *more]


@pytest.mark.parametrize("way", WAYS)
def test_the_file_is_that_of_other_methods(openmpi: Stack, way: str, tmp_path: Path) -> None:
    words = s3d(TWOPHASE, tmp_path, *way.split())
    document = openmpi.run(*words, processes=4, document=tmp_path / "result.json").good()
    assert document["verification"]["verdict"] == "verified"
    found = np.fromfile(tmp_path / model.s3d_name(0, ".bin"), np.float64)
    np.testing.assert_array_equal(found, S3D.canonical(0))


@pytest.mark.parametrize("way", WAYS[2:5:2])
def test_another_methods_file_is_read(openmpi: Stack, way: str, tmp_path: Path) -> None:
    openmpi.run(
        *s3d(SHARED, tmp_path, "--write-only"), processes=4, document=tmp_path / "written.json"
    ).good()
    words = s3d(TWOPHASE, tmp_path, "--read-only", *way.split())
    document = openmpi.run(*words, processes=4, document=tmp_path / "result.json").good()
    assert document["verification"]["verdict"] == "verified"


@pytest.mark.parametrize("way", [*WAYS[1:6:2], *KINDS])
def test_what_stands_between_is_not_written(openmpi: Stack, way: str, tmp_path: Path) -> None:
    """A call of IOR's moves a piece of each process's block: between them is what others wrote."""
    words = ["ior", *IOR.options(), *TWOPHASE.options(), "--dir", str(tmp_path), "--keep"]
    openmpi.run(*words, *way.split(), processes=4, document=tmp_path / "result.json").good()
    np.testing.assert_array_equal(np.fromfile(tmp_path / "testFile", np.uint8), IOR.shared())


@pytest.mark.parametrize("way", WAYS[2:4])
@pytest.mark.parametrize("pattern", [("s3d", "--grid", "13x11x7"), ("ramses-hydro", "--size", "8")])
def test_cdf5_is_pnetcdfs_file(
    openmpi: Stack, pattern: tuple[str, ...], way: str, tmp_path: Path
) -> None:
    """Byte by byte, with the header, what stands between the variables, and the file's end."""
    other, ours = tmp_path / "other", tmp_path / "ours"
    for how, folder, more in (
        (How("pnetcdf", "collective"), other, []),
        (TWOPHASE, ours, ["--format", "cdf5", *way.split()]),
    ):
        folder.mkdir()
        words = [*pattern, *how.options(), "--dir", str(folder), "--keep", *more]
        found = openmpi.run(*words, processes=3, document=folder.with_suffix(".json")).good()
        assert found["verification"]["verdict"] == "verified"
    (name,) = (path.name for path in other.iterdir())
    assert [path.name for path in ours.iterdir()] == [name]
    assert (ours / name).read_bytes() == (other / name).read_bytes()


@pytest.mark.parametrize("way", KINDS)
def test_many_small_calls(openmpi: Stack, way: str, tmp_path: Path) -> None:
    """A dump of RAMSES: headers, and rows of every length, call by call, in two layouts."""
    for layout in ("level-major", "process-major"):
        pattern = ["ramses-amr", "--size", "16", "--layout", layout]
        files = []
        for how, more in ((SHARED, []), (TWOPHASE, way.split())):
            folder = tmp_path / layout / how.method
            folder.mkdir(parents=True)
            words = [*pattern, *how.options(), "--dir", str(folder), "--keep", *more]
            found = openmpi.run(*words, processes=3, document=folder.with_suffix(".json")).good()
            assert found["verification"]["verdict"] == "verified"
            files += [path.read_bytes() for path in folder.iterdir()]
        assert len(files) == 2
        assert files[0] == files[1]


def test_small_calls_and_a_flush(openmpi: Stack, tmp_path: Path) -> None:
    """IOR's transfers, kept through its segments, with their own memory and with one buffer."""
    words = ["ior", "-b", "3k", "-t", "1k", "-s", "5", *TWOPHASE.options(), "--straight", "1g"]
    words += ["--dir", str(tmp_path), "--buffer-size", "4k", "--fsync"]
    for reader in ([], ["--buffer", "reused"]):
        found = openmpi.run(*words, *reader, processes=4, document=tmp_path / "r.json").good()
        assert found["verification"]["verdict"] == "verified"


def test_hdf5_is_read_by_others(stack: Stack, tmp_path: Path) -> None:
    """h5py, and method hdf5; and twophase reads what method hdf5 wrote."""
    words = ["s3d", "--grid", "13x11x7", "--dir", str(tmp_path), "--keep"]
    ours, hdf5 = [*TWOPHASE.options(), "--format", "hdf5"], How("hdf5", "independent").options()
    document = tmp_path / "result.json"
    for writer, reader in ((ours, hdf5), (hdf5, ours)):
        stack.run(*words, *writer, "--write-only", "--overwrite", document=document).good()
        with h5py.File(tmp_path / model.s3d_name(0, ".h5")) as file:
            for name in S3D.NAMES:
                np.testing.assert_array_equal(file[name][...], S3D.array(name, 0))
        found = stack.run(*words, *reader, "--read-only", document=document).good()
        assert found["verification"]["verdict"] == "verified"


@pytest.mark.slow
def test_a_format_that_the_build_lacks(poor: Stack, tmp_path: Path) -> None:
    words = ["s3d", *TWOPHASE.options(), "--format", "cdf5"]
    check_usage(poor, words, ["this build lacks PnetCDF"], tmp_path)


def test_by_messages_with_mpich(mpich: Stack, tmp_path: Path) -> None:
    for way in WAYS[3:5]:
        words = ["s3d", *TWOPHASE.options(), "--grid", "13x11x7", "--dir", str(tmp_path)]
        document = mpich.run(*words, *way.split(), document=tmp_path / "result.json").good()
        assert document["verification"]["verdict"] == "verified"


def test_the_document_says_what_the_buffers_take(openmpi: Stack, tmp_path: Path) -> None:
    words = s3d(TWOPHASE, tmp_path, "--buffer-size", "8k", "--rounds", "3", "--aggregators", "1")
    words += ["--join", "3k", "--straight", "1m"]
    document = openmpi.run(*words, processes=4, document=tmp_path / "result.json").good()
    assert document["asked"]["method_options"] == {
        "buffer_size": 8192, "rounds": 3, "aggregators": 1, "share": 0, "join": 3072,
        "straight": 1048576, "format": "raw", "buffer_memory": 4 * 8192 + 3072,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        (["--buffer-size", "100"], ["--buffer-size 100", "4096"]),
        (["--rounds", "17"], ["--rounds 17", "1 to 16"]),
        (["--rounds", "0"], ["--rounds"]),
        (["--join", "2g"], ["--join 2147483648", "1 (no joining) to 1073741824"]),
        (["--format", "cdf"], ["--format cdf:", "raw, cdf5, hdf5"]),
    ],
)
def test_wrong_options(openmpi: Stack, words: list[str], holds: list[str], tmp_path: Path) -> None:
    check_usage(openmpi, ["s3d", *TWOPHASE.options(), *words], holds, tmp_path)


LARGE = ["s3d", *S3D.options(), "--steps", "2"]
SMALL = ["ramses-hydro", "--size", "16"]


@pytest.mark.parametrize(
    ("pattern", "way", "nth"),
    [(LARGE, WAYS[1], 3), (LARGE, WAYS[3], 3), (SMALL, KINDS[0], 2), (SMALL, KINDS[4], 2)],
)
@pytest.mark.parametrize("call", ["write", "read"])
def test_a_failing_call_is_everybodys(
    openmpi: Stack, call: str, pattern: list[str], way: str, nth: int, injector: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    """One process's call fails: all end with its message; straight and small ones at the latest
    when the file is closed."""
    words = [*pattern, *TWOPHASE.options(), "--dir", str(tmp_path), *way.split()]
    environment = preload(injector, Plan(call, "EIO", rank=2, nth=nth), tmp_path)
    document = tmp_path.with_suffix(".json")
    run = openmpi.run(*words, processes=4, document=document, environment=environment)
    line = run.error(1)
    assert "process 2 on" in line and f"p{call}: Input/output error" in line
    assert "more processes" not in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("pattern", "straight", "readers"),
    [
        (["ior", "-b", "3k", "-t", "1k"], "4k", 4),  # one row each
        (["ior", "-b", "3k", "-t", "1k"], "1g", 1),
        (["s3d", *S3D.options()], "1m", 1),  # many rows
    ],
)
def test_how_many_read(
    openmpi: Stack, pattern: list[str], straight: str, readers: int, injector: Path, tmp_path: Path
) -> None:
    """One aggregator of four processes, and all where each call is of a single short row."""
    words = [*pattern, *TWOPHASE.options(), "--aggregators", "1", "--straight", straight]
    said = []
    for rank in range(4):
        place = tmp_path / str(rank)
        place.mkdir()
        environment = preload(injector, Plan("read", "EIO", rank=rank), place)
        run = openmpi.run(*words, "--dir", str(place), processes=4, environment=environment)
        said += [run.error(1)] if run.status else []
    assert len(said) == readers


@pytest.mark.parametrize(
    ("call", "fault"), [("write", "short"), ("write", "EINTR"), ("read", "short")]
)
def test_calls_that_are_not_through_are_gone_on_with(
    openmpi: Stack, call: str, fault: str, injector: Path, tmp_path: Path
) -> None:
    words = ["s3d", *S3D.options(), *TWOPHASE.options(), "--dir", str(tmp_path)]
    plan = Plan(call, fault, times=5)
    document = tmp_path.with_suffix(".json")
    run = openmpi.run(
        *words, processes=4, document=document, environment=preload(injector, plan, tmp_path)
    )
    assert run.good()["verification"]["verdict"] == "verified"
