# SPDX-License-Identifier: BSD-3-Clause
"""Bad input: one line that says what was wrong and what is right, soon, and nothing left behind."""

from __future__ import annotations

import os
import random
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from iokernel_stacks import MOVING, ROOT, How, Run, Stack
from written import Writer

S3D = ["s3d", "--grid", "8x6x4"]
IOR = ["ior", "-b", "4k", "-t", "1k"]
POSIX = ["--method", "posix"]

# name: words, and what the line must hold. {dir}: an existing, empty directory.
USAGE: dict[str, tuple[list[str], list[str]]] = {
    "no-pattern": ([], ["no pattern", "s3d, ior"]),
    "pattern": (["bogus", *POSIX, "--dir", "{dir}"], ["'bogus'", "s3d, ior"]),
    # What a terminal would obey is not printed: ESC, a control character of the second set.
    "control": (["a\x1b[2Jb\x9bc\td\x1e", *POSIX, "--dir", "{dir}"], ["'a?[2Jb??c d?'"]),
    "method": (
        [*S3D, "--method", "bogus", "--dir", "{dir}"],
        [
            "'bogus'",
            "null, posix, posix-shared, master, twophase, mpiio, hdf5, pnetcdf, "
            "netcdf4, adios2, cgns, ioserver",
        ],
    ),
    "no-method": ([*S3D, "--dir", "{dir}"], ["--method", "--list"]),
    "no-dir": ([*S3D, *POSIX], ["--dir", "directory"]),
    "mode": (
        [*S3D, *POSIX, "--mode", "fast", "--dir", "{dir}"],
        ["fast", "use collective, collective-metadata, indep", "multi or serial"],
    ),
    "no-modes": ([*S3D, *POSIX, "--mode", "collective", "--dir", "{dir}"], ["posix", "no modes"]),
    "not-its-mode": (
        [*S3D, "--method", "hdf5", "--mode", "ordered", "--dir", "{dir}"],
        ["hdf5", "ordered", "collective, collective-metadata, independent", "chunked"],
    ),
    "option": ([*S3D, *POSIX, "--dir", "{dir}", "--bogus"], ["--bogus", "--help"]),
    "letter": ([*IOR, *POSIX, "--dir", "{dir}", "-Q"], ["-Q", "--help"]),
    "no-value": ([*S3D, *POSIX, "--dir"], ["--dir", "needs a value"]),
    "word": ([*S3D, *POSIX, "--dir", "{dir}", "more"], ["'more'", "not an option"]),
    "hint-syntax": (
        [*S3D, "--method", "mpiio", "--dir", "{dir}", "--hint", "romio_cb_write"],
        ["--hint romio_cb_write", "KEY=VALUE"],
    ),
    "hint-number": (
        [*S3D, "--method", "mpiio", "--dir", "{dir}", "--hint", "cb_buffer_size=0"],
        ["cb_buffer_size=0", "a positive integer"],
    ),
    "hint-switch": (
        [*S3D, "--method", "mpiio", "--dir", "{dir}", "--hint", "romio_cb_write=on"],
        ["romio_cb_write=on", "enable, disable or automatic"],
    ),
    "hint-crashes": (
        [*S3D, "--method", "mpiio", "--dir", "{dir}", "--hint", "cb_buffer_size=3000000000"],
        ["cb_buffer_size=3000000000", "from 1 to 2147483647"],
    ),
    "hint-unknown": (
        [*S3D, "--method", "mpiio", "--dir", "{dir}", "--hint", "write:cb_bufer_size=1"],
        ["cb_bufer_size", "did you mean cb_buffer_size?", "--unknown-hints pass"],
    ),
    "hint-too-new": (
        [*S3D, "--method", "pnetcdf", "--dir", "{dir}", "--hint", "nc_driver=mpiio"],
        ["nc_driver", "PnetCDF has this hint from 1.15", "uses 1."],
    ),
    "hint-of-no-library-here": (
        [*S3D, "--method", "mpiio", "--dir", "{dir}", "--hint", "IBM_largeblock_io=true"],
        ["IBM_largeblock_io", "IBM's MPI-IO", "this run uses"],
    ),
    "hint-pass": (
        [*S3D, *POSIX, "--dir", "{dir}", "--unknown-hints", "maybe"],
        ["maybe", "refuse or pass"],
    ),
    "hint-of-hdf5": (
        [*S3D, "--method", "hdf5", "--dir", "{dir}", "--hint", "hdf5_alignment=-1"],
        ["hdf5_alignment=-1", "a positive integer"],
    ),
    "hint-direction": (
        [*S3D, "--method", "hdf5", "--dir", "{dir}", "--hint", "read:hdf5_chunk=block"],
        ["hdf5_chunk", "cannot be limited to one direction", "--hint hdf5_chunk=block"],
    ),
    "hint-of-another": (
        [*S3D, *POSIX, "--dir", "{dir}", "--hint", "hdf5_chunk=block"],
        ["hdf5_chunk", "posix"],
    ),
    "size-0": (["ior", *POSIX, "-b", "0", "--dir", "{dir}"], ["-b 0", "expected a size"]),
    "size-negative": (
        ["ior", *POSIX, "-t", "-4k", "--dir", "{dir}"],
        ["-t -4k", "expected a size"],
    ),
    "size-text": (["ior", *POSIX, "-b", "big", "--dir", "{dir}"], ["-b big", "k, m, g or t"]),
    "size-parts": (
        ["ior", *POSIX, "-b", "10k", "-t", "3k", "--dir", "{dir}"],
        ["10240", "3072", "multiple"],
    ),
    "segments-0": ([*IOR, *POSIX, "-s", "0", "--dir", "{dir}"], ["-s 0", "positive"]),
    "api": ([*IOR, "-a", "FOO", "--dir", "{dir}"], ["FOO", "POSIX, MPIIO, HDF5 or NCMPI"]),
    "api-and-method": (
        [*IOR, "-a", "HDF5", "--method", "mpiio", "--dir", "{dir}"],
        ["HDF5", "mpiio", "one of them"],
    ),
    "collective": ([*IOR, *POSIX, "-c", "--dir", "{dir}"], ["-c", "collective", "posix"]),
    "grid-0": (["s3d", *POSIX, "--grid", "0x6x4", "--dir", "{dir}"], ["0x6x4", "positive"]),
    "grid-text": (["s3d", *POSIX, "--grid", "8,6,4", "--dir", "{dir}"], ["8,6,4", "XxYxZ"]),
    "process-grid": (
        [*S3D, *POSIX, "--procs-grid", "3x1x1", "--dir", "{dir}"],
        ["3x1x1", "2 processes", "mpiexec -n 3", "product is 2"],
    ),
    "process-grid-large": (
        ["s3d", *POSIX, "--grid", "1x6x4", "--procs-grid", "2x1x1", "--dir", "{dir}"],
        ["1 points along x", "2 processes"],
    ),
    "steps-0": ([*S3D, *POSIX, "--steps", "0", "--dir", "{dir}"], ["--steps 0", "positive"]),
    "repeat-text": ([*S3D, *POSIX, "--repeat", "x", "--dir", "{dir}"], ["--repeat x", "positive"]),
    "no-direction": (
        [*S3D, *POSIX, "--read-only", "--write-only", "--dir", "{dir}"],
        ["--write-only and --read-only"],
    ),
}


