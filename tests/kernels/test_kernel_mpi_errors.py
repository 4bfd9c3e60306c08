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


# Of at most six integers or pointers, in one process or in all.
FAILS = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
int CALL(long a, long b, long c, long d, long e, long f) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank) rank = getenv("PMI_RANK");
    int (*next)(long, long, long, long, long, long) = dlsym(RTLD_NEXT, "CALL");
    return ONLY >= 0 && rank && atoi(rank) != ONLY ? next(a, b, c, d, e, f) : FAILED;
}
"""


def run_without(
    stack: Stack, folder: Path, call: str, *words: str, processes: int = 1, only: int = -1
) -> list[str]:
    """The messages of a run in which all calls of a function fail, or one process's."""
    source, library, place = (folder / name for name in ("fails.c", "fails.so", "data"))
    values = {"CALL": call, "ONLY": f"({only})", "FAILED": FAILED}
    source.write_text(re.sub("CALL|ONLY|FAILED", lambda name: values[name[0]], FAILS))
    command = ["cc", "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(command, check=True, capture_output=True)
    place.mkdir()
    variables = {"LD_PRELOAD": str(library)}
    words = (*words, "--dir", str(place))
    found = stack.run(*words, processes=processes, environment=variables)
    # MPICH may have freed a process's communicator already, as MPI_Finalize does: it exits with 5.
    late = "MPI_Abort(MPI_COMM_WORLD, errorcode=1) failed" in found.stderr
    assert found.failed() or (late and found.failed(5)), str(found)
    assert not list(place.iterdir()), str(found)
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


@pytest.mark.parametrize("only", [0, 1], ids=["client", "server"])
def test_no_news_between_clients_and_io_processes(stack: Stack, tmp_path: Path, only: int) -> None:
    words = [*IOR, "--method", "ioserver", "--io-processes", "1"]
    lines = run_without(stack, tmp_path, "MPI_Iprobe", *words, processes=2, only=only)
    assert f"process {only} on {socket.gethostname()}: MPI_Iprobe: " in lines[0], lines


# They end the job themselves, have nobody left to tell, lose memory at most, or leave a text or a
# number as it was while a message is made.
DROPPED = {
    *("MPI_Abort", "MPI_Finalize", "MPI_Init"),
    *("MPI_Error_class", "MPI_Error_string", "MPI_Finalized", "MPI_Initialized"),
    *("MPI_Get_library_version", "H5get_libversion"),
    *("MPI_Info_free", "MPI_Request_free", "MPI_Type_free", "H5Pclose", "H5Sclose", "H5Tclose"),
    *("H5Eset_auto2", "H5Ewalk2"),
}
# One that has failed already is left: what this says would be dropped.
LEFT = {("adios2.c", "adios2_finalize")}
APART = {"recorder", "tests", "third_party"}  # the recorder hands codes on to the program
LIBRARIES = r"MPI_[A-Z][a-z]|H5[A-Z]*[a-z]|adios2_|cgp?_|nc_|ncmpi_"
STATEMENT = re.compile(rf"(?:[;{{}})]|\belse|\bdo)\s*((?:{LIBRARIES})\w*)\(")
NO_STATEMENT = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
DIRECTIVE = re.compile(r"^\s*#\s*(?:define\s+\w+(?:\([^)]*\))?|.*)", re.MULTILINE)


def dropped(text: str) -> set[str]:
    """The functions of libraries called for nothing but what they do."""
    code = DIRECTIVE.sub(";", NO_STATEMENT.sub(" ", text)).replace("\\\n", " ")
    return set(STATEMENT.findall(code))


def test_every_code_is_checked() -> None:
    files = [path for path in KERNELS.rglob("*.c") if not APART & set(path.parts)]
    assert {path.parent.name for path in files} >= {"kernels", "base", "methods", "driver", "run"}
    found = {(path.name, call) for path in files for call in dropped(path.read_text())}
    assert {(name, call) for name, call in found if call not in DROPPED} == LEFT


CODE = """
#define EACH(CALL) \\
    MPI_Zero(CALL); /* ; MPI_Comment(a); */
#include "; MPI_Text(a);"
static const char text[] = "; MPI_Text(a);";
int all(void) {
    int code = MPI_One(b), other = c ? MPI_One(d)
                                     : MPI_One(e);
    IO_MPI(w, MPI_One, c);
    code =
        MPI_One(e);
    if (H5One(f) < 0) H5Dclose(g);
    else MPI_Two(h);
    for (;;)
        cgp_close(i);
    (void)ncmpi_enddef(j);
    adios2_close(k);
    return nc_close(l);
}
"""


def test_what_is_dropped_is_found() -> None:
    calls = {"MPI_Zero", "H5Dclose", "MPI_Two", "cgp_close", "ncmpi_enddef", "adios2_close"}
    assert dropped(CODE) == calls


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


# MPI_Info_get of the setting that is handed through the CGNS library.
NO_SETTING = """
#include <string.h>
int PMPI_Info_get(void *info, const char *key, int room, char *value, int *there);
int MPI_Info_get(void *info, const char *key, int room, char *value, int *there) {
    return strcmp(key, "iogauge_coll_metadata") ? PMPI_Info_get(info, key, room, value, there) : 15;
}
"""


def test_a_setting_that_is_lost_is_no_default(stack: Stack, tmp_path: Path) -> None:
    source, library, place = (tmp_path / name for name in ("fails.c", "fails.so", "data"))
    source.write_text(NO_SETTING)
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    place.mkdir()
    words = ["--method", "cgns", "--mode", "collective-metadata", "--dir", str(place)]
    variables = {"LD_PRELOAD": str(library)}
    run = stack.run("cgns-structured", *words, processes=1, environment=variables)
    assert ": cgp_open: " in run.error(1) and not list(place.iterdir())
    assert f"iokernel: process 0 on {socket.gethostname()}: MPI_Info_get: " in run.stderr


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
