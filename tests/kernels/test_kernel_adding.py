# SPDX-License-Identifier: BSD-3-Clause
"""Adding a pattern or a method to the kernels is one file and one line, as docs/add-a-*.md say:
done here in a copy of the tree, built, listed, run and verified."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import ROOT, Stack, build, missing, stacks

from iogauge.common.paths import KERNELS

ADDED = ROOT / "tests" / "added"


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    """The program with a pattern and a method more; without the libraries, which take longest."""
    stack = stacks()["openmpi"]
    if reason := missing(stack):
        pytest.skip(reason)
    kernels = tmp_path_factory.mktemp("tree") / "kernels"
    shutil.copytree(KERNELS, kernels)
    shutil.copytree(ROOT / "tests" / "ctest", kernels.parent / "tests" / "ctest")
    shutil.copy(ROOT / "VERSION", kernels.parent)
    shutil.copy(ADDED / "rows.c", kernels / "patterns")
    shutil.copy(ADDED / "plain.c", kernels / "methods")
    for table, line in (
        ("patterns/patterns.def", "IO_PATTERN(rows)\n"),
        ("methods/methods.def", 'IO_METHOD(plain, "plain", none, 0, SHARED)\n'),
    ):
        with (kernels / table).open("a") as file:
            file.write(line)
    off = [f"-DIOKERNEL_{name}=OFF" for name in ("HDF5", "PNETCDF", "CGNS", "RECORDER")]
    return build(stack, kernels.parent / ".local" / "build" / "grown", *off, source=kernels)


@pytest.mark.slow
def test_they_are_listed(grown: Stack) -> None:
    found: dict[str, Any] = json.loads(grown.alone("--list", "--json", "-").stdout)
    assert found["patterns"][-1]["name"] == "rows" and found["methods"][-1]["name"] == "plain"
    pairs = {(p["pattern"], p["method"]): p["ok"] for p in found["cross"]}
    assert pairs["rows", "plain"] and pairs["s3d", "plain"] and pairs["rows", "mpiio"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "method"), [("rows", "mpiio"), ("s3d", "plain"), ("rows", "plain")]
)
def test_they_run_verified(grown: Stack, tmp_path: Path, pattern: str, method: str) -> None:
    place = tmp_path / "data"
    place.mkdir()
    small = ["--grid", "13x11x7"] if pattern == "s3d" else ["--length", "77"]
    words = [pattern, *small, "--method", method, "--dir", str(place)]
    document = grown.run(*words, document=tmp_path / "result.json").good()
    assert document["verification"]["verdict"] == "verified"
    assert document["verification"]["bytes"] == (
        8 * 16 * 13 * 11 * 7 if small[0] == "--grid" else 8 * 77 * 2
    )


@pytest.mark.slow
def test_they_stand_behind_a_server(grown: Stack, tmp_path: Path) -> None:
    words = ["rows", "--method", "ioserver", "--inner", "plain", "--dir", str(tmp_path)]
    document = grown.run(*words, document=tmp_path / "result.json").good()
    assert document["verification"]["verdict"] == "verified"


@pytest.mark.slow
def test_ctest_and_the_unit_tests_take_them_up(grown: Stack) -> None:
    """The matrix has their pairs, and each process's parts cover the data once."""
    matrix = (grown.build / "tests" / "matrix.cmake").read_text()
    assert "rows.mpiio.collective" in matrix and "weather.plain" in matrix
    for case in ("rows.plain", "rows.ioserver"):
        command = ["ctest", "--test-dir", str(grown.build), "-R", f"^{case}$", "--no-tests=error"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
    done = subprocess.run(
        [str(grown.build / "tests" / "iokernel_unit"), "patterns"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_method_whose_library_no_table_has(tmp_path: Path) -> None:
    """The build says which line is wrong."""
    stack = stacks()["openmpi"]
    if reason := missing(stack):
        pytest.skip(reason)
    kernels = shutil.copytree(KERNELS, tmp_path / "kernels")
    shutil.copy(ROOT / "VERSION", tmp_path)
    with (kernels / "methods" / "methods.def").open("a") as file:
        file.write('IO_METHOD(odd, "odd", adios, 0, FORMAT)\n')
    command = ["cmake", "-S", str(kernels), "-B", str(tmp_path / "build"), "-DIOKERNEL_HDF5=OFF"]
    command += ["-DIOKERNEL_PNETCDF=OFF", f"-DCMAKE_C_COMPILER=mpicc.{stack.name}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert "methods/methods.def: method odd needs adios, which is not in libraries.def" in said