def clean(run: Run, status: int, *holds: str) -> None:
    """One line, holding these words, and nothing before it."""
    line = run.error(status)
    for words in holds:
        assert words in line, f"no {words!r} in {line}"
    assert run.stderr.lstrip().startswith("iokernel: error: "), f"something comes before: {run}"
    assert run.stdout.strip() == "" or "normally, but" in run.stdout, str(run)


@pytest.mark.parametrize("name", USAGE)
def test_usage(stack: Stack, name: str, tmp_path: Path) -> None:
    words, holds = USAGE[name]
    run = stack.run(*(word.replace("{dir}", str(tmp_path)) for word in words))
    clean(run, 2, *holds)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", MOVING, ids=str)
def test_directory_is_missing(stack: Stack, how: How, tmp_path: Path) -> None:
    place = tmp_path / "missing"
    document = tmp_path / "result.json"
    run = stack.run(*S3D, *how.options(), "--dir", str(place), document=document)
    clean(run, 1, str(place), "No such file or directory", "create the directory")
    assert run.result()["status"] == "error"
    assert f"iokernel: error: {run.result()['error']}" in run.errors()[0]
    assert not place.exists()


def test_directory_is_a_file(stack: Stack, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("mine")
    run = stack.run(*S3D, *POSIX, "--dir", str(place))
    clean(run, 1, str(place), "not a directory", "use an existing one")
    assert place.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "said"), [("missing/result.json", "No such file or directory"), ("", "Is a directory")]
)
def test_a_document_that_cannot_be_written_is_said_first(
    stack: Stack, name: str, said: str, tmp_path: Path
) -> None:
    """And nothing is measured: there is no table, and no file."""
    place = tmp_path / name
    run = stack.run(*S3D, *POSIX, "--dir", str(tmp_path), "--json", str(place))
    clean(run, 1, "--json", said, str(place))
    assert "bandwidth" not in run.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def open_place(openmpi: Stack) -> Iterator[tuple[Path, Path]]:
    """A copy of iokernel that all users may start, and a directory that its owner may write."""
    with tempfile.TemporaryDirectory(prefix="iogauge-") as name:
        base = Path(name)
        base.chmod(0o755)
        place = base / "place"
        place.mkdir(mode=0o755)
        # The checkout may be where only its owner looks, and with it libraries of ours.
        needed = subprocess.run(
            ["ldd", openmpi.iokernel], capture_output=True, text=True, check=True
        )
        for library in re.findall(r"=> (\S+) ", needed.stdout):
            if Path(library).is_relative_to(ROOT):
                shutil.copy(library, base)
        yield Path(shutil.copy(openmpi.iokernel, base / "iokernel")), place


