# SPDX-License-Identifier: BSD-3-Clause
"""Method adios2, on the release of Debian that has the library: read back by ADIOS2's own bpls,
and a wrong byte in the data is found."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import iokernel_model as model
import numpy as np
import pytest
from iokernel_stacks import ROOT, How, Stack

from iogauge.measure import kernels
from site_configs.support import debian
from tests.launch import launch_words

NAME = "trixie-openmpi"
RELEASE = debian.Debian("trixie")
NEEDED = (RELEASE.program("enter"), f"{RELEASE.folder}/root/usr/include/adios2_c.h")
pytestmark = [  # slow: test-newer, which makes the root, comes before those
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(Path(path).exists() for path in NEEDED),
        reason="no release trixie with libadios2-mpi-c-dev here: iogauge stack add trixie",
    ),
]
S3D = model.S3d(procs=(1, 2, 2))
WORDS = ["s3d", *S3D.options(), "--steps", "2"]
NAMED, INDEX, STEP = "u", (2, 5, 9, 11), 1
# ADIOS2 waits for the rest of a file that is too short, at last for 21 s, 43 s in all.
NO_LONG_SLEEP = """\
#include <time.h>
int nanosleep(const struct timespec *t, struct timespec *left) {
    return t->tv_sec ? 0 : clock_nanosleep(CLOCK_REALTIME, 0, t, left);
}
"""
MODES = ("collective", "independent")


@pytest.fixture(scope="module")
def trixie() -> Stack:
    entry = kernels.environ(NAME)
    stack = Stack(NAME, launch_words(NAME), entry["extras"]["mpi_library"])
    stack.build = ROOT / ".local" / "build" / f"test-{NAME}"
    kernels.build(NAME, stack.build, kernels.STRICT, "-DIOKERNEL_CGNS=OFF")
    return stack


def run(
    stack: Stack, mode: str, place: Path, *more: str, environment: dict[str, str] | None = None
) -> Any:
    words = [*WORDS, *How("adios2", mode).options(), "--dir", str(place), *more]
    document = place.with_suffix(".json")
    return stack.run(*words, processes=4, document=document, environment=environment)


def test_stderr_of_a_good_run_is_empty(trixie: Stack, tmp_path: Path) -> None:
    """The launcher of Open MPI 5 reorders parts of it when warnings fill its buffer, so a test that
    looks for an error message would fail now and then."""
    words = [*WORDS, "--method", "adios2", "--dir", str(tmp_path)]
    done = trixie.run(*words, processes=4, document=tmp_path / "r.json")
    assert (done.status, done.stderr) == (0, "")


@pytest.mark.parametrize("io_processes", [1, 2])
def test_io_processes_write_with_its_default_options(
    trixie: Stack, tmp_path: Path, io_processes: int
) -> None:
    words = [*WORDS, "--method", "ioserver", "--inner", "adios2", "--dir", str(tmp_path)]
    more = ["--io-processes", str(io_processes)]
    trixie.run(*words, *more, processes=4 + io_processes, document=tmp_path / "r.json").good()


def folder(place: Path, step: int) -> Path:
    return place / model.s3d_name(step, ".bp")


def by_bpls(path: Path, name: str) -> Any:
    """A variable's values, as ADIOS2's own program prints them, in the order of the array."""
    words = [RELEASE.program("enter"), "bpls.mpi", "-d", "-y", "-n", "1", "-f", "%.17g", path, name]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()[1:] if line.strip()]
    return np.array([float(words[-1]) for words in lines])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("aggregators", [1, 2, 4])
def test_values_and_files(trixie: Stack, tmp_path: Path, mode: str, aggregators: int) -> None:
    place = tmp_path / "d"
    place.mkdir()
    found = run(trixie, mode, place, "--keep", "--fsync", "--aggregators", str(aggregators)).good()
    assert found["verification"]["verdict"] == "verified"
    assert found["verification"]["elements"] == 2 * 13 * 11 * 7 * 16
    assert found["asked"]["method_options"] == {"aggregators": aggregators}
    for step in range(2):
        there = folder(place, step)
        assert len(list(there.glob("data.*"))) == aggregators
        for name in S3D.NAMES if aggregators == 2 else ():
            right = S3D.array(name, step).ravel()
            np.testing.assert_array_equal(by_bpls(there, name), right)
    files = {entry["path"]: entry["bytes"] for entry in found["files"]}
    assert files == {str(p): p.stat().st_size for p in place.glob("*/*")}


@pytest.mark.parametrize("mode", MODES)
def test_a_wrong_byte(trixie: Stack, tmp_path: Path, mode: str) -> None:
    place = tmp_path / "d"
    place.mkdir()
    run(trixie, mode, place, "--keep", "--write-only", "--aggregators", "2").good()
    run(trixie, mode, place, "--read-only").good()
    right = S3D.array(NAMED, STEP)[INDEX]
    holds = [p for p in folder(place, STEP).glob("data.*") if right.tobytes() in p.read_bytes()]
    (path,) = holds
    data = bytearray(path.read_bytes())
    data[data.index(right.tobytes()) + 3] ^= 4
    path.write_bytes(data)
    broken = run(trixie, mode, place, "--read-only")
    assert f"data set {NAMED}[{','.join(map(str, INDEX))}]" in broken.error(1)
    found = broken.result()["verification"]
    assert (found["verdict"], found["mismatches"]) == ("mismatch", 1)
    assert found["first"]["expected"] == float(right)


@pytest.mark.parametrize("damage", ["missing", "cut", "file"])
def test_what_is_no_good(trixie: Stack, tmp_path: Path, damage: str) -> None:
    """A folder that is not there, one with half its data, and a file in its place."""
    place = tmp_path / "d"
    place.mkdir()
    if damage == "cut":
        run(trixie, MODES[0], place, "--keep", "--write-only").good()
        data = folder(place, STEP) / "data.0"
        data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
    elif damage == "file":
        folder(place, 0).write_text("no folder")
    source, library = tmp_path / "sleep.c", tmp_path / "sleep.so"
    source.write_text(NO_LONG_SLEEP)
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    impatient = {"LD_PRELOAD": str(library)}
    done = run(trixie, MODES[0], place, "--read-only", environment=impatient)
    assert done.status == 1 and len(done.errors()) == 1, str(done)
    assert done.result()["status"] in ("error", "failed")


def test_nothing_is_left(trixie: Stack, tmp_path: Path) -> None:
    place = tmp_path / "d"
    place.mkdir()
    run(trixie, MODES[0], place, "--repeat", "2").good()
    assert list(place.iterdir()) == []
    assert "expected 1 to 4" in run(trixie, MODES[0], place, "--aggregators", "5").error(2)


def test_it_creates_no_empty_files(trixie: Stack, tmp_path: Path) -> None:
    """Its files are folders: with --create-empty it is refused, without it runs."""
    words = ["metadata", "--files", "2", "--method", "adios2", "--dir", str(tmp_path)]
    document = tmp_path / "r.json"
    said = trixie.run(*words, "--create-empty", processes=2, document=document).error(2)
    assert "--create-empty creates files, but method adios2 writes directories" in said
    trixie.run(*words, processes=2, document=document).good()
