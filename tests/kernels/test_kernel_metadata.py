# SPDX-License-Identifier: BSD-3-Clause
"""Pattern metadata: which files there are and what they hold, rates, and files lost or mixed up."""

from __future__ import annotations

import json
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import Run, Stack

OPERATIONS = ("create", "readdir", "stat", "open", "remove")
FILES, STEPS, PROCESSES = 4, 2, 3


def name(step: int, owner: int, number: int, unique: bool = False) -> str:
    return f"metadata_{step + 1:05d}.{owner:08d}{'/' if unique else '.'}{number:08d}"


def run(stack: Stack, folder: Path, *more: str, files: int = FILES, processes: int = 2) -> Run:
    document = folder.with_suffix(".json")
    document.unlink(missing_ok=True)
    folder.mkdir(exist_ok=True)
    words = ["metadata", "--files", str(files), "--method", "posix", "--dir", str(folder)]
    return stack.run(*words, *more, processes=processes, document=document)


def test_operations(stack: Stack, tmp_path: Path) -> None:
    """What is reported follows from what was timed, and nothing is left behind."""
    for unique in ([], ["--unique-dir"]):
        done = run(stack, tmp_path / "d", "--repeat", "3", "--steps", "2", *unique, files=20)
        found = done.good()
        assert found["file_count"] == 2 * 2 * 20 and found["file_bytes"] == 2 * 2 * 20 * 24
        assert found["verification"]["bytes"] == 3 * found["file_bytes"]
        rates: dict[str, list[float]] = {operation: [] for operation in OPERATIONS}
        for sample in found["samples"]:
            assert sample["series"]["files_per_process"] == 2 * 20
            for operation in OPERATIONS:
                check_operation(sample["series"][operation], files=40, processes=2)
                rates[operation].append(sample["series"][operation]["rate"])
            # From opening to closing of each side: all its phases, of the slowest process.
            write = sum(p["max"] for p in sample["write"]["phases"].values())
            assert sample["series"]["create"]["seconds"]["max"] <= write * 1.000001
        for operation, values in rates.items():
            assert found["summary"][f"{operation}_rate"] == sorted(values)[1]
            assert f" file {operation:15}: " in done.stdout
        assert list((tmp_path / "d").iterdir()) == []


@pytest.mark.parametrize("unique", [[], ["--unique-dir"]])
def test_files_are_created_without_bytes(stack: Stack, tmp_path: Path, unique: list[str]) -> None:
    found = run(stack, tmp_path / "d", "--create-empty", "--steps", "2", *unique).good()
    assert found["verification"]["verdict"] == "verified"
    assert found["asked"]["pattern_options"]["create_empty"] is True
    (sample,) = found["samples"]
    check_operation(sample["series"]["create"], files=2 * FILES, processes=2)
    assert list((tmp_path / "d").iterdir()) == []


# Tells what is in the folder before each write: files, and those that have bytes.
TELLS = """
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static void tell(void) {
    DIR *folder = opendir(getenv("FOLDER"));
    int files = 0, written = 0;
    struct stat st;
    for (struct dirent *e; (e = readdir(folder));) {
        if (*e->d_name == '.' || fstatat(dirfd(folder), e->d_name, &st, 0)) continue;
        files++;
        written += st.st_size > 0;
    }
    closedir(folder);
    fprintf(stderr, "seen %d %d\\n", files, written);
}
#define TELLS(FUNCTION)                                                                  \\
    ssize_t FUNCTION(int fd, const void *data, size_t size, off_t offset) {              \\
        ssize_t (*next)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, #FUNCTION); \\
        tell();                                                                          \\
        return next(fd, data, size, offset);                                             \\
    }
TELLS(pwrite)
TELLS(pwrite64)
"""


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        ([], ["1 0", "2 1", "3 2"]),
        (["--create-empty"], ["3 0", "3 1", "3 2"]),
    ],
)
def test_all_files_are_created_before_the_first_is_written(
    openmpi: Stack, tmp_path: Path, words: list[str], seen: list[str]
) -> None:
    folder = tmp_path / "d"
    variables = {"LD_PRELOAD": str(library(tmp_path, TELLS)), "FOLDER": str(folder)}
    folder.mkdir()
    words = ["metadata", "--files", "3", "--method", "posix", "--dir", str(folder), *words]
    done = openmpi.run(*words, processes=1, environment=variables)
    assert re.findall(r"^seen (.*)$", done.stderr, re.MULTILINE) == seen


