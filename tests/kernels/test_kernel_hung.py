# SPDX-License-Identifier: BSD-3-Clause
"""No run waits for ever: a job in which nothing moves says so and ends; a slow one goes on."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest
from iokernel_stacks import SECONDS, Run, Stack, check_usage

from tests.selftest.injector import Plan, preload

IOR = ["ior", "-b", "4k", "-t", "1k"]
HUNG_AFTER = "2"
PATIENCE = "3"  # of a run that goes on: its slow writes take 1 s each
METHODS = {
    "posix": ["--method", "posix"],
    "mpiio": ["--method", "mpiio", "--mode", "independent"],
    "mpiio-collective": ["--method", "mpiio", "--mode", "collective"],
    "hdf5": ["--method", "hdf5", "--mode", "independent"],
    "pnetcdf": ["--method", "pnetcdf", "--mode", "collective"],
}


class Faults:
    """Runs in which writes to `folder` go wrong."""

    def __init__(self, stack: Stack, library: Path, base: Path) -> None:
        self.stack, self.library, self.base = stack, library, base
        self.folder = base / "files"
        self.folder.mkdir()

    def run(
        self,
        fault: str | None,
        *words: str,
        rank: int | None = 1,
        processes: int = 2,
        patience: str = HUNG_AFTER,
    ) -> Run:
        """`fault`: CALL:FAULT of each such call; None for no fault."""
        variables = {}
        if fault:
            call, _, what = fault.partition(":")
            plan = Plan(call, what, times=None, rank=rank)
            variables = preload(self.library, plan, self.folder)
        return self.stack.run(
            *words, "--dir", str(self.folder), "--patience", patience,
            processes=processes, document=self.base / "result.json", environment=variables,
        )  # fmt: skip

    def left(self) -> list[str]:
        return sorted(p.name for p in self.folder.iterdir())


@pytest.fixture
def faults(stack: Stack, injector: Path, tmp_path: Path) -> Faults:
    return Faults(stack, injector, tmp_path)


def hung(run: Run) -> str:
    """The one line of a run that stood still."""
    assert run.status != 0, str(run)
    assert len(run.errors()) == 1, str(run)
    line = run.errors()[0]
    assert f"no progress for {HUNG_AFTER} s (--patience), since 2" in line, str(run)
    document = run.result()
    assert document["status"] == "hung", str(run)
    assert line == f"iokernel: error: {document['error']}"
    return line


@pytest.mark.sampled(3, free="stack")
@pytest.mark.parametrize("method", METHODS)
def test_a_write_that_never_returns(faults: Faults, method: str) -> None:
    line = hung(faults.run("write:block", *IOR, *METHODS[method]))
    assert "of method " + METHODS[method][1] in line
    if method in ("posix", "mpiio"):
        assert line.startswith("iokernel: error: process 1 on ")
        assert "it is writing, in phase write" in line
        assert "meanwhile process 0 is waiting for other processes" in line
    assert str(faults.folder) in line
    assert faults.left() == []


def test_a_stopped_process(faults: Faults) -> None:
    line = hung(faults.run("write:stop", *IOR, *METHODS["posix"]))
    assert line.startswith("iokernel: error: process 1 on ")
    assert "it is writing, stopped by a signal, in phase write of method posix" in line
    assert faults.left() == []


@pytest.mark.slow
def test_the_first_process_is_stopped(faults: Faults) -> None:
    """Another one speaks for it."""
    line = hung(faults.run("write:stop", *IOR, *METHODS["posix"], rank=0))
    assert line.startswith("iokernel: error: process 0 on ")
    assert faults.left() == []


@pytest.mark.sampled(1, free="stack")
@pytest.mark.parametrize("method", ["mpiio-collective", "hdf5", "pnetcdf"])
def test_a_call_that_fails_on_one_process(faults: Faults, method: str) -> None:
    """However its peers wait: the job ends, says why, and leaves nothing."""
    run = faults.run("write:EIO", *IOR, *METHODS[method])
    assert run.status != 0, str(run)
    assert run.errors(), str(run)
    assert run.result()["status"] in ("error", "hung"), str(run)
    assert faults.left() == []


def test_metadata_that_fails_on_one_process(faults: Faults) -> None:
    """With MPICH one process is in HDF5's sync point for ever, and the other in truncate."""
    run = faults.run("write:EIO", "s3d", "--grid", "16x16x16", "--method", "hdf5", "--fsync")
    assert run.status != 0, str(run)
    assert run.result()["status"] in ("error", "hung"), str(run)
    assert f"process 1 on {run.result()['system']['hosts'][0]}" in run.errors()[0] or (
        "in phase flush of method hdf5" in run.errors()[0]
    ), str(run)
    assert faults.left() == []


