# SPDX-License-Identifier: BSD-3-Clause
"""No run removes a file that it did not create, however it ends and whatever its options say."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from iokernel_stacks import SECONDS, Run, Stack
from test_kernel_metadata import library
from test_kernel_replay import each_half, write

from iogauge.analysis.replay.schedule import READ, WRITE
from tests.ctest import mpi_end
from tests.selftest.injector import Plan, preload

IOR = ["ior", "-b", "4k", "-t", "1k"]
DIRECTIONS = ("--read-only", "--write-only", "-r", "-w")


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def crash(stack: Stack, library: Path, where: str, folder: Path, *words: str) -> Run:
    variables = preload(library, Plan(where, "crash"), folder)
    run = stack.run(*words, "--dir", str(folder), processes=1, environment=variables)
    assert run.status != 0, str(run)
    wanted = (
        rf"the library crashed in phase {where} of method posix-shared "
        r"\(SIGSEGV at 0x0+8, within it\): /"
    )
    assert re.search(wanted, run.stderr), str(run)
    assert re.search(r"iokernel\(\S*\+0x[0-9a-f]+\)\s?\[0x[0-9a-f]+\]", run.stderr), str(run)
    return run


@pytest.fixture
def kept(stack: Stack, tmp_path: Path) -> Path:
    """A folder with the file of an earlier run."""
    folder = tmp_path / "kept"
    folder.mkdir()
    stack.run(*IOR, "--keep", "--write-only", "--dir", str(folder), processes=1)
    assert list(contents(folder)) == ["testFile"]
    return folder


@pytest.mark.parametrize("more", [["--read-only"], ["-r"], ["--read-only", "--keep"]], ids=str)
def test_a_crash_while_only_reading(
    stack: Stack, kept: Path, injector: Path, more: list[str]
) -> None:
    before = contents(kept)
    crash(stack, injector, "read", kept, *IOR, *more)
    assert contents(kept) == before


@pytest.mark.parametrize("where", ["write", "read"])
def test_a_crash_after_creating(stack: Stack, tmp_path: Path, injector: Path, where: str) -> None:
    """The run's own file goes, also where it crashes while reading back; --keep keeps it."""
    crash(stack, injector, where, tmp_path, *IOR)
    assert contents(tmp_path) == {}
    crash(stack, injector, where, tmp_path, *IOR, "--keep", "--repeat", "2")
    assert list(contents(tmp_path)) == ["testFile"]


def test_a_crash_between_two_phases(stack: Stack, tmp_path: Path, injector: Path) -> None:
    """The line says so, and the address that was touched."""
    variables = preload(injector, Plan("unlink", "crash"), tmp_path)
    run = stack.run(*IOR, "--dir", str(tmp_path), processes=1, environment=variables)
    assert run.status != 0
    wanted = r"in phase close of method posix-shared \(SIGSEGV at 0x0+8, after it\): /"
    assert re.search(wanted, run.stderr), str(run)
    assert contents(tmp_path) == {}


def test_another_file_of_the_folder(stack: Stack, tmp_path: Path, injector: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    crash(stack, injector, "write", tmp_path, *IOR)
    assert contents(tmp_path) == {"mine": b"mine"}


def sequences() -> Iterator[tuple[str, ...]]:
    """All orders of up to three of the words, also twice the same."""
    for length in (1, 2, 3):
        yield from itertools.product(DIRECTIONS, repeat=length)


def expected(words: tuple[str, ...]) -> str:
    """-r and -w together are IOR's both; all other words only restrict, in any order."""
    letters = {"-r", "-w"} & set(words)
    read = "--read-only" in words or letters == {"-r"}
    write = "--write-only" in words or letters == {"-w"}
    return {(True, True): "refused", (True, False): "read", (False, True): "write"}.get(
        (read, write), "both"
    )


@pytest.mark.slow
def test_directions_in_any_order(openmpi: Stack, tmp_path: Path) -> None:
    """A run that may only read leaves the file as it is; one that writes what was not to be kept
    leaves none; a contradiction touches nothing."""

    def alone(*words: str) -> subprocess.CompletedProcess[str]:
        own, command = openmpi.environment(), [*words]
        return mpi_end.twice_at_most(
            lambda: subprocess.run(
                command, capture_output=True, text=True, env=own, timeout=SECONDS
            ),
            lambda done: mpi_end.kernel_blames_mpi(done.stderr),
            lambda: command.extend(mpi_end.again(command)),
        )

    def check(words: tuple[str, ...]) -> None:
        folder = tmp_path / "_".join(words)
        folder.mkdir()
        common = [str(openmpi.iokernel), *IOR, "--dir", str(folder)]
        made = alone(*common, "--keep", "--write-only")
        assert made.returncode == 0, made.stderr
        before = contents(folder)
        assert before
        done = alone(*common, "--overwrite", *words)
        wanted = expected(words)
        assert done.returncode == (2 if wanted == "refused" else 0), (words, done.stderr)
        if wanted == "refused":
            assert "--write-only and --read-only are mutually exclusive" in done.stderr
        assert ("read bandwidth" in done.stdout) == (wanted in ("read", "both")), words
        assert ("write bandwidth" in done.stdout) == (wanted in ("write", "both")), words
        assert contents(folder) == (before if wanted in ("read", "refused") else {}), words

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(check, sequences()))


def test_nothing_is_removed_before_anything_was_created(stack: Stack, kept: Path) -> None:
    """A run that cannot begin leaves an older file of the same name."""
    before = contents(kept)
    run = stack.run(
        "ior", "-b", "4t", "-t", "1m", "--buffer", "reused", "--dir", str(kept), processes=1
    )
    assert "MiB are free" in run.error(1)
    assert contents(kept) == before