def library(folder: Path, text: str, compiler: str = "cc") -> Path:
    """To preload."""
    source, made = folder / "calls.c", folder / "calls.so"
    source.write_text(text)
    command = [compiler, "-shared", "-fPIC", str(source), "-o", str(made), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return made


def check_operation(found: dict[str, Any], files: int, processes: int) -> None:
    seconds, each = found["seconds"], found["rate_per_process"]
    assert 0 < seconds["min"] <= seconds["mean"] <= seconds["max"]
    assert found["rate"] == pytest.approx(files * processes / seconds["max"])
    assert each["min"] == pytest.approx(files / seconds["max"])
    assert each["max"] == pytest.approx(files / seconds["min"])
    assert each["min"] <= each["mean"] <= each["max"]


def test_patterns_without_a_series_have_no_rates(openmpi: Stack, tmp_path: Path) -> None:
    words = ["s3d", "--grid", "8x8x8", "--method", "posix", "--dir", str(tmp_path)]
    found = openmpi.run(*words, document=tmp_path / "r.json").good()
    assert found["samples"][0]["series"] is None
    assert [found["summary"][f"{o}_rate"] for o in OPERATIONS] == [None] * len(OPERATIONS)


def test_what_did_not_run_is_null(openmpi: Stack, tmp_path: Path) -> None:
    kept = run(openmpi, tmp_path / "d", "--keep", "--write-only").good()["summary"]
    assert [kept[f"{o}_rate"] is None for o in OPERATIONS] == [False, True, True, True, True]
    read = run(openmpi, tmp_path / "d", "--read-only").good()["summary"]
    assert [read[f"{o}_rate"] is None for o in OPERATIONS] == [True, False, False, False, True]


@pytest.fixture(params=[False, True], ids=["shared-dir", "unique-dir"])
def unique(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def options(unique: bool) -> list[str]:
    return ["--steps", str(STEPS), *(["--unique-dir"] if unique else [])]


@pytest.fixture
def kept(openmpi: Stack, tmp_path: Path, options: list[str]) -> Path:
    folder = tmp_path / "kept"
    run(openmpi, folder, *options, "--keep", processes=PROCESSES).good()
    return folder


def read(stack: Stack, folder: Path, options: list[str]) -> Run:
    return run(stack, folder, *options, "--read-only", processes=PROCESSES)


def test_names_and_contents(openmpi: Stack, kept: Path, unique: bool, options: list[str]) -> None:
    right = {
        name(step, owner, number, unique): (owner + 1, step + 1, number + 1)
        for step in range(STEPS)
        for owner in range(PROCESSES)
        for number in range(FILES)
    }
    found = {
        str(path.relative_to(kept)): struct.unpack("<3q", path.read_bytes())
        for path in kept.rglob("*")
        if path.is_file()
    }
    assert found == right
    read(openmpi, kept, options).good()


def test_mixed_up_files_are_named(
    openmpi: Stack, kept: Path, unique: bool, options: list[str]
) -> None:
    """A file in another's place: of the right size, with the values of another."""
    path = kept / name(1, 2, 3, unique)
    path.write_bytes((kept / name(1, 0, 1, unique)).read_bytes())
    done = read(openmpi, kept, options)
    line = done.error(1)
    first = done.result()["verification"]["first"]
    assert (first["file"], first["dataset"], first["offset"]) == (str(path), "identity", 0)
    assert (first["expected"], first["found"]) == (3, 1)
    assert done.result()["verification"]["mismatches"] == 2  # owner and number
    assert str(path) in line


@pytest.mark.parametrize("number", [0, FILES - 1])
def test_a_lost_file_is_named(
    openmpi: Stack, kept: Path, unique: bool, options: list[str], number: int
) -> None:
    path = kept / name(0, 1, number, unique)
    path.unlink()
    line = read(openmpi, kept, options).error(1)
    assert "stat: No such file or directory" in line and str(path) in line


LOSES = """
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <string.h>
#define LOSES(FUNCTION, ENTRY)                                                    \\
    ENTRY *FUNCTION(DIR *folder) {                                                \\
        ENTRY *(*next)(DIR *) = (ENTRY * (*)(DIR *)) dlsym(RTLD_NEXT, #FUNCTION); \\
        ENTRY *entry = next(folder);                                              \\
        while (entry && strstr(entry->d_name, "00000002")) entry = next(folder);  \\
        return entry;                                                             \\
    }
LOSES(readdir, struct dirent)
LOSES(readdir64, struct dirent64)
"""


@pytest.mark.parametrize(
    ("processes", "words", "left", "all_of_it"),
    [(1, [], 3, 4), (2, [], 6, 8), (2, ["--unique-dir"], 3, 4)],
)
def test_a_listing_without_a_file(
    openmpi: Stack, tmp_path: Path, processes: int, words: list[str], left: int, all_of_it: int
) -> None:
    """That each process's third file is there is known of its stat. Of a shared folder all are
    counted, by one process."""
    folder = tmp_path / "d"
    folder.mkdir()
    words = ["metadata", "--files", "4", "--method", "posix", "--dir", str(folder), *words]
    variables = {"LD_PRELOAD": str(library(tmp_path, LOSES))}
    line = openmpi.run(*words, processes=processes, environment=variables).error(1)
    assert f"readdir: {folder}" in line
    assert f" has {left} entries, but stat found {all_of_it} files in it" in line


FAILS = """
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#define O_CREAT 0100
#define FAILING(FUNCTION)                                                        \\
    int FUNCTION(const char *path, int flags, unsigned mode) {                   \\
        if (flags & O_CREAT && strstr(path, "NAME")) { errno = EIO; return -1; } \\
        return syscall(SYS_openat, -100, path, flags, mode);                     \\
    }
FAILING(open)
FAILING(open64)
"""
FULL = """
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int mkdir(const char *path, unsigned mode) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (rank && *rank == '1' && strstr(path, "metadata_")) { errno = ENOSPC; return -1; }
    return syscall(SYS_mkdirat, -100, path, mode);
}
"""


@pytest.mark.parametrize("words", [[], ["--create-empty"]])
def test_a_directory_that_one_process_cannot_make(
    openmpi: Stack, tmp_path: Path, words: list[str]
) -> None:
    """The others do not wait for it, and nothing is left."""
    folder = tmp_path / "d"
    folder.mkdir()
    words = ["metadata", "--files", "2", "--unique-dir", "--method", "posix", *words]
    variables = {"LD_PRELOAD": str(library(tmp_path, FULL))}
    done = openmpi.run(*words, "--dir", str(folder), processes=2, environment=variables)
    assert "process 1" in done.stderr and "mkdir: No space left on device" in done.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("number", [0, FILES - 1])
def test_a_short_file_is_named(
    openmpi: Stack, kept: Path, unique: bool, options: list[str], number: int
) -> None:
    path = kept / name(0, 1, number, unique)
    path.write_bytes(path.read_bytes()[:-1])
    line = read(openmpi, kept, options).error(1)
    assert "ends at byte 23" in line and str(path) in line


@pytest.mark.parametrize("number", [0, FILES - 1])
def test_a_create_that_fails_ends_the_run(stack: Stack, tmp_path: Path, number: int) -> None:
    """In the middle of one process's series, which no other process waits for."""
    folder, file = tmp_path / "d", name(0, 1, number)
    folder.mkdir()
    variables = {"LD_PRELOAD": str(library(tmp_path, FAILS.replace("NAME", file)))}
    words = ["metadata", "--files", str(FILES), "--method", "posix", "--dir", str(folder)]
    line = stack.run(*words, processes=2, environment=variables).error(1)
    assert "open: Input/output error" in line and file in line
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("words", [[], ["--overwrite"]])
def test_a_directory_in_the_way(openmpi: Stack, tmp_path: Path, words: list[str]) -> None:
    obstacle = tmp_path / "d" / name(0, 1, 0)
    obstacle.mkdir(parents=True)
    line = run(openmpi, tmp_path / "d", *words).error(1)
    assert f"{obstacle} exists already and is not a file of this run" in line
    assert list((tmp_path / "d").iterdir()) == [obstacle]


def test_turns(openmpi: Stack, tmp_path: Path) -> None:
    found = run(openmpi, tmp_path / "d", "--io-group", "2", processes=5).good()
    assert found["verification"]["verdict"] == "verified"


def test_plan_counts_files(openmpi: Stack) -> None:
    words = ["--files", "100000", "--procs", "16384", "--steps", "2", "--method", "posix"]
    done = openmpi.alone("metadata", *words, "--plan", "--json", "-")
    found = json.loads(done.stdout)
    assert found["files"] == 2 * 16384 * 100_000
    assert found["bytes"] == 24 * found["files"]
    assert found["calls_per_process"] == 2 * 100_000


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        *((files, "expected a positive integer") for files in ("0", "-1", "x")),
        ("9223372036854775807", "use fewer files"),
    ],
)
def test_wrong_number_of_files(openmpi: Stack, files: str, expected: str, tmp_path: Path) -> None:
    run = openmpi.run("metadata", "--files", files, "--method", "posix", "--dir", str(tmp_path))
    assert f"--files {files}: " in run.error(2) and expected in run.error(2)
