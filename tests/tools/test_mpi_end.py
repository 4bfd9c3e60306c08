# SPDX-License-Identifier: BSD-3-Clause
"""Which crash is MPI's own, and what a second run finds."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.ctest import mpi_end

LIBRARY = "SUMMARY: AddressSanitizer: SEGV (/lib/x86_64-linux-gnu/%s+0xbc9f7)"
UNLOADED = "SUMMARY: AddressSanitizer: SEGV (<unknown module>) "
OURS = "SUMMARY: AddressSanitizer: heap-use-after-free ../kernels/driver/guard.c:97 in stop"
OWN_WORDS = """[n1:7] *** Process received signal ***
[n1:7] Signal: Segmentation fault (11)
[n1:7] Signal code: Address not mapped (1)
[n1:7] Failing at address: 0x30
[n1:7] [ 0] /lib/x86_64-linux-gnu/libc.so.6(+0x3c050)[0x7f3e]
[n1:7] [ 1] /lib/x86_64-linux-gnu/libc.so.6(pthread_mutex_lock+0x4)[0x7f3e]
[n1:7] [ 2] %s(+0xbc9f7)[0x7f3e]
[n1:7] [ 3] /lib/x86_64-linux-gnu/libpmix.so.2(+0xbc9f7)[0x7f3e]
[n1:7] [12] ./iokernel(main+0x4)[0x7f3e]
[n1:7] *** End of error message ***"""
END = "iokernel: error: process 0 on n1: MPI crashed in MPI_Finalize (AddressSanitizer, within it)"


@pytest.mark.parametrize(
    ("said", "library"),
    [
        ([END], True),
        ([OWN_WORDS % "/usr/lib/libpmix.so.2"], True),
        ([OWN_WORDS % "./iokernel"], False),
        ([OWN_WORDS % "/build/libiogauge-recorder.so"], False),
        ([OWN_WORDS.partition("[n1:7] [ 0]")[0]], True),
        ([LIBRARY % "libpmix.so.2"], True),
        ([LIBRARY % "libmpi.so.40", END], True),
        ([LIBRARY % "libmpi.so.40"], False),
        ([UNLOADED, END], True),
        ([UNLOADED], False),
        ([OURS, END], False),
        ([LIBRARY % "libpmix.so.2", OURS], False),
        (["SUMMARY: AddressSanitizer: SEGV ../kernels/main.c:7 in main", END], False),
        (["SUMMARY: AddressSanitizer: SEGV (/x/libpmix.so.2/iokernel+0x7)"], False),
        (["iokernel: error: the library crashed in phase write of method posix"], False),
        ([], False),
    ],
)
def test_which_crash_is_not_the_kernels(said: list[str], library: bool) -> None:
    text = "\n".join(["ERROR: AddressSanitizer: SEGV on unknown address", *said, "==7==ABORTING"])
    assert mpi_end.kernel_blames_mpi(text) == library


FIRST = OWN_WORDS.partition("[n1:7] [ 0]")[0]  # the handler crashed, too


@pytest.mark.parametrize(
    ("status", "said", "may_be"),
    [
        (139, FIRST, True),
        (-11, "", True),
        (134, "free(): invalid pointer", True),
        (139, OWN_WORDS % "./race", True),
        (139, OWN_WORDS % "/build/libiogauge-recorder.so", False),
        (139, "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES", False),
        (1, FIRST, False),
        (137, FIRST, False),
    ],
)
def test_which_crash_of_a_program_may_be_mpis(status: int, said: str, may_be: bool) -> None:
    done = subprocess.CompletedProcess("program", status, "", said)
    assert mpi_end.may_be_of_mpi(done) == may_be


@pytest.mark.parametrize("crashes", [0, 1, 2])
def test_a_second_crash_is_a_failure(crashes: int, tmp_path: Path) -> None:
    """And the second run finds what the first one found."""
    data, traces, found = tmp_path / "data", tmp_path / "traces", list[list[str]]()
    data.mkdir()
    traces.mkdir()
    (data / "restart").write_text("before")

    def run() -> int:
        found.append(sorted(path.name for path in (*data.iterdir(), *traces.iterdir())))
        (traces / "0.trace").touch()
        (data / "restart").rename(data / "dump")
        return 139 if len(found) <= crashes else 0

    def once() -> int:
        with mpi_end.kept(data, traces) as renew:
            return mpi_end.twice_at_most(run, lambda status: status == 139, renew)

    if crashes:
        with pytest.warns(UserWarning, match="repeated, because MPI crashed"):
            status = once()
    else:
        status = once()
    assert status == (139 if crashes == 2 else 0)
    assert found == [["restart"]] * (2 if crashes else 1)


@pytest.mark.parametrize("status", [-13, 141])
@pytest.mark.parametrize("kind", ["returncode", "status"])
def test_a_run_whose_launcher_died_is_repeated_once(kind: str, status: int) -> None:
    """Whatever the caller takes for a crash of MPI, and whatever it calls a status."""
    runs = iter([status, status, 2])
    with pytest.warns(UserWarning, match="repeated, because MPI crashed"):
        done = mpi_end.twice_at_most(
            lambda: SimpleNamespace(stderr="", **{kind: next(runs)}), lambda _: False
        )
    assert vars(done)[kind] == status and list(runs) == [2]


SAID = """--------------------------------------------------------------------------
mpiexec.openmpi detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[19433,1],1]
  Exit code:    1
--------------------------------------------------------------------------"""
HUNG = "iokernel: error: process 0 on n1: no progress for 2 s (--patience)"


@pytest.mark.parametrize("kind", ["status", "exception"])
@pytest.mark.parametrize(("said", "runs"), [(SAID, 2), (HUNG, 1)])
def test_a_launcher_that_does_not_end_after_its_job(said: str, runs: int, kind: str) -> None:
    """The run is repeated. A program that does not end is no fault of the launcher."""
    left = [1, 2, 3]

    def run() -> SimpleNamespace:
        left.pop()
        if kind == "exception":
            raise subprocess.TimeoutExpired("mpiexec", 600, stderr=said.encode())
        return SimpleNamespace(status=None, stderr=said)

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            assert mpi_end.twice_at_most(run, lambda _: False).status is None
        except subprocess.TimeoutExpired:
            assert kind == "exception"
    assert (3 - len(left), len(found)) == (runs, runs - 1)


@pytest.mark.parametrize(
    ("said", "written", "started"),
    [
        ("srun: error: ionode2: task 1: Segmentation fault\n", False, False),
        ("iokernel: error: write: no space left on device\n", False, True),
        ("srun: error: ionode1: task 0: Exited with exit code 1\n", True, True),
    ],
)
def test_what_neither_reports_nor_writes_did_not_start(
    tmp_path: Path, said: str, written: bool, started: bool
) -> None:
    document = tmp_path / "result.json"
    if written:
        document.write_text("{}")
    assert mpi_end.did_not_start(said, document) != started
