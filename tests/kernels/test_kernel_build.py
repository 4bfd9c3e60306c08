# SPDX-License-Identifier: BSD-3-Clause
"""The built programs: the MPI they are linked to, what they list, --plan's 64-bit arithmetic."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from iokernel_stacks import Stack
from iokernel_stacks import listing as listed

from iogauge.analysis.errors import UsageError
from iogauge.common import tables
from iogauge.common.paths import KERNELS
from iogauge.common.tables import BEHIND
from iogauge.measure import kernels
from reframe_tests.machine import calls, stacks

MODES_TABLE = KERNELS / "base" / "modes.def"
GIB = 2**30


def test_one_mpi(stack: Stack) -> None:
    ldd = subprocess.run(["ldd", str(stack.iokernel)], capture_output=True, text=True, check=True)
    assert set(re.findall(r"\b(libmpi(?:ch)?\.so[.\d]*)", ldd.stdout)) == {stack.mpi}
    assert "not found" not in ldd.stdout


def test_an_installation_has_the_recorder_and_says_where(stack: Stack, tmp_path: Path) -> None:
    words = ["cmake", "--install", str(stack.iokernel.parent), "--prefix", str(tmp_path / "moved")]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    (module,) = (tmp_path / "moved").rename(tmp_path / "here").rglob("pkgconfig/iokernel.pc")
    for name, file in (("program", "iokernel"), ("recorder", "libiogauge-recorder.so")):
        words = ["pkg-config", f"--variable={name}", str(module)]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        found = Path(said.strip()).resolve(strict=True)
        assert found.name == file and tmp_path in found.parents


def listing(stack: Stack) -> dict[str, Any]:
    done = stack.alone("--list", "--json", "-")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(file: str, word: str) -> list[str]:
    """The first column of one of the kernels' tables, as Python reads it."""
    return re.findall(rf"^{word}\((\w+)", (KERNELS / file).read_text(), re.MULTILINE)


def test_list(stack: Stack) -> None:
    """What the tables have is listed, in their order; modes are the table's."""
    found = listing(stack)
    patterns, methods = ([entry["name"] for entry in found[of]] for of in ("patterns", "methods"))
    registered = table("patterns/patterns.def", "IO_PATTERN")
    assert patterns == [name.replace("_", "-") for name in registered]
    registered = table("methods/methods.def", "IO_METHOD")
    assert methods == [name.replace("_", "-") for name in registered]
    modes = [mode["name"] for mode in found["modes"]]
    assert modes == re.findall(r'^IO_MODE\(\w+, "([^"]+)"', MODES_TABLE.read_text(), re.MULTILINE)
    here = [m for m in found["methods"] if m["available"]]
    there = {m["name"] for m in here}
    assert [call.name for call in calls.CALLS if call.method in there] == [
        f"{m['name']}:{second}" if second else m["name"]
        for m in here
        for second in (
            sorted({*m["modes"], *m["lacking_modes"]}, key=modes.index)
            or BEHIND.get(m["name"], [None])
        )
    ]
    needs = {row[1]: row[2] for row in tables.rows("methods/methods.def", "IO_METHOD")}
    promised = stacks.promised(SimpleNamespace(**kernels.environ(stack.name)))
    for m in found["methods"]:
        # Methods whose library Debian has for the other MPI only are absent, with the reason.
        assert m["available"] == (needs[m["name"]] == "none" or m["name"] in promised)
        assert (m["reason"] is None) == m["available"]
        assert set(m["modes"]) | set(m["lacking_modes"]) <= set(modes)
        assert not set(m["modes"]) & set(m["lacking_modes"]) and all(m["lacking_modes"].values())
        assert m["default_mode"] in (m["modes"] or [None])
    assert ("Open MPI" if stack.name == "openmpi" else "MPICH") in found["libraries"]["mpi"]
    libraries = set(table("libraries.def", "IO_LIBRARY"))
    assert set(found["libraries"]) == {"mpi", *(libraries & set(promised))}


@pytest.mark.slow
def test_list_says_what_is_missing(poor: Stack) -> None:
    found = {m["name"]: m for m in listing(poor)["methods"]}
    assert not found["hdf5"]["available"] and "parallel HDF5" in found["hdf5"]["reason"]
    assert not found["pnetcdf"]["available"] and "PnetCDF" in found["pnetcdf"]["reason"]
    assert found["mpiio"]["available"]


def plan(stack: Stack, *words: str) -> dict[str, Any]:
    done = stack.alone(*words, "--plan", "--json", "-")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def s3d_bytes(nx: int, ny: int, nz: int) -> int:
    return 8 * (11 + 3 + 1 + 1) * nx * ny * nz


def test_plan_of_the_published_run(openmpi: Stack) -> None:
    """S3D-IO's README: 800^3, 4096 processes, 5 dumps, 305.18 GiB."""
    words = ["--grid", "800x800x800", "--procs", "4096", "--steps", "5", "--method", "pnetcdf"]
    found = plan(openmpi, "s3d", *words)
    assert found["bytes"] == 5 * s3d_bytes(800, 800, 800)
    assert round(found["bytes"] / GIB, 3) == 305.176
    assert found["memory_per_process"] == s3d_bytes(50, 50, 50)
    assert found["files"] == 5
    text = openmpi.alone("s3d", *words, "--plan").stdout
    assert "305.176 GiB" in text and str(5 * s3d_bytes(800, 800, 800)) in text


