# SPDX-License-Identifier: BSD-3-Clause
"""A call of MPI that fails: the message names process, host and call, and the job ends."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path

import pytest
from iokernel_stacks import Stack

from iogauge.common.paths import KERNELS

IOR = ["ior", "-b", "4k", "-t", "1k"]
FAILED = "15"  # an error class of both MPIs
# The processes agree by the first. The others are slow: a job ends a second after its message.
CALLS = [
    "MPI_Iallreduce",
    *(
        pytest.param(f"MPI_{name}", marks=pytest.mark.slow)
        for name in ("Allreduce", "Barrier", "Bcast", "Comm_split", "Gather", "Gatherv", "Reduce")
    ),
]


def run_without(
    stack: Stack, folder: Path, call: str, *words: str, processes: int = 1
) -> list[str]:
    """The messages of a run in which all calls of a function fail."""
    source, library, place = (folder / name for name in ("fails.c", "fails.so", "data"))
    source.write_text(f"int {call}(void) {{ return {FAILED}; }}\n")
    command = ["cc", "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True)
    place.mkdir()
    variables = {"LD_PRELOAD": str(library)}
    words = (*words, "--dir", str(place))
    found = stack.run(*words, processes=processes, environment=variables)
    # MPICH may have freed the communicator already, as MPI_Finalize does, and says 5 then.
    late = "MPI_Abort(MPI_COMM_WORLD, errorcode=1) failed" in found.stderr
    assert found.failed(5 if late else 1) and not list(place.iterdir()), str(found)
    return found.errors()


@pytest.mark.parametrize("call", CALLS)
def test_a_call_fails(stack: Stack, tmp_path: Path, call: str) -> None:
    (line,) = run_without(stack, tmp_path, call, *IOR)
    start = f"iokernel: error: process 0 on {socket.gethostname()}: {call}: "
    assert line.startswith(start) and "check whether another process has ended" in line


def test_a_barrier_off_the_clock_fails(stack: Stack, tmp_path: Path) -> None:
    words = [*IOR, "--buffer", "reused"]
    (line,) = run_without(stack, tmp_path, "MPI_Ibarrier", *words)
    assert ": MPI_Ibarrier: " in line


def test_no_news_between_clients_and_io_processes(stack: Stack, tmp_path: Path) -> None:
    words = [*IOR, "--method", "ioserver", "--io-processes", "1"]
    lines = run_without(stack, tmp_path, "MPI_Iprobe", *words, processes=2)
    assert lines and all(": MPI_Iprobe: " in line for line in lines)


# They end the job themselves, have nobody left to tell, lose memory at most, or leave a text empty.
DROPPED = {
    "MPI_Abort",
    "MPI_Error_string",
    "MPI_Finalize",
    "MPI_Get_library_version",
    "MPI_Info_free",
    "MPI_Init",
}
CHECKED = ("driver", "run", "report", "compat")
STATEMENT = re.compile(r"(?:[;{})]|\belse|^)\s*(MPI_[A-Z][a-z]\w*)\(", re.MULTILINE)


def dropped(text: str) -> set[str]:
    """The functions of MPI called for nothing but what they do."""
    return set(STATEMENT.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)))


def test_every_code_is_checked() -> None:
    files = [path for name in CHECKED for path in KERNELS.glob(f"{name}/*.c")]
    found = {path.name: dropped(path.read_text()) - DROPPED for path in files}
    assert not {name: calls for name, calls in found.items() if calls}
    code = "{ a = MPI_One(b); IO_MPI(w, MPI_Two, c); if (d) MPI_Three(e);\n  MPI_Four(f); }"
    assert dropped(code) == {"MPI_Three", "MPI_Four"}


# Each fails, in a run with these words; what the message says is to be done.
HINTS = {
    "MPI_Info_create": (["--method", "mpiio", "--hint", "cb_nodes=1"], "the hints (--hint)"),
    "MPI_Type_contiguous": (["--method", "mpiio"], "report it to the MPI library"),
    "MPI_Win_allocate_shared": (["--method", "twophase"], "the free memory of the node"),
    "MPI_File_sync": (["--method", "mpiio", "--fsync"], "the directory, its free space, quota"),
}


@pytest.mark.parametrize("call", HINTS)
def test_the_hint_fits_the_call(stack: Stack, tmp_path: Path, call: str) -> None:
    words, hint = HINTS[call]
    (line,) = run_without(stack, tmp_path, call, *IOR, *words, processes=2)
    assert f"{call}: " in line and hint in line
    assert ("directory" in line) == call.startswith("MPI_File_")


# The second process cannot meet the others, and MPI_Abort never returns.
ON_ONE = """
#include <stdlib.h>
#include <unistd.h>
static int rank(void) {
    const char *text = getenv("OMPI_COMM_WORLD_RANK");
    return atoi(text ? text : getenv("PMI_RANK"));
}
int PMPI_Ibarrier(void *comm, void *request);
int MPI_Ibarrier(void *comm, void *request) {
    return rank() ? 15 : PMPI_Ibarrier(comm, request);
}
int MPI_Abort(void) {
    for (;;) pause();
}
"""


NO_ALARM = "\nunsigned alarm(unsigned seconds) { return seconds; }\n"


@pytest.mark.slow
@pytest.mark.parametrize("ends_itself", [True, False])
def test_a_process_that_cannot_abort(stack: Stack, tmp_path: Path, ends_itself: bool) -> None:
    """It ends itself after a while, and the others with it. Else a guard does, which knows why."""
    place, source, library = (tmp_path / name for name in ("data", "fails.c", "fails.so"))
    source.write_text(ON_ONE + (NO_ALARM if not ends_itself else ""))
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    place.mkdir()
    words = [*IOR, "--buffer", "reused", "--dir", str(place)]
    words += ["--patience", "300" if ends_itself else "5"]
    run = stack.run(*words, environment={"LD_PRELOAD": str(library)})
    assert run.status != 0 and not list(place.iterdir()), str(run)
    failed = f"process 1 on {socket.gethostname()}: MPI_Ibarrier: "
    first, *others = run.errors()
    assert first.startswith(f"iokernel: error: {failed}"), str(run)
    assert len(others) == (0 if ends_itself else 1), str(run)
    assert all(f"; before, it failed: {failed}" in line for line in others), str(run)
