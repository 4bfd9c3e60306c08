# SPDX-License-Identifier: BSD-3-Clause
"""A crash in MPI itself, before a run and after it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from iokernel_stacks import Run, Stack

IOR = ["ior", "-b", "4k", "-t", "1k"]
Crash = Callable[..., Run]


@pytest.fixture
def crash(stack: Stack, tmp_path: Path) -> Crash:
    """Runs a command whose calls of an MPI function crash."""

    def run(function: str, *words: str) -> Run:
        source, library = tmp_path / "crash.c", tmp_path / "crash.so"
        source.write_text(
            f"#include <signal.h>\nint {function}(void) {{ return raise(SIGSEGV); }}\n"
        )
        command = ["cc", "-shared", "-fPIC", str(source), "-o", str(library)]
        subprocess.run(command, check=True, capture_output=True)
        place = tmp_path / "data"
        place.mkdir()
        words = (*words, "--dir", str(place))
        variables = {"LD_PRELOAD": str(library)}
        found = stack.run(*words, processes=1, environment=variables)
        assert not list(place.iterdir()), str(found)
        return found

    return run


def test_after_a_run(crash: Crash) -> None:
    """What the run has to say is said before."""
    run = crash("MPI_Finalize", *IOR)
    assert "MPI crashed in MPI_Finalize (SIGSEGV, within it)" in run.error(1)
    assert "verified" in run.stdout


def test_after_a_wrong_command_line(crash: Crash) -> None:
    """The one line of an error, and its status."""
    assert "--buffer" in crash("MPI_Finalize", *IOR, "--buffer", "none").error(2)


def test_before_a_run(crash: Crash) -> None:
    assert "MPI crashed before the run began (SIGSEGV" in crash("MPI_Testall", *IOR).error(1)