@pytest.mark.parametrize("n", [256, 257, 300, 323, 325, 2048])
def test_plan_above_2_and_4_gib(stack: Stack, n: int) -> None:
    """2.0 GiB, just above it, 3.2, 4.02, 4.1 and 1024 GiB, in uneven parts."""
    words = ["--grid", f"{n}x{n}x{n}", "--procs", "6", "--procs-grid", "1x2x3"]
    found = plan(stack, "s3d", *words, "--method", "posix")
    assert found["bytes"] == s3d_bytes(n, n, n)
    assert found["memory_per_process"] == s3d_bytes(n, -(-n // 2), -(-n // 3))
    assert found["files"] == 6


def test_plan_of_ior(openmpi: Stack) -> None:
    words = ["-a", "MPIIO", "-b", "3g", "-t", "1g", "-s", "7", "--procs", "16384", "--steps", "2"]
    found = plan(openmpi, "ior", *words)
    assert found["bytes"] == 3 * GIB * 7 * 16384 * 2
    assert found["memory_per_process"] == 21 * GIB
    assert found["calls_per_process"] == 3 * 7 * 2
    assert found["files"] == 2


LIMIT = 2**63 - 1
BEYOND = {
    "grid": (["s3d", "--grid", "4294967296x4294967296x1", "--steps", "1"], "--grid"),
    "steps": (["s3d", "--grid", "100000x100000x1000", "--steps", str(LIMIT)], "--steps"),
    "block": (["ior", "-b", "8388607t", "-t", "8388607t", "-s", "2"], "-b"),
    "files": (["metadata", "--files", str(LIMIT)], "--files"),
    "dumps of files": (["metadata", "--files", "300000000000000000", "--steps", "2"], "--steps"),
    "calls": (["ior", "-b", "1k", "-t", "1", "--steps", str(LIMIT)], "--steps"),
    "2^63 - 1 dumps": (["metadata", "--files", "1", "--steps", str(LIMIT)], "--steps"),
    "weather": (["weather", "--grid", f"{LIMIT}x1x1"], "--grid"),
    "structured": (["cgns-structured", "--zone", "3000000x3000000x3000000"], "--zone"),
    "unstructured": (["cgns-unstructured", "--elements", str(LIMIT)], "--elements"),
}


@pytest.mark.parametrize("name", BEYOND)
def test_plan_beyond_64_bits(openmpi: Stack, name: str) -> None:
    """One line that names the option, never a figure that has wrapped round."""
    words, option = BEYOND[name]
    done = openmpi.alone(*words, "--procs", "1", "--method", "posix-shared", "--plan")
    assert done.returncode == 2, done.stdout
    assert re.fullmatch(r"iokernel: error: .*; .*\n", done.stderr), done.stderr
    assert option in done.stderr


def test_plan_just_below_64_bits(openmpi: Stack) -> None:
    words = ["ior", "-b", "1", "-t", "1", "-F", "--method", "posix", "--steps", str(LIMIT)]
    found = plan(openmpi, *words)
    assert {found[key] for key in ("files", "bytes", "calls_per_process")} == {LIMIT}
    found = plan(openmpi, "metadata", "--files", "300000000000000000", "--method", "posix")
    assert (found["files"], found["bytes"]) == (3 * 10**17, 24 * 3 * 10**17)


def test_more_dumps_than_can_be_timed(openmpi: Stack, tmp_path: Path) -> None:
    words = ["s3d", "--repeat", str(LIMIT), "--steps", "3", "--method", "posix"]
    line = openmpi.run(*words, "--dir", str(tmp_path), processes=1).error(2)
    assert "--repeat" in line and "--steps 3" in line and "use fewer" in line


PATTERNS = [pattern["name"] for pattern in listed()["patterns"]]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("processes", [2**22 + 1, 10**18, LIMIT])
def test_plan_of_too_many_processes(openmpi: Stack, pattern: str, processes: int) -> None:
    words = ["--plan", "--procs", str(processes), "--method", "posix"]
    done = openmpi.alone(pattern, *words)
    assert done.returncode == 2
    assert done.stderr == (f"iokernel: error: --procs {processes}: expected at most 4194304\n")


def test_a_copied_checkout_is_built_anew_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """CMake's cache names the folder that it was made in, and CMake refuses another."""
    monkeypatch.setattr(kernels, "call", lambda *words: None)
    environ: dict[str, Any] = {"extras": {"cmake": {}}}
    for _ in range(2):
        kernels.build(environ, tmp_path / "here")
        (tmp_path / "here" / "CMakeCache.txt").touch()
    said = capsys.readouterr().err.splitlines()
    assert set(said) == {f"building iokernel in {tmp_path / 'here'}"}
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    kernels.build(environ, tmp_path / "there")
    assert not (tmp_path / "there" / "CMakeCache.txt").exists()
    assert "there was configured elsewhere: rebuilding it\n" in capsys.readouterr().err


@pytest.mark.parametrize("stamp", [None, "", "another source"])
def test_a_folder_with_other_files_is_not_emptied(stamp: str | None, tmp_path: Path) -> None:
    """`iogauge build --dir ~` removed it. One that a build began, or finished, is made anew."""
    folder, lock = tmp_path / "mine", tmp_path / "mine.lock"
    folder.mkdir()
    (folder / "thesis.tex").write_text("mine")
    lock.write_text("poetry's")
    if stamp is not None:
        (folder / kernels.STAMP).write_text(stamp)
        kernels.build("openmpi", folder, *kernels.RELEASE, target="help")
        assert not (folder / "thesis.tex").exists()
    else:
        with pytest.raises(UsageError, match="is not a build folder"):
            kernels.build("openmpi", folder, *kernels.RELEASE)
        assert [path.name for path in folder.iterdir()] == ["thesis.tex"]
    assert lock.read_text() == "poetry's"