@pytest.mark.parametrize("how", MOVING, ids=str)
def test_directory_is_not_writable(openmpi: Stack, how: How, open_place: tuple[Path, Path]) -> None:
    program, place = open_place
    words = [*S3D, *how.options(), "--dir", str(place)]
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip(
                "root writes everywhere, and setpriv, to be somebody else, is not installed"
            )
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        home = {"HOME": "/tmp", "TMPDIR": "/tmp", "LD_LIBRARY_PATH": str(program.parent)}
        run = openmpi.run(*words, program=program, before=nobody, environment=home)
    else:
        place.chmod(stat.S_IRUSR | stat.S_IXUSR)
        run = openmpi.run(*words, program=program)
    clean(run, 1, str(place), "Permission denied", "can write")
    assert list(place.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(("method", "library"), [("hdf5", "parallel HDF5"), ("pnetcdf", "PnetCDF")])
def test_method_that_the_build_lacks(
    poor: Stack, method: str, library: str, tmp_path: Path
) -> None:
    run = poor.run(*S3D, "--method", method, "--dir", str(tmp_path))
    clean(run, 2, method, f"this build lacks {library}", "--list")


@pytest.mark.parametrize("how", MOVING, ids=str)
@pytest.mark.parametrize("pattern", ["s3d", "ior"])
def test_truncated_file(
    stack: Stack, how: How, pattern: str, written: Writer, tmp_path: Path
) -> None:
    """PnetCDF reads past the end as zeros, so there it may be verification that sees it."""
    made = written(stack, how, pattern)
    folder = made.copy(tmp_path / "data")
    path = max(folder.iterdir())
    size = path.stat().st_size // 2
    os.truncate(path, size)
    run = made.read(folder)
    line = run.error(1)
    assert str(path) in line
    assert run.result()["status"] == "error" or how.method == "pnetcdf", str(run)
    assert path.stat().st_size == size


@pytest.mark.parametrize("how", MOVING, ids=str)
def test_foreign_file(stack: Stack, how: How, written: Writer, tmp_path: Path) -> None:
    """Random bytes in place of our file, of the same size."""
    made = written(stack, how, "ior")
    folder = made.copy(tmp_path / "data")
    path = max(folder.iterdir())
    foreign = random.Random(1).randbytes(path.stat().st_size)
    path.write_bytes(foreign)
    run = made.read(folder)
    assert str(path) in run.error(1)
    raw = how.method not in ("hdf5", "pnetcdf", "netcdf4")
    assert run.result()["status"] == ("failed" if raw else "error")
    assert path.read_bytes() == foreign


@pytest.mark.parametrize("how", MOVING, ids=str)
def test_file_is_missing(stack: Stack, how: How, tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.mkdir()
    document = tmp_path / "result.json"
    words = [*IOR, *how.options(), "--dir", str(place), "--read-only"]
    run = stack.run(*words, document=document)
    assert re.search(r"testFile|No such file", run.error(1))
    assert run.result()["status"] == "error"
    assert list(place.iterdir()) == []
