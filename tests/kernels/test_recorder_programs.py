# SPDX-License-Identifier: BSD-3-Clause
"""What production programs also do, under the recorder: they go on as without it, and the trace is
right or says that it is partial."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from iokernel_stacks import Stack, missing, prepared, stacks
from recorder_runs import counters, launched, only, preload, python, traced
from test_recorder_data_sets import elements
from test_recorder_mpi import beside_another_mpi

from iogauge.analysis.darshan.raw import FORKED, RawProcess, read_folder

TEN = 10  # bytes of each write


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("odd") / "odd_programs"
    source = Path(__file__).with_name("odd_programs.c")
    subprocess.run(["cc", "-O2", str(source), "-o", str(program)], check=True)
    return program


def run(
    stack: Stack, program: Path, folder: Path, kind: str, *, dxt: bool = False, after: str = ""
) -> subprocess.CompletedProcess[str]:
    data = folder / "data"
    data.mkdir(parents=True)
    variables = preload(stack, folder / "traces", data, dxt=dxt)
    variables["LD_PRELOAD"] += after
    return traced(["env", "-C", str(data), str(program), kind], variables)


def good(
    stack: Stack, program: Path, folder: Path, kind: str, *, dxt: bool = False
) -> list[RawProcess]:
    done = run(stack, program, folder, kind, dxt=dxt)
    assert (done.returncode, done.stderr) == (0, "")
    return read_folder(folder / "traces")


@pytest.mark.parametrize("dxt", [False, True])
def test_a_handler_that_writes_while_the_program_writes(
    openmpi: Stack, odd: Path, tmp_path: Path, dxt: bool
) -> None:
    """One that interrupts the counting itself is not counted, and the trace says so."""
    done = run(openmpi, odd, tmp_path, "profiled", dxt=dxt)
    assert done.returncode == 0, done.stderr
    writes, taken = map(int, done.stdout.split())
    traces = read_folder(tmp_path / "traces")
    found = only(traces, "data")
    assert (found["WRITES"], found["BYTES_WRITTEN"]) == (writes, TEN * writes)
    counted = [only(traces, name)["WRITES"] for name in ("samples", "opened")]
    assert all(0 < one <= taken for one in counted)
    assert traces[0].whole is (counted == [taken, taken])


def test_a_handler_may_end_the_program(openmpi: Stack, odd: Path, tmp_path: Path) -> None:
    for i in range(5):
        done = run(openmpi, odd, tmp_path / str(i), "ended")
        assert (done.returncode, done.stderr) == (3, "")
        traces = read_folder(tmp_path / str(i) / "traces")
        written = (tmp_path / str(i) / "data" / "data").stat().st_size
        counted = only(traces, "data").get("BYTES_WRITTEN", 0)  # the first write may be cut off
        assert counted <= written
        assert not traces[0].whole or counted in (written, written - TEN)


def test_a_handler_that_forks(openmpi: Stack, odd: Path, tmp_path: Path) -> None:
    """A child that begins while its parent counts is not recorded, and the parent says so."""
    done = run(openmpi, odd, tmp_path, "forked")
    assert done.returncode == 0, done.stderr
    parent, *children = sorted(read_folder(tmp_path / "traces"), key=lambda p: p.flags & FORKED)
    assert all(only([child], "child")["WRITES"] == 1 for child in children)
    assert parent.whole is (len(children) == int(done.stdout))


def test_what_a_child_of_vfork_closes_stays_open(openmpi: Stack, odd: Path, tmp_path: Path) -> None:
    traces = good(openmpi, odd, tmp_path, "vforked")
    assert [only(traces, name)["WRITES"] for name in ("a", "b")] == [1, 1]


def test_what_has_the_number_of_a_closed_file_is_not_the_file(
    openmpi: Stack, odd: Path, tmp_path: Path
) -> None:
    traces = good(openmpi, odd, tmp_path, "closed")
    found = {name: only(traces, name).get("WRITES", 0) for name in ("a", "b", "c", "d", "data")}
    assert found == {"a": 0, "b": 1, "c": 1, "d": 0, "data": 0}


OLDER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
void *dlsym(void *library, const char *name) {
    static const char *const lacks[] = {"close_range", "closefrom", "statx", "renameat2"};
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.0"};
    void *(*next)(void *, const char *) = NULL;
    for (int i = 0; i < 4 && !next; i++) next = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    for (int i = 0; i < 4; i++)
        if (!strcmp(name, lacks[i])) return NULL;
    return next(library, name);
}
"""


