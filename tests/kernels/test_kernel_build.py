# SPDX-License-Identifier: BSD-3-Clause
"""The built programs: the MPI they are linked to, what they list, --plan's 64-bit arithmetic."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest
from iokernel_stacks import Stack

from reframe_tests.paths import KERNELS

MODES_TABLE = KERNELS / "base" / "modes.def"
GIB = 2**30


def test_one_mpi(stack: Stack) -> None:
    ldd = subprocess.run(["ldd", str(stack.iokernel)], capture_output=True, text=True, check=True)
    assert set(re.findall(r"\b(libmpi(?:ch)?\.so[.\d]*)", ldd.stdout)) == {stack.mpi}
    assert "not found" not in ldd.stdout


def listing(stack: Stack) -> dict[str, Any]:
    done = stack.alone("--list", "--json", "-")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(file: str, word: str) -> list[str]:
    """The first column of one of the kernels' tables, as Python reads it."""
    return re.findall(rf"^{word}\((\w+)", (KERNELS / file).read_text(), re.MULTILINE)


def test_list(stack: Stack) -> None:
    """What the tables have is listed, in their order; modes are those of their table."""
    found = listing(stack)
    patterns, methods = ([entry["name"] for entry in found[of]] for of in ("patterns", "methods"))
    registered = table("patterns/patterns.def", "IO_PATTERN")
    assert patterns == [name.replace("_", "-") for name in registered]
    registered = table("methods/methods.def", "IO_METHOD")
    assert methods == [name.replace("_", "-") for name in registered]
    modes = [mode["name"] for mode in found["modes"]]
    assert modes == re.findall(r'^IO_MODE\(\w+, "([^"]+)"', MODES_TABLE.read_text(), re.MULTILINE)
    for m in found["methods"]:
        assert m["available"] and m["reason"] is None
        assert set(m["modes"]) | set(m["lacking_modes"]) <= set(modes)
        assert not set(m["modes"]) & set(m["lacking_modes"]) and all(m["lacking_modes"].values())
        assert m["default_mode"] in (m["modes"] or [None])
    assert ("Open MPI" if stack.name == "openmpi" else "MPICH") in found["libraries"]["mpi"]
    assert set(found["libraries"]) == {"mpi", *table("libraries.def", "IO_LIBRARY")}


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


@pytest.mark.parametrize(
    "words",
    [
        ["s3d", "--grid", "4294967296x4294967296x1", "--steps", "1"],
        ["s3d", "--grid", "100000x100000x1000", "--steps", "9223372036854775807"],
        ["ior", "-b", "8388607t", "-t", "8388607t", "-s", "2"],
    ],
)
def test_plan_beyond_64_bits(openmpi: Stack, words: list[str]) -> None:
    done = openmpi.alone(*words, "--procs", "1", "--method", "posix", "--plan")
    assert done.returncode == 2, done.stdout
    assert re.fullmatch(r"iokernel: error: .*more than 2\^6[34] bytes.*right is .*\n", done.stderr)
