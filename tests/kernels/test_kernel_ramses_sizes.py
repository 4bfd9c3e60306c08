# SPDX-License-Identifier: BSD-3-Clause
"""RAMSES dumps: sizes as printed in 2011, plans of large machines, wrong options."""

from __future__ import annotations

import json
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import SECONDS, How, Stack
from ramses_dump import PATTERNS, POSIX, payload, run, words

from reframe_tests.framework.ramses_sizes import shared_bytes

GIB = 2**30


def plan(stack: Stack, pattern: str, *words: str, method: str = "mpiio") -> dict[str, Any]:
    done = stack.alone(pattern, *words, "--method", method, "--plan", "--json", "-")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("pattern", "size", "processes", "printed"),
    [
        ("ramses-amr", 128, 1024, 0.213),
        ("ramses-amr", 256, 1024, 0.707),
        ("ramses-amr", 512, 1024, 3.814),
        ("ramses-amr", 1024, 1024, 25.860),
        ("ramses-amr", 2048, 1024, 191.8),
        ("ramses-hydro", 128, 1024, 0.299),
        ("ramses-hydro", 256, 1024, 1.292),
        ("ramses-hydro", 512, 1024, 7.646),
        # Printed as the size for 1024 processes, where the model gives 52.85.
        ("ramses-hydro", 1024, 128, 49.150),
        ("ramses-hydro", 2048, 1024, 393.2),
        ("ramses-hydro", 1024, 2048, 54.9),
    ],
)
def test_printed_sizes(
    openmpi: Stack, pattern: str, size: int, processes: int, printed: float
) -> None:
    words = ["--size", str(size), "--procs", str(processes)]
    found = plan(openmpi, pattern, *words)
    assert found["bytes"] / GIB == pytest.approx(printed, rel=0.005)
    assert found["bytes"] == payload(pattern, size, processes)
    levels = size.bit_length() - 1
    assert found["calls_per_process"] == 1 + (36 if "amr" in pattern else 40) * levels
    merged = plan(openmpi, pattern, *words, "--merge-levels")
    assert merged["calls_per_process"] == 1 + (8 if "amr" in pattern else 5)
    assert merged["bytes"] == found["bytes"]


@pytest.mark.parametrize("processes", [1, 3, 8, 100])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_test_counts_the_same_bytes(openmpi: Stack, pattern: str, processes: int) -> None:
    found = plan(openmpi, pattern, "--size", "32", "--procs", str(processes))
    assert found["bytes"] == shared_bytes(pattern.removeprefix("ramses-"), 32, processes)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mpiio", "posix"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_plan_grows_with_the_processes_and_no_faster(
    openmpi: Stack, pattern: str, method: str
) -> None:
    """32 times the 16384 processes that the issue names, within its memory (500 MB): a plan that
    grew with their square would take 1024 times as long, and run into the limit of any run."""
    words = ["--size", "2048", "--procs", str(32 * 16384), "--method", method, "--plan"]
    done = subprocess.run(
        [str(openmpi.iokernel), pattern, *words],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (500_000_000, 500_000_000)),
        capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("group", ["1", "2", "7"])
def test_token(openmpi: Stack, group: str, tmp_path: Path) -> None:
    command = words("ramses-hydro", POSIX, tmp_path, "--io-group", group, size=8)
    found = run(openmpi, 5, *command, folder=tmp_path).good()
    assert found["verification"]["verdict"] == "verified"
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_more_processes_than_grids_on_a_level(openmpi: Stack, tmp_path: Path) -> None:
    """Level 1 has one grid, level 2 eight. Nine processes: no power of two either."""
    for how in (POSIX, How("mpiio", "collective")):
        command = words("ramses-amr", how, tmp_path, size=8)
        found = run(openmpi, 9, *command, folder=tmp_path).good()
        assert found["verification"]["verdict"] == "verified"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--size", "100"], ["--size 100", "power of two from 8 to 2048"]),
        (["--size", "4"], ["--size 4", "power of two from 8 to 2048"]),
        (["--size", "4096"], ["--size 4096", "power of two from 8 to 2048"]),
        (["--size", "x"], ["--size"]),
        (["--layout", "bogus"], ["bogus", "level-major or process-major"]),
        (["--io-group", "2"], ["--io-group", "--method posix"]),
        (["--method", "posix", "--layout", "level-major"], ["--layout", "posix"]),
        (["--method", "posix", "--merge-levels"], ["--merge-levels", "posix"]),
        (["--method", "posix", "--io-group", "0"], ["--io-group"]),
    ],
)
def test_usage(openmpi: Stack, more: list[str], said: list[str], tmp_path: Path) -> None:
    method = [] if "--method" in more else ["--method", "mpiio"]
    line = openmpi.run("ramses-amr", *method, *more, "--dir", str(tmp_path)).error(2)
    assert all(word in line for word in said), line
    assert not list(tmp_path.iterdir())
