# SPDX-License-Identifier: BSD-3-Clause
"""A replay of reads from storage is not verified call by call: while the clock stands for it, the
kernel reads ahead."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import Stack
from test_kernel_replay import CLOSED, MET, Act, write

from iogauge.analysis.replay import own, schedule
from iogauge.analysis.replay.schedule import OPEN, READ, READ_ALL, WAIT

MIB = 2**20
LATER = schedule.MOVES[own.LATER][0]
# Each read gets a wrong byte, of which verification asks: how often did it begin?
TELLS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
enum { MOST = 8192 };
static char *wrong[MOST], *later[MOST];
static int reads, turns, asked, reading, begun, inside, after[MOST];
static void has_read(char *data) {
    *data ^= 0x55;
    wrong[reads++] = data;
    reading = 1;
}
ssize_t pread(int fd, void *to, size_t n, off_t at) {
    ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread");
    ssize_t got = real(fd, to, n, at);
    if (got == atoi(getenv("EACH")) && !inside) has_read(to);
    return got;
}
#define READS(NAME) \\
    int NAME(MPI_File f, MPI_Offset at, void *to, int n, MPI_Datatype type, MPI_Status *status) { \\
        inside++; \\
        int code = P##NAME(f, at, to, n, type, status); \\
        inside--; \\
        has_read(to); \\
        return code; \\
    }
READS(MPI_File_read_at)
READS(MPI_File_read_at_all)
int MPI_File_iread_at(MPI_File f, MPI_Offset at, void *to, int n, MPI_Datatype t, MPI_Request *r) {
    inside++;
    int code = PMPI_File_iread_at(f, at, to, n, t, r);
    inside--;
    later[begun++] = to;
    return code;
}
int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses) {
    inside++;
    int code = PMPI_Waitall(n, requests, statuses);
    inside--;
    while (begun) has_read(later[--begun]);
    return code;
}
int iogauge_take_back(void *element, uint64_t size) {
    for (int i = 0; i < reads && size == 1; i++) {
        if (wrong[i] != element) continue;
        wrong[i] = 0;
        asked++;
        if (reading) after[turns++] = reads;
        reading = 0;
    }
    return 0;
}
static void say(void) {
    FILE *out = reads ? fopen(getenv("TELLS"), "a") : 0;
    if (!out) return;
    for (int i = 0; i < turns; i++) fprintf(out, "%d ", after[i]);
    fprintf(out, "of %d reads, %d asked\\n", reads, asked);
    fclose(out);
}
/* A run that failed may be ended within it, so that no destructor is called. */
int MPI_Finalize(void) {
    say();
    return PMPI_Finalize();
}
"""


def turns(
    stack: Stack, folder: Path, each: Sequence[Sequence[Act]], level: str, size: int,
    length: int = MIB, cold: bool = True, **more: Any,
) -> set[str]:  # fmt: skip
    """How many reads of this length each process had made when it verified, and of how many."""
    source, tells, data, told = (folder / name for name in ("tells.c", "tells.so", "data", "told"))
    data.mkdir()
    source.write_text(TELLS)
    command = [f"mpicc.{stack.name}", "-shared", "-fPIC", str(source), "-o", str(tells), "-ldl"]
    subprocess.run(command, check=True)
    one = {"name": "a.bin", "level": level, "extent": size, "read": True, "written": False}
    file = write(folder / "s", each, size, before=[(0, 0, size)], files=[one], **more)
    words = ["replay", "--schedule", str(file), "--dir", str(data)]
    done = stack.run(
        *words, *(["--drop-caches"] if cold else []),
        environment={"LD_PRELOAD": str(tells), "TELLS": str(told), "EACH": str(length)},
    )  # fmt: skip
    assert f" of {size} elements are wrong" in done.stderr
    # The first process to end may take the other one down.
    return set(told.read_text().splitlines())


