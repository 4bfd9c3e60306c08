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
pytestmark = pytest.mark.filterwarnings("ignore:repeated")  # each crash of MPI_Finalize is
RAISES = "#include <signal.h>\nstatic int crash(void) { return raise(SIGSEGV); }\n"
JUMPS = """
#include <sys/mman.h>
static int crash(void) {
    void *page = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page, 4096);
    return ((int (*)(void))page)();
}
"""


@pytest.fixture
def crash(stack: Stack, tmp_path: Path) -> Crash:
    """Runs a command whose calls of an MPI function crash."""

    def run(function: str, *words: str, code: str = RAISES) -> Run:
        source, library = tmp_path / "crash.c", tmp_path / "crash.so"
        source.write_text(f"{code}int {function}(void) {{ return crash(); }}\n")
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


def test_in_code_that_is_no_longer_there(crash: Crash) -> None:
    """As in a library that was unloaded. The calls cannot be listed; the files are removed."""
    words = ["--method", "mpiio", "--mode", "collective"]
    line = crash("MPI_File_write_at_all", *IOR, *words, code=JUMPS).error(1)
    assert "the library crashed in phase write of method mpiio (SIGSEGV at 0x" in line
