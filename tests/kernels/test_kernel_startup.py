# SPDX-License-Identifier: BSD-3-Clause
"""MPI that does not start: the job ends with one line, and does not wait for the scheduler."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from iokernel_stacks import Run, Stack, check_usage

from iogauge.common.document import not_started

IOR = ["ior", "-b", "4k", "-t", "1k", "--method", "posix"]
LIMIT = ["--start-limit", "1"]
LONGER = ["--start-limit", "20"]  # than MPI_Init takes on a loaded machine
ASLEEP = 150  # seconds: for ever, as these tests see it
SOURCE = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
typedef int next(void *, void *, void *, void *, void *);
int {function}(void *a, void *b, void *c, void *d, void *e) {{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *pmi = getenv("PMI_RANK");
    /* Signals of sleep_while_waiting.c end a sleep. */
    struct timespec left = {{.tv_sec = {seconds}}};
    if ({rank} < 0 || atoi(rank ? rank : pmi) == {rank}) while (nanosleep(&left, &left));
    return ((next *)dlsym(RTLD_NEXT, "{function}"))(a, b, c, d, e);
}}
"""
Start = Callable[..., Run]


@pytest.fixture
def start(stack: Stack, tmp_path: Path) -> Start:
    """Runs two processes, one of which (-1: both) waits for a while in an MPI function."""

    def run(function: str, rank: int, seconds: int, *words: str) -> Run:
        source, library = tmp_path / "wait.c", tmp_path / "wait.so"
        source.write_text(SOURCE.format(function=function, rank=rank, seconds=seconds))
        command = ["cc", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"]
        subprocess.run(command, check=True, capture_output=True)
        place = tmp_path / "data"
        place.mkdir()
        variables = {"LD_PRELOAD": str(library)}
        found = stack.run(*IOR, *words, "--dir", str(place), environment=variables)
        assert not list(place.iterdir()), str(found)
        return found

    return run


def line_of(run: Run) -> str:
    """The first line. MPICH's launcher waits for all processes that have not reached it, so each
    of them says it."""
    assert run.status != 0, str(run)
    assert 1 <= len(run.errors()) <= 2, str(run)
    assert run.seconds < ASLEEP, str(run)
    return run.errors()[0]


@pytest.mark.parametrize("rank", [-1, 1])
def test_mpi_init_that_never_returns(start: Start, rank: int) -> None:
    """Of all processes, and of one for which the others wait."""
    line = line_of(start("MPI_Init", rank, ASLEEP, *LIMIT))
    assert line.startswith("iokernel: error: process 0 on ") and " (pid " in line
    assert ": MPI did not start: MPI_Init did not return within 1 s (--start-limit); " in line


def test_mpi_init_that_ends_the_process(mpich: Stack, tmp_path: Path) -> None:
    """For want of a network."""
    none = {"FI_PROVIDER": "none", "UCX_TLS": "none", "MPIR_CVAR_CH4_NETMOD": "none"}
    run = mpich.run(*IOR, "--dir", str(tmp_path), environment=none)
    assert run.status != 0, str(run)
    host = socket.gethostname()
    assert not_started(run.stderr).startswith(f"MPI did not start on {host}: MPI_Init failed")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[n1:77] *** An error occurred in MPI_Init", "MPI did not start on n1: MPI_Init failed"),
        ("[n1:77] *** An error occurred in MPI_Init_thread", "MPI did not start on n1: MPI_Init"),
        ("It looks like MPI_INIT failed for some reason; your", "MPI did not start: MPI_Init"),
        ("[n1:77] *** An error occurred in MPI_File_open", ""),
        ("", ""),
    ],
)
def test_words_of_open_mpi(line: str, said: str) -> None:
    """Of 4.1.4 with OMPI_MCA_pml=none; its MPI_Init calls _exit, and the kernel cannot speak."""
    found = not_started(f"---\n{line}\n[n1:77] *** on a NULL communicator\n")
    assert found.startswith(said) and bool(found) == bool(said)


@pytest.mark.slow
def test_a_first_exchange_that_never_ends(start: Start) -> None:
    """The guard of a run needs one, so it is not there yet."""
    line = line_of(start("MPI_Comm_split_type", 1, ASLEEP, *LONGER))
    assert (
        ": MPI did not start: MPI_Init returned, but not all processes arrived within 20 s " in line
    )


@pytest.mark.parametrize("limit", [["--start-limit", "0"], []])
def test_a_slow_start_is_waited_for(start: Start, limit: list[str]) -> None:
    run = start("MPI_Init", 1, 2, *limit)
    assert run.status == 0 and not run.errors(), str(run)


@pytest.mark.slow
def test_the_limit_ends_with_the_start(openmpi: Stack, tmp_path: Path) -> None:
    words = [*IOR, "--compute-seconds", "21", *LONGER, "--dir", str(tmp_path)]
    run = openmpi.run(*words, processes=1)
    assert run.status == 0 and run.seconds > 21, str(run)


@pytest.mark.parametrize("value", ["-1", "soon", "0.5", ""])
def test_a_wrong_limit(openmpi: Stack, tmp_path: Path, value: str) -> None:
    words = [*IOR, "--start-limit", value]
    check_usage(openmpi, words, ["--start-limit", "expected at least 1 second"], tmp_path)


def test_a_wrong_limit_is_no_limit_of_the_start(start: Start) -> None:
    """MPI starts before the message is printed."""
    assert "expected at least 1 second" in start("MPI_Init", 1, 2, "--start-limit", "0.5").error(2)


def test_stderr_of_a_good_run_is_empty(stack: Stack, tmp_path: Path) -> None:
    words = ["s3d", "--grid", "4x4x4", "--method", "mpiio", "--dir", str(tmp_path)]
    done = stack.run(*words, processes=4, document=tmp_path / "r.json")
    assert (done.status, done.stderr) == (0, "")


def test_two_mpis_are_refused(openmpi: Stack, mpich: Stack, tmp_path: Path) -> None:
    """As a library of another MPI brings it along."""
    loaded = subprocess.run(
        ["ldd", str(openmpi.build / "iokernel")], capture_output=True, text=True, check=True
    )
    (other,) = re.findall(r"libmpi\.so\S* => (\S+)", loaded.stdout)
    run = mpich.run(*IOR, "--dir", str(tmp_path), environment={"LD_PRELOAD": other})
    assert run.failed(), str(run)
    (line,) = run.errors()
    assert line.startswith("iokernel: error: two MPIs are loaded, ") and other in line


def test_an_error_is_printed_when_what_was_before_it_is_read(openmpi: Stack) -> None:
    """Open MPI 5's launcher reads 4096 bytes, and prints the parts of a torn line in disorder."""
    read, write = os.pipe()
    os.write(write, 40 * (99 * b"w" + b"\n"))
    with subprocess.Popen([openmpi.iokernel, "nosuch"], stderr=write) as kernel:
        os.close(write)
        time.sleep(0.2)
        before, line = os.read(read, 4096), os.read(read, 4096)
        assert kernel.wait(60) == 2
    os.close(read)
    assert before == 40 * (99 * b"w" + b"\n")
    assert re.fullmatch(rb"iokernel: error: .*nosuch.*\n", line)