def acts(kind: str, rank: int) -> tuple[list[Act], str]:
    """A process's 48 reads of a mebibyte, and the level of the file."""
    first = 48 * MIB * rank
    reads = {
        "posix": [(READ, 0, first, MIB, MIB, 48)],
        "later": [act for i in range(48) for act in (
            (LATER, 0, first + i * MIB, MIB, 0, 1), (WAIT, 0, i, 0, 0, 1))],
        "in step": [act for i in range(24) for act in (
            (READ_ALL, 0, first + 2 * i * MIB, MIB, 0, 1),
            (READ, 0, first + (2 * i + 1) * MIB, MIB, 0, 1))],
    }[kind]  # fmt: skip
    level = {"posix": "posix", "later": "mpiio-alone", "in step": "mpiio-together"}[kind]
    return [(OPEN, 0, 0, 0, 0, 0), *reads, CLOSED], level


@pytest.mark.parametrize("cold", [True, False])
@pytest.mark.parametrize("kind", ["posix", "later", "in step"])
def test_reads_from_storage_are_verified_together(
    stack: Stack, kind: str, cold: bool, tmp_path: Path
) -> None:
    each, level = zip(*(acts(kind, rank) for rank in range(2)), strict=True)
    found = turns(
        stack, tmp_path, each, level[0], 96 * MIB, cold=cold, buffer="reused",
        collective=kind == "in step",
    )  # fmt: skip
    after = [32, 48] if cold else range(1, 49)
    assert found == {f"{' '.join(map(str, after))} of 48 reads, 48 asked"}


def test_what_is_held_does_not_split_a_phase(stack: Stack, tmp_path: Path) -> None:
    """Two processes read a shared file, in two phases that each fit in memory, but not together."""
    each: list[list[Act]] = []
    for rank in range(2):
        first = 80 * MIB * rank
        each.append([
            (OPEN, 0, 0, 0, 0, 0), (READ, 0, first, MIB, MIB, 20), MET,
            (READ, 0, first + 20 * MIB, MIB, MIB, 60), CLOSED,
        ])  # fmt: skip
    found = turns(stack, tmp_path, each, "posix", 160 * MIB)
    assert found == {"20 80 of 80 reads, 80 asked"}


def test_not_more_than_4096_reads_are_held(stack: Stack, tmp_path: Path) -> None:
    phases = [[(READ, 0, 3000 * i, 3, 3, 1000), MET] for i in range(6)]
    log = [(OPEN, 0, 0, 0, 0, 0), *(act for phase in phases for act in phase), CLOSED]
    other = [MET] * 6
    found = turns(stack, tmp_path, [log, other], "posix", 18000, 3, buffer="reused")
    # Some wrong bytes are those from before the run, and are not asked of.
    assert {line.split(",")[0] for line in found} == {"5000 6000 of 6000 reads"}


@pytest.mark.parametrize("buffer", ["reused", "whole"])
def test_waits_leave_what_a_batch_has_read_in_its_place(
    stack: Stack, buffer: str, tmp_path: Path
) -> None:
    """A read is held; the next batch reads before waits that make it 32 MiB."""
    each: list[list[Act]] = []
    for rank in range(2):
        places = iter(range(33 * MIB * rank, 33 * MIB * (rank + 1), MIB))
        log: list[Act] = [(OPEN, 0, 0, 0, 0, 0)]
        for laters, before in ((15, 0), (16, 15)):
            log.append((READ, 0, next(places), MIB, 0, 1))
            for i in range(before, before + laters):
                log += [(LATER, 0, next(places), MIB, 0, 1), (WAIT, 0, i, 0, 0, 1)]
            log.append(CLOSED if before else MET)
        each.append(log)
    size = 66 * MIB
    one = {"name": "a.bin", "level": "mpiio-alone", "extent": size, "read": True, "written": False}
    file = write(
        tmp_path / "s", each, size, before=[(0, 0, size)], files=[one], buffer=buffer
    )  # fmt: skip
    words = ["replay", "--schedule", str(file), "--dir", str(tmp_path), "--drop-caches"]
    document = stack.run(*words, document=tmp_path / "r.json").good()
    assert document["verification"]["bytes"] == size