@pytest.mark.sampled(1, free="stack")
@pytest.mark.parametrize("method", ["posix", "mpiio-collective"])
def test_a_slow_run_goes_on(faults: Faults, method: str) -> None:
    """Four writes or more of a second each, of both processes."""
    words = ["ior", "-b", "6k", "-t", "1k", *METHODS[method]]
    run = faults.run("write:slow", *words, rank=None, patience=PATIENCE)
    run.good()
    assert run.seconds > float(PATIENCE)
    assert faults.left() == []


def test_who_waits_for_a_slow_one_goes_on(faults: Faults) -> None:
    words = ["ior", "-b", "6k", "-t", "1k", *METHODS["posix"]]
    run = faults.run("write:slow", *words, rank=1, patience=PATIENCE)
    run.good()
    assert run.seconds > float(PATIENCE)


@pytest.mark.slow
def test_computing_is_no_standstill(faults: Faults) -> None:
    faults.run(None, *IOR, *METHODS["posix"], "--compute-seconds", "5").good()


def test_files_that_were_there_stay(faults: Faults) -> None:
    """Another's file, and with --keep the run's own."""
    mine = faults.folder / "mine"
    mine.write_text("mine")
    hung(faults.run("write:block", *IOR, *METHODS["mpiio"]))
    assert faults.left() == ["mine"]
    hung(faults.run("write:block", *IOR, *METHODS["mpiio"], "--keep"))
    assert faults.left() == ["mine", "testFile"]


@pytest.mark.slow
def test_a_kept_file_that_is_only_read_stays(faults: Faults) -> None:
    faults.run(None, *IOR, *METHODS["posix"], "--keep", "--write-only").good()
    kept = {p.name: p.read_bytes() for p in faults.folder.iterdir()}
    assert len(kept) == 2
    line = hung(faults.run("read:block", *IOR, *METHODS["posix"], "--read-only"))
    assert "it is reading, in phase read of method posix" in line
    assert {p.name: p.read_bytes() for p in faults.folder.iterdir()} == kept


def test_an_io_process_that_never_writes(faults: Faults) -> None:
    """Its client has the document."""
    words = ["--method", "ioserver", "--io-processes", "1"]
    line = hung(faults.run("write:block", *IOR, *words))
    assert "of method ioserver" in line
    assert faults.left() == []


@pytest.mark.slow
def test_all_processes_hang(faults: Faults) -> None:
    line = hung(faults.run("write:block", *IOR, *METHODS["posix"], rank=None))
    assert "it is writing, in phase write of method posix, step 1, repeat 1" in line
    assert faults.left() == []


@pytest.mark.slow
def test_one_process_alone(faults: Faults) -> None:
    line = hung(faults.run("write:block", *IOR, *METHODS["posix"], rank=0, processes=1))
    assert "meanwhile" not in line
    assert faults.left() == []


def test_ceilings_leave_nothing(faults: Faults) -> None:
    """The ceilings' files are another session's: those go as well."""
    words = ["--method", "null", "--ceilings"]
    assert "iogauge-ceiling" in hung(faults.run("write:block", *IOR, *words))
    assert faults.left() == []


def hung_to(stack: Stack, library: Path, folder: Path, json_file: Path) -> None:
    """A run that stands still in its first write, with a document to write."""
    variables = preload(library, Plan("write", "block", times=None, rank=0), folder)
    words = [*IOR, *METHODS["posix"], "--dir", str(folder), "--json", str(json_file)]
    run = stack.run(*words, "--patience", "1", processes=1, environment=variables)
    assert run.status != 0 and len(run.errors()) == 1, str(run)


def test_a_document_behind_a_link(openmpi: Stack, injector: Path, tmp_path: Path) -> None:
    """The link stays one, and what it points to is replaced whole."""
    folder, kept, link = tmp_path / "files", tmp_path / "kept", tmp_path / "link.json"
    folder.mkdir()
    kept.mkdir()
    (kept / "result.json").write_text("of another run")
    link.symlink_to("kept/result.json")
    hung_to(openmpi, injector, folder, link)
    assert link.readlink() == Path("kept/result.json")
    assert json.loads((kept / "result.json").read_text())["status"] == "hung"
    assert [p.name for p in kept.iterdir()] == ["result.json"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["files", "kept", "link.json"]


def test_a_document_into_a_pipe(openmpi: Stack, injector: Path, tmp_path: Path) -> None:
    folder, pipe = tmp_path / "files", tmp_path / "pipe"
    folder.mkdir()
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        try:
            hung_to(openmpi, injector, folder, pipe)
            assert stat.S_ISFIFO(pipe.stat().st_mode)
            assert json.loads(reader.communicate(timeout=SECONDS)[0])["status"] == "hung"
        finally:
            reader.kill()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["files", "pipe"]


@pytest.mark.parametrize("value", ["-1", "soon", "0.5", ""])
def test_a_wrong_patience(openmpi: Stack, tmp_path: Path, value: str) -> None:
    words = [*IOR, "--method", "posix", "--patience", value]
    check_usage(openmpi, words, ["--patience", "expected at least 1 second"], tmp_path)
