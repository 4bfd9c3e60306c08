# SPDX-License-Identifier: BSD-3-Clause
"""What the recorder leaves beside a trace: the hints that MPI was given, and what came from
storage."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from iokernel_stacks import Stack, lacking
from recorder_runs import kernel, preload, python, traced

from iogauge.analysis.checks.beside_trace import against_the_recorder

S3D = ("s3d", "--grid", "16x12x10", "--procs-grid", "2x1x1", "--steps", "2", "--repeat", "2")
MESH = ("cgns-structured", "--zone", "9x7x5", "--repeat", "2")
HINTS = ("--hint", "cb_buffer_size=1048576", "--hint", "read:cb_nodes=1")
RUNS = {
    "mpiio": ("mpiio", "collective"),
    "hdf5": ("hdf5", "collective"),
    "pnetcdf": ("pnetcdf", "collective", "--hint", "nc_var_align_size=64"),
    "pnetcdf, independent": ("pnetcdf", "independent", "--hint", "nc_var_align_size=64"),
    "netcdf4": ("netcdf4", "collective"),
    "cgns": ("cgns", "collective-metadata"),
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_hints_reach_mpi(
    mpi: str, name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    stack: Stack = request.getfixturevalue(mpi)
    method, mode, *more = RUNS[name]
    if method in lacking(stack.iokernel):
        pytest.skip(f"{mpi} has no {method}")
    words = (*(MESH if method == "cgns" else S3D), "--method", method, "--mode", mode)
    plant = {"IOGAUGE_TRACE_PLANT": "7"}
    run, _ = kernel(stack, tmp_path, *words, *HINTS, *more, more=plant)
    assert run.status == 0, run
    document, traces = run.result(), tmp_path / "traces"
    assert document["asked"]["hints"]["cb_buffer_size"] == "1048576"
    assert not list(against_the_recorder(document, traces))
    document["used"]["hints"]["cb_block_size"] = "77"
    assert len(list(against_the_recorder(document, traces))) == 1
    document["asked"]["hints"] |= {"cb_block_size": "77"}
    assert len(list(against_the_recorder(document, traces))) == 3


def test_the_ceilings_count_apart(openmpi: Stack, tmp_path: Path) -> None:
    """A program that reads more of the one or the other from storage; no page is in memory."""
    data, traces = tmp_path / "data", tmp_path / "traces"
    data.mkdir()
    names = {
        "warm.bin": 2,
        "field.bin": 3,
        "iogauge-ceiling-fpp.bin": 1,
        "iogauge-ceiling-shared.bin": 4,
    }
    for name, size in names.items():
        (data / name).write_bytes(bytes(size << 20))
    code = (
        "import os, sys\n"
        "for path in sys.argv[1:]:\n"
        "    fd = os.open(path, os.O_RDONLY)\n"
        "    os.fsync(fd)\n"
        "    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n"
        "    if 'warm' in path: os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED)\n"
        "    while os.read(fd, 65536): pass\n"
        "    os.close(fd)\n"
        "print(open('/proc/self/io').read())\n"
    )
    command = ["/usr/bin/env", "python3", "-c", code, *(str(data / name) for name in names)]
    done = traced(command, preload(openmpi, traces, data))
    assert done.returncode == 0, done.stderr
    (counts,) = [path.read_text().split() for path in traces.glob("storage-*")]
    own, ceilings, messages, peak, *_ = map(int, counts)
    assert not messages and peak > 2**20
    all_read = int(done.stdout.split("read_bytes: ")[1].split()[0])
    if not all_read:
        pytest.skip("this file system's reads are not counted")
    assert own >= 3 << 20 and ceilings >= 5 << 20
    # What was read into the page cache before does not count.
    assert own + ceilings <= all_read - (1 << 20)


def test_how_files_were_made_and_flushed(openmpi: Stack, tmp_path: Path) -> None:
    """fsync counts once after each writing; a ceiling's file is opened as the run's are; and what
    is made was not there with data before."""
    code = (
        "make = os.O_CREAT | os.O_WRONLY\n"
        "for name, flags in (('iogauge-ceiling-fpp.bin', os.O_DSYNC), ('own', os.O_DSYNC)):\n"
        "    os.close(os.open(here + '/' + name, make | flags))\n"
        "early, late = (os.open(here + '/' + name, make) for name in ('early', 'late'))\n"
        "os.posix_fallocate(early, 0, 1 << 17)\n"
        "os.close(os.open(here + '/early', make))\n"
        "open(here + '/holes', 'w').truncate(1 << 17)\n"
        "os.close(os.open(here + '/holes', make))\n"
        "os.fsync(early), os.write(early, b'x')\n"
        "os.write(late, b'x'), os.fsync(late), os.fsync(late)\n"
    )
    python(openmpi, tmp_path, code)
    (storage,) = [path.read_text().split() for path in (tmp_path / "traces").glob("storage-*")]
    assert storage[-2:] == ["1", "2"]
    (found,) = [path.read_text() for path in (tmp_path / "traces").glob("operations-*")]
    assert "flush 1 1 " in found


@pytest.mark.parametrize("mode", ["collective", "external32"])
def test_how_files_are_viewed(openmpi: Stack, mode: str, tmp_path: Path) -> None:
    kernel(openmpi, tmp_path, *S3D, "--method", "mpiio", "--mode", mode)
    found = "".join(path.read_text() for path in (tmp_path / "traces").glob("hints-*"))
    assert ("representation\texternal32" in found) == (mode == "external32")


@pytest.mark.parametrize("method", ["posix-shared", "mpiio"])
def test_changed_bits_are_found(stack: Stack, method: str, tmp_path: Path) -> None:
    """The recorder changes them in each file between writing and reading, on request."""
    flip = {"IOGAUGE_TRACE_FLIP": "123456789"}
    run, _ = kernel(stack, tmp_path, *S3D, "--method", method, more=flip)
    checked = run.result()["verification"]
    assert run.status == 1 and checked["verdict"] == "mismatch"
    assert checked["mismatches"] >= 4, "of two steps in two repeats"


@pytest.mark.parametrize("how", ["two descriptors", "a forked child"])
def test_a_changed_bit_is_not_changed_back(openmpi: Stack, how: str, tmp_path: Path) -> None:
    """Nor is none changed where the next file holds, by chance, what a change had left there."""
    code = (
        "f, g = (os.open(here + '/a', os.O_RDWR | os.O_CREAT) for _ in '12')\n"
        "os.write(f, bytes(8))\n"
        "if sys.argv[1:] == ['a forked child']:\n"
        "    if os.fork() == 0:\n"
        "        os.close(f); os._exit(0)\n"
        "    os.wait()\n"
        "else:\n"
        "    os.write(g, bytes(8)); os.close(g)\n"
        "os.close(f)\n"
        "def changed(value):\n"
        "    print(sum(byte != value for byte in open(here + '/a', 'rb').read()))\n"
        "changed(0)\n"
        "for value in (0, 0, *range(256)):\n"
        "    f = os.open(here + '/a', os.O_RDWR | os.O_CREAT | os.O_TRUNC)\n"
        "    os.write(f, bytes([value] * 8)); os.close(f)\n"
        "    changed(value)\n"
    )
    data = tmp_path / "data"
    data.mkdir()
    flip = {"IOGAUGE_TRACE_FLIP": "3"} | preload(openmpi, tmp_path / "traces", data)
    head = f"import os, sys; here = {str(data)!r}\n"
    done = traced([sys.executable, "-c", head + code, how], flip)
    assert (done.returncode, done.stdout.split()) == (0, ["1"] * 259), done.stderr


ALONE = (*MESH, "--mode", "serial")
FLUSHED = {"posix": (2, S3D), "posix-shared": (2, S3D), "master": (2, S3D), "cgns": (1, ALONE)}


@pytest.mark.parametrize("method", FLUSHED)
def test_fsync_comes_after_the_data(stack: Stack, method: str, tmp_path: Path) -> None:
    if method in lacking(stack.iokernel):
        pytest.skip(f"{stack.name} has no {method}")
    processes, words = FLUSHED[method]
    words, plant = (*words, "--method", method, "--fsync"), {"IOGAUGE_TRACE_PLANT": "7"}
    run, _ = kernel(stack, tmp_path, *words, processes=processes, more=plant)
    document, traces = run.result(), tmp_path / "traces"
    assert document["asked"]["fsync"] and not list(against_the_recorder(document, traces))
    for one in traces.glob("operations-*"):
        one.unlink()
    (said,) = against_the_recorder(document, traces)
    assert "fsync: expected after writing" in said