def test_a_directory_that_was_there_stays(openmpi: Stack, tmp_path: Path) -> None:
    """RAMSES's files of each process's own stand in a folder: made by the run, it goes with it."""
    words = [*RAMSES, "--dir", str(tmp_path)]
    openmpi.run(*words)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "output_00001").mkdir()
    openmpi.run(*words)
    assert [p.name for p in tmp_path.iterdir()] == ["output_00001"]


def test_a_crash_of_one_process_leaves_nothing_of_the_others(
    stack: Stack, tmp_path: Path, injector: Path
) -> None:
    """Files and folders of all; and the document says what happened."""
    data = tmp_path / "data"
    data.mkdir()
    plan = Plan("write", "crash", nth=2, rank=1)
    words = ["ramses-hydro", "--size", "8", "--method", "posix", "--dir", str(data)]
    run = stack.run(*words, document=tmp_path / "r.json", environment=preload(injector, plan, data))
    assert run.status != 0 and "process 1 on" in run.errors()[0], str(run)
    assert run.result()["status"] == "error"
    assert "process 1 on" in run.result()["error"]
    assert "the library crashed in phase write of method posix" in run.result()["error"]
    assert contents(data) == {}


def test_a_file_that_cannot_be_removed_is_an_error(
    stack: Stack, tmp_path: Path, injector: Path
) -> None:
    environment = preload(injector, Plan("unlink", "EIO", rank=0), tmp_path)
    line = stack.run(*IOR, "--dir", str(tmp_path), environment=environment).error(1)
    assert f"unlink: Input/output error: {tmp_path / 'testFile'}" in line
    assert list(contents(tmp_path)) == ["testFile"]


WAYS: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "a file": (lambda path: path.write_text("mine"), []),
    "a link": (lambda path: path.symlink_to("elsewhere"), ["--overwrite"]),
    "a link to a file": (lambda path: path.symlink_to(path.with_name("mine")), ["--overwrite"]),
    "a pipe": (os.mkfifo, ["--overwrite"]),
    "a directory": (lambda path: path.mkdir(), ["--overwrite"]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ["posix-shared", "mpiio", "hdf5"])
def test_what_is_in_the_way_stays(openmpi: Stack, tmp_path: Path, way: str, method: str) -> None:
    """This run did not create it. Devices are as pipes are: root could try."""
    make, words = WAYS[way]
    name = "testFile"
    (tmp_path / "mine").write_text("mine")
    make(tmp_path / name)
    before = [(path.name, path.lstat().st_mode, path.lstat().st_ino) for path in tmp_path.iterdir()]
    run = openmpi.run(*IOR, "--method", method, *words, "--dir", str(tmp_path), processes=2)
    assert f"{tmp_path / name} exists already and is not a file of this run" in run.error(1)
    after = [(path.name, path.lstat().st_mode, path.lstat().st_ino) for path in tmp_path.iterdir()]
    assert sorted(after) == sorted(before) and (tmp_path / "mine").read_text() == "mine"


def test_a_file_is_replaced_on_request(openmpi: Stack, tmp_path: Path) -> None:
    (tmp_path / "testFile").write_text("an older run's")
    words = [*IOR, "--method", "posix-shared", "--dir", str(tmp_path), "--overwrite"]
    openmpi.run(*words, processes=2, document=tmp_path / "r.json").good()
    assert not (tmp_path / "testFile").exists()


# Another program creates the file FOREIGN as soon as the run has removed its own one.
CREATES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int unlink(const char *path) {
    static int created;
    int (*next)(const char *) = dlsym(RTLD_NEXT, "unlink"), status = next(path);
    if (status || created || strcmp(path, getenv("FOREIGN"))) return status;
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0666);
    created = write(fd, "foreign", 7) == 7;
    return close(fd);
}
"""
CEILINGS = [*IOR, "--ceilings", "--small"]
FILES = ["metadata", "--files", "2", "--method", "posix"]
RAMSES = ["ramses-amr", "--size", "8", "--method", "posix"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (IOR, "testFile"),
        ([*IOR, "--method", "mpiio", "--keep"], "testFile"),
        ([*IOR, "--method", "posix"], "testFile.00000001"),
        ([*FILES, "--steps", "2"], "metadata_00002.00000001.00000001"),
        ([*FILES, "--keep"], "metadata_00001.00000000.00000000"),
        ([*RAMSES, "--keep"], "output_00001/header_00001.txt"),
        (CEILINGS, "iogauge-ceiling-shared.0.bin"),
        ([*CEILINGS, "--keep"], "iogauge-ceiling-files.00000001.00000099"),
        ([*IOR, "--method", "ioserver"], "iogauge-direct/testFile.00000000"),
        (["replay", "--schedule", "SCHEDULE"], "a.bin"),
        (["replay", "--schedule", "SCHEDULE", "--keep"], "a.bin"),
    ],
    ids=str,
)
def test_a_file_created_between_two_repeats_stays(
    openmpi: Stack, tmp_path: Path, words: list[str], name: str
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    schedule = write(tmp_path / "s", each_half(READ, WRITE), 2048)
    words = [str(schedule) if word == "SCHEDULE" else word for word in words]
    variables = {"LD_PRELOAD": str(library(tmp_path, CREATES)), "FOREIGN": str(data / name)}
    run = openmpi.run(*words, "--repeat", "3", "--dir", str(data), environment=variables)
    assert f"{data / name} exists already and is not a file of this run" in run.error(1)
    assert [path.read_text() for path in data.rglob("*") if path.is_file()] == ["foreign"]
