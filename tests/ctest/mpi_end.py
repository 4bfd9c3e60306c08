# SPDX-License-Identifier: BSD-3-Clause
"""Crashes of MPI itself, which are no failure of what is tested: one rule for all tests.

Open MPI 4.1 crashes in MPI_Finalize now and then: it unloads mca_pmix_ext3x.so before it stops the
thread that calls it, and threads of PMIx outlive their data (docs/selftest.md). Its handler for
signals prints the calls, or crashes itself if the code is gone. Its launcher ends the job when a
process has failed, but may never end itself (github.com/open-mpi/ompi/issues/3380). Such a run is
repeated once; a second one fails, as a defect of iogauge does."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

Done = TypeVar("Done")

CRASH = "MPI crashed in MPI_Finalize"  # says iokernel
HANDLER = "*** Process received signal ***"  # says Open MPI; while iokernel runs, it has its own
SIGNALLED = (-11, -6, 134, 139)  # statuses of a process, and of a launcher, after a crash
# Of MPICH's mpiexec, without a word: SIGPIPE, once in 1,500 processes that end at once.
LAUNCHER_DIED = (-13, 141)
# Says Open MPI's mpiexec when it ends the job.
JOB_ENDED = "detected that one or more processes exited with non-zero status"
LONGEST = 400  # characters of a warning
OF_MPICH = "BAD TERMINATION"
# A call in the list of Open MPI's handler, from the innermost on.
CALL = re.compile(r"\[([^\]\s]+:\d+)\] \[ ?\d+\] ([^\s\[(]+)[\[(]")
OF_THE_SYSTEM = re.compile(r"/lib(?:c|pthread|event\S*)\.so")
OURS = re.compile(r"iokernel|iogauge")
REPORT = re.compile("^SUMMARY: .*Sanitizer: .*", re.MULTILINE)
OF_A_LIBRARY = re.compile(
    r"SUMMARY: AddressSanitizer: SEGV \((?:[^)]*\.so[.\d]*\+0x|<unknown module>)"
)
OF_PMIX = re.compile(r"SUMMARY: AddressSanitizer: SEGV \([^)]*/libpmix\.so[.\d]*\+0x")


def kernel_blames_mpi(said: str, document: Path | None = None) -> bool:
    """Did MPI crash, not iokernel? All sanitizer reports must be about a library."""
    if document and did_not_start(said, document):
        return True
    reports = REPORT.findall(said)
    its = CRASH in said or _handler_blames_mpi(said) or any(map(OF_PMIX.match, reports))
    return its and all(map(OF_A_LIBRARY.match, reports))


def did_not_start(said: str, document: Path) -> bool:
    """Neither a document nor a message of iokernel: the launcher or MPI failed before it began.
    Open MPI 4.1 crashes in MPI_Init, too, and not always with a word of its handler."""
    return not document.exists() and "iokernel:" not in said


def _handler_blames_mpi(said: str) -> bool:
    return HANDLER in said and not _is_ours(said)


def _is_ours(said: str) -> bool:
    """The innermost call of any process, except the C library's, if the handler could
    print it."""
    innermost: dict[str, str] = {}
    for process, call in CALL.findall(said):
        if not OF_THE_SYSTEM.search(call):
            innermost.setdefault(process, Path(call).name)
    return any(map(OURS.search, innermost.values()))


def may_be_of_mpi(done: subprocess.CompletedProcess[str]) -> bool:
    """Did any other program perhaps crash in Open MPI? Nothing that it says need tell."""
    said = done.stderr + done.stdout
    return done.returncode in SIGNALLED and OF_MPICH not in said and not _is_ours(said)


def _launcher_failed(done: object) -> bool:
    """`done`: an Ended or the like, whose status is None if its time ran out."""
    status = getattr(done, "returncode", getattr(done, "status", 0))
    return status in LAUNCHER_DIED or (status is None and JOB_ENDED in _said(done))


def _said(done: object) -> str:
    said = getattr(done, "stderr", getattr(done, "said", done)) or ""
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)


def twice_at_most(
    run: Callable[[], Done],
    crashed: Callable[[Done], bool],
    renew: Callable[[], object] = lambda: None,
) -> Done:
    """What a run gave; of one in which MPI crashed, what a second gave. `renew`: before that."""
    try:
        done = run()
        if not (_launcher_failed(done) or crashed(done)):
            return done
        said = _said(done)
    except subprocess.TimeoutExpired as late:
        said = _said(late)
        if JOB_ENDED not in said:
            raise
    warnings.warn(f"repeated, because MPI crashed: {said[:LONGEST]}", stacklevel=2)
    renew()
    return run()


def again(words: list[str]) -> list[str]:
    """Options of iokernel for a run whose first try has left its files."""
    return ["--overwrite"] * ("--keep" in words and "--overwrite" not in words)


@contextmanager
def kept(*folders: Path) -> Iterator[Callable[[], None]]:
    """Gives what makes them as they are now."""
    with tempfile.TemporaryDirectory() as place:
        copies = {one: Path(place, str(number)) for number, one in enumerate(folders)}
        for one, copy in copies.items():
            shutil.copytree(one, copy)

        def renew() -> None:
            for one, copy in copies.items():
                shutil.rmtree(one)
                shutil.copytree(copy, one)

        yield renew