def test_an_older_c_library(openmpi: Stack, odd: Path, tmp_path: Path) -> None:
    """The recorder has calls that the C library may lack: what uses them goes on."""
    source, library = tmp_path / "older.c", tmp_path / "older.so"
    source.write_text(OLDER)
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    done = run(openmpi, odd, tmp_path / "run", "newer", after=f":{library}")
    assert (done.returncode, done.stderr) == (0, "")
    traces = read_folder(tmp_path / "run" / "traces")
    found = {name: only(traces, name).get("WRITES", 0) for name in ("a", "b", "c")}
    assert found == {"a": 0, "b": 1, "c": 1} and traces[0].whole
    linked = subprocess.run(["nm", "-D", str(odd)], capture_output=True, text=True, check=True)
    assert "w close_range" in linked.stdout and "w closefrom" in linked.stdout


def test_processes_with_one_number_leave_a_trace_each(
    openmpi: Stack, odd: Path, tmp_path: Path
) -> None:
    """As in several containers, or on several nodes."""
    source, library = tmp_path / "same.c", tmp_path / "same.so"
    source.write_text("int getpid(void) { return 4711; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    variables = preload(openmpi, tmp_path / "traces", tmp_path)
    variables["LD_PRELOAD"] += f":{library}"
    for name in "abc":
        (tmp_path / name).mkdir()
        traced(["env", "-C", str(tmp_path / name), str(odd), "quickly"], variables)
    found = read_folder(tmp_path / "traces")
    assert {one.pid for one in found} == {4711}
    assert {Path(one.records[0].path).parent.name for one in found} == set("abc")


def test_an_end_without_destructors(openmpi: Stack, odd: Path, tmp_path: Path) -> None:
    assert run(openmpi, odd, tmp_path, "quickly").returncode == 4
    (process,) = read_folder(tmp_path / "traces")
    assert process.whole and only([process], "data")["WRITES"] == 1


def test_limits_of_the_program(openmpi: Stack, odd: Path, tmp_path: Path) -> None:
    """Of a file's size, and of open files."""
    done = run(openmpi, odd, tmp_path / "small", "small")
    assert done.returncode == 0 and done.stderr.count("\n") == 1
    assert "no trace in" in done.stderr and "File too large" in done.stderr
    assert not list((tmp_path / "small" / "traces").iterdir())
    traces = good(openmpi, odd, tmp_path / "open", "all_open")
    assert only(traces, "data")["WRITES"] == 1


@pytest.mark.parametrize("kind", ["without_stderr", "dup_as_stderr"])
def test_no_message_goes_into_a_file_of_the_program(
    openmpi: Stack, odd: Path, tmp_path: Path, kind: str
) -> None:
    assert run(openmpi, odd, tmp_path, kind).returncode == 0
    assert (tmp_path / "data" / "data").read_text() == "0123456789"
    assert not list((tmp_path / "moved").iterdir())


def test_files_without_a_name(openmpi: Stack, odd: Path, tmp_path: Path) -> None:
    done = run(openmpi, odd, tmp_path, "unnamed")
    if done.returncode == 7:
        pytest.skip(f"{tmp_path}: the file system has no O_TMPFILE")
    (process,) = read_folder(tmp_path / "traces")
    written = {one.path: counters(one)["BYTES_WRITTEN"] for one in process.records}
    assert sorted(written.values()) == [TEN, 2 * TEN]
    assert {Path(path).parent for path in written} == {tmp_path / "data"}


def test_pipes_are_counted_alike_with_single_accesses_and_without(
    openmpi: Stack, odd: Path, tmp_path: Path
) -> None:
    for dxt in (False, True):
        traces = good(openmpi, odd, tmp_path / str(dxt), "piped", dxt=dxt)
        pipe = only(traces, "pipe")
        assert pipe["OPENS"] == 1 and not {"READS", "WRITES", "BYTES_WRITTEN"} & pipe.keys()


def test_a_child_has_none_of_its_parents_data_sets(openmpi: Stack, tmp_path: Path) -> None:
    code = """
import h5py
f = h5py.File(f"{here}/a.h5", "w")
f.create_dataset("first", (6,))[:] = 1
d = f.create_dataset("second", (4,))
d[:2] = 1
if not os.fork():
    d[2:] = 2
    os._exit(0)
os.wait()
d[1:] = 3
"""
    parent, child = sorted(
        python(openmpi, tmp_path, code, dxt=True), key=lambda p: p.flags & FORKED
    )
    assert [one.data_set.name for one in parent.moves] == ["/first", "/second", "/second"]
    ((one, count, slabs, *_),) = child.moves
    assert (one.name, count, elements(slabs)) == ("/second", 2, [(2,), (3,)])
    (trace,) = (tmp_path / "traces").glob(f"*-{child.pid}-*.trace")
    assert b"/first" not in trace.read_bytes()


LEAVES = """
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
static jmp_buf back;
static void leave(MPI_File *f, int *code, ...) { longjmp(back, 1); }
int main(int argc, char **argv) {
    static MPI_File file[300];
    MPI_Errhandler left;
    int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY, many = 300;
    MPI_Init(&argc, &argv);
    MPI_File_create_errhandler(leave, &left);
    MPI_File_set_errhandler(MPI_FILE_NULL, left);
    if (!setjmp(back)) {
        MPI_File_open(MPI_COMM_SELF, "no/such/folder", MPI_MODE_RDONLY, MPI_INFO_NULL, file);
        return 9;
    }
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    for (int i = 0; i < many; i++) {
        char name[20];
        sprintf(name, "f%d", i);
        MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, file + i);
    }
    for (int i = 0; i < many; i++)
        MPI_File_write_at(file[i], 0, "0123456789", 10, MPI_BYTE, MPI_STATUS_IGNORE);
    for (int i = 0; i < many; i++) MPI_File_close(file + i);
    MPI_Finalize();
    return 0;
}
"""


def test_a_call_left_by_a_jump_and_many_files(stack: Stack, tmp_path: Path) -> None:
    """As exceptions of C++ leave calls of MPI, through its error handlers."""
    source, program, data = (tmp_path / name for name in ("source.c", "program", "data"))
    source.write_text(LEAVES)
    data.mkdir()
    subprocess.run([f"mpicc.{stack.name}", str(source), "-o", str(program)], check=True)
    variables = preload(stack, tmp_path / "traces", data, dxt=True)
    done = launched(stack, 1, [program], variables, folder=data)
    assert done.returncode == 0, done.stderr
    (process,) = read_folder(tmp_path / "traces")
    assert process.whole
    for i in range(300):
        found = only([process], f"f{i}", "MPI-IO")
        assert (found["INDEP_OPENS"], found["INDEP_WRITES"], found["BYTES_WRITTEN"]) == (1, 1, TEN)


def test_the_mpi_that_the_linker_takes(stack: Stack, tmp_path: Path) -> None:
    """The program's own, though a library that it names before needs another one."""
    data, source, unused = beside_another_mpi(stack, tmp_path)
    program = tmp_path / "program"
    (tmp_path / "other" / "libunused.so").symlink_to(unused)
    before = [
        "-Wl,--no-as-needed",
        f"-L{tmp_path}/other",
        "-lunused",
        f"-Wl,-rpath,{tmp_path}/other",
    ]
    words = [f"mpicc.{stack.name}", str(source), "-o", str(program), *before]
    subprocess.run(words, check=True)
    variables = preload(stack, tmp_path / "traces", data)
    done = launched(stack, 1, [program, data / "f", unused], variables)
    assert done.returncode == 0 and "iogauge recorder" not in done.stderr, done.stderr
    found = only(read_folder(tmp_path / "traces"), "f", "MPI-IO")
    assert (found["INDEP_WRITES"], found["BYTES_WRITTEN"]) == (1, 7)


FIXED = """
program main
  {use}
  implicit none
  {header}
  integer :: f, code, place(MPI_STATUS_SIZE)
  character(10) :: text = '0123456789'
  call MPI_Init(code)
  call MPI_File_open(MPI_COMM_SELF, 'file', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, f, code)
  call MPI_File_write_at_all(f, 0_MPI_OFFSET_KIND, text, 10, MPI_CHARACTER, MPI_STATUS_IGNORE, code)
  call MPI_File_seek(f, 0_MPI_OFFSET_KIND, MPI_SEEK_SET, code)
  call MPI_File_read(f, text, 4, MPI_CHARACTER, place, code)
  call MPI_File_close(f, code)
  call MPI_Finalize(code)
end program
"""
HANDLES = (
    FIXED.replace("integer :: f, code, place(MPI_STATUS_SIZE)", "integer :: code")
    .replace("{header}", "type(MPI_File) :: f\n  type(MPI_Status) :: place")
    .replace("{use}", "use mpi_f08")
)
FORTRAN = {
    "mpif.h": FIXED.replace("{use}", "").replace("{header}", "include 'mpif.h'"),
    "mpi": FIXED.replace("{use}", "use mpi").replace("{header}", ""),
    "mpi_f08": HANDLES,
}


@pytest.mark.slow
@pytest.mark.parametrize("module", FORTRAN)
def test_fortran(stack: Stack, tmp_path: Path, module: str) -> None:
    source, program, data = (tmp_path / name for name in ("source.f90", "program", "data"))
    source.write_text(FORTRAN[module])
    data.mkdir()
    subprocess.run([f"mpifort.{stack.name}", str(source), "-o", str(program)], check=True)
    variables = preload(stack, tmp_path / "traces", data, dxt=True)
    done = launched(stack, 1, [program], variables, folder=data)
    assert done.returncode == 0, done.stderr
    (process,) = read_folder(tmp_path / "traces")
    found = only([process], "file", "MPI-IO")
    assert process.whole
    assert (found["COLL_WRITES"], found["BYTES_WRITTEN"]) == (1, TEN)
    assert (found["INDEP_READS"], found["BYTES_READ"]) == (1, 4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["profiled", "closed", "vforked"])
def test_with_the_address_sanitizer_before_it(openmpi: Stack, tmp_path: Path, kind: str) -> None:
    """Its own open() and write() call the recorder's."""
    program, data = tmp_path / "odd", tmp_path / "data"
    data.mkdir()
    source = Path(__file__).with_name("odd_programs.c")
    subprocess.run(["cc", "-fsanitize=address", str(source), "-o", str(program)], check=True)
    asked = subprocess.run(
        ["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    variables = preload(openmpi, tmp_path / "traces", data)
    variables["LD_PRELOAD"] = f"{asked.stdout.strip()}:{variables['LD_PRELOAD']}"
    done = traced(["env", "-C", str(data), str(program), kind], variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert read_folder(tmp_path / "traces")


SPEAKS_ELSEWHERE = """
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int n, char **words) {
    int status = 0;
    if (n == 3 && !strcmp(words[2], "forked") && fork())
        return wait(&status) > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 8;
    if (n == 2 || *words[2] == 'f')
        dup2(open(words[1], O_WRONLY | O_CREAT, 0600), 2);
    else if (!freopen(words[1], "w", stderr))
        return 9;
    return MPI_Init(NULL, NULL);
}
"""


def test_that_it_is_refused_is_said_wherever_stderr_goes(stack: Stack, tmp_path: Path) -> None:
    """And though nothing is to be recorded: the program ends. A child's goes where it sends it."""
    other = next((one for name, one in stacks().items() if name != stack.name), None)
    if not other or missing(other):
        pytest.skip("one MPI only")
    source, program, log = (tmp_path / name for name in ("source.c", "program", "log"))
    source.write_text(SPEAKS_ELSEWHERE)
    subprocess.run([f"mpicc.{stack.name}", str(source), "-o", str(program)], check=True)
    words = preload(prepared(other.name), tmp_path / "traces", tmp_path)
    del words["IOGAUGE_TRACE_DIR"]
    for way in ([], ["again"], ["forked"]):
        assert launched(stack, 1, [program, log, *way], words).returncode == 1
        assert "not this program's MPI; preload the one built for that" in log.read_text()
        log.unlink()
