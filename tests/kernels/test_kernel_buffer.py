# SPDX-License-Identifier: BSD-3-Clause
"""--buffer: all data of a step in memory, or one buffer, filled and verified piece by piece."""

from __future__ import annotations

import filecmp
import json
import os
import re
import time
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import MOVING, How, Stack
from recorder_runs import kernel
from test_kernel_metadata import library
from test_kernel_wrong_bytes import INDEX, NAME, check, flip, s3d_target, values
from written import IOR, PATTERNS, S3D, Writer, Written

from iogauge.analysis.darshan.raw import SEGMENT
from tests.selftest.injector import Plan, preload

MIB = 2**20
REUSED = ["--buffer", "reused"]
POSIX = How("posix", None)
SHARED = How("posix-shared", None)
RAMSES = ["ramses-hydro", "--size", "16"]
MESH = ["cgns-unstructured", "--elements", "1001"]
SERIES = ["metadata", "--files", "7"]
LARGE = ["ior", "-b", "128m", "-t", "1m"]  # of each process


def asked(document: dict[str, Any]) -> str:
    buffer: str = document["asked"]["buffer"]
    return buffer


@pytest.mark.parametrize("how", MOVING, ids=str)
def test_written_and_verified_as_from_a_whole_buffer(
    stack: Stack, how: How, written: Writer, tmp_path: Path
) -> None:
    """Its files hold the right values, and one wrong bit in them is found where it is."""
    made = Written(stack, how, [*PATTERNS["s3d"], *REUSED], tmp_path / "reused")
    assert asked(made.document) == "reused"
    good = made.read(made.folder, tmp_path / "good.json").good()
    assert good["verification"]["elements"] == 2 * 13 * 11 * 7 * 16
    target = s3d_target(how, made.folder)
    assert values(how, target)[0] == float(S3D.array(NAME, 1)[INDEX])
    whole = written(stack, how, "s3d")
    assert asked(whole.document) == "whole"
    # The files of the others hold times, or bytes never written.
    raw = how.method not in ("hdf5", "pnetcdf", "netcdf4")
    for path in whole.folder.iterdir() if raw else ():
        assert filecmp.cmp(path, made.folder / path.name, shallow=False), path.name
    flip(target, 3, 2)
    check(made.read(made.folder), target, NAME, list(INDEX), (target.owner - 1) % S3D.processes)


@pytest.mark.parametrize("how", [POSIX, SHARED, How("mpiio", "collective")], ids=str)
@pytest.mark.parametrize(
    "pattern", [["ior", *IOR.options(), "-C"], RAMSES, MESH, SERIES], ids=lambda p: p[0]
)
def test_patterns_write_the_same(
    openmpi: Stack, pattern: list[str], how: How, tmp_path: Path
) -> None:
    if pattern is SERIES:
        how = POSIX if how == SHARED else how
    files = {}
    for buffer in ("whole", "reused"):
        folder = tmp_path / buffer
        folder.mkdir()
        words = [*pattern, *how.options(), "--dir", str(folder), "--keep", "--buffer", buffer]
        document = openmpi.run(*words, processes=3, document=tmp_path / f"{buffer}.json").good()
        assert document["verification"]["verdict"] == "verified"
        found = (path for path in folder.rglob("*") if path.is_file())
        files[buffer] = {str(p.relative_to(folder)): p.read_bytes() for p in found}
    assert files["whole"] and files["reused"] == files["whole"]


@pytest.mark.parametrize("method", ["mpiio", "hdf5", "pnetcdf"])
def test_uneven_calls_stay_whole(openmpi: Stack, method: str, tmp_path: Path) -> None:
    """Levels of above a mebibyte in one call, of processes that have unlike shares: a call that
    was cut up, more often here than there, would wait for ever where it sets a view."""
    words = ["ramses-hydro", "--size", "64", "--merge-levels", "--refine", "--method", method]
    words += ["--mode", "independent", *REUSED, "--dir", str(tmp_path)]
    found = openmpi.run(*words, processes=3, document=tmp_path / "r.json").good()
    assert found["verification"]["verdict"] == "verified"


def test_memory(stack: Stack, tmp_path: Path) -> None:
    """A reused buffer is a transfer, and the process that much smaller."""
    peaks = {}
    for buffer in ("whole", "reused"):
        words = [*LARGE, *POSIX.options(), "--dir", str(tmp_path), "--buffer", buffer]
        found = stack.run(*words, document=tmp_path / "r.json").good()["memory"]
        assert found["data"] == 128 * MIB
        peaks[buffer] = found["peak_rss"]
        right = 128 * MIB if buffer == "whole" else MIB
        assert right <= found["buffer"] <= right + 4096
    assert peaks["whole"] - peaks["reused"] > 100 * MIB


def test_values_are_made_off_the_clock(openmpi: Stack, tmp_path: Path) -> None:
    """The wall clock runs on while the values are made, the phase's own does not."""
    words = [*LARGE, *POSIX.options(), "--dir", str(tmp_path), *REUSED]
    document = openmpi.run(*words, processes=1, document=tmp_path / "r.json").good()
    (sample,) = document["samples"]
    assert sample["fill_seconds"] > 0
    for direction, off in (("write", sample["fill_seconds"]), ("read", 0.0)):
        (span,) = (s for s in sample[direction]["spans"] if s["phase"] == direction)
        clock = sample[direction]["phases"][direction]["max"]
        assert span["end"] - span["begin"] - clock > off


@pytest.mark.parametrize("how", [SHARED, How("mpiio", "independent")], ids=str)
@pytest.mark.parametrize("call", ["write", "read"])
def test_a_piece_lasts_as_long_as_the_slowest(
    stack: Stack, how: How, call: str, injector: Path, tmp_path: Path
) -> None:
    """Of two processes one is slow in each call, by turns: no transfer takes less, though each
    process waits in half of its calls only."""
    calls, seconds = 10, 0.02
    (tmp_path / "files").mkdir()
    words = ["ior", "-b", f"{calls}m", "-t", "1m", *how.options(), *REUSED]
    plan = Plan(call, "slow", every=2, times=None, stagger=1, milliseconds=int(seconds * 1000))
    document = stack.run(
        *words, "--dir", str(tmp_path / "files"), processes=2, document=tmp_path / "r.json",
        environment=preload(injector, plan, tmp_path / "files"),
    ).good()  # fmt: skip
    side = document["samples"][0][call]
    phase = side["phases"][call]
    assert phase["max"] >= calls * seconds
    assert side["bandwidth"] <= 2 * calls / (calls * seconds)
    assert calls // 2 * seconds <= phase["min"] < phase["max"], "its own calls only"


@pytest.mark.parametrize("how", [POSIX, SHARED, How("mpiio", "independent")], ids=str)
@pytest.mark.parametrize("call", ["write", "read"])
def test_waiting_for_a_core_is_on_the_clock(
    openmpi: Stack, how: How, call: str, injector: Path, tmp_path: Path
) -> None:
    """Four processes share a core, which each call needs for 1 ms: the calls take turns."""
    processes, calls, seconds = 4, 100, 0.001
    (tmp_path / "files").mkdir()
    words = ["ior", "-b", f"{calls * 64}k", "-t", "64k", *how.options(), *REUSED]
    plan = Plan(call, "busy", times=None, milliseconds=int(seconds * 1000))
    document = openmpi.run(
        *words, "--dir", str(tmp_path / "files"), processes=processes,
        document=tmp_path / "r.json", before=("taskset", "-c", str(min(os.sched_getaffinity(0)))),
        environment=preload(injector, plan, tmp_path / "files"),
    ).good()  # fmt: skip
    phase = document["samples"][0][call]["phases"][call]
    assert phase["max"] > 0.7 * processes * calls * seconds


@pytest.mark.parametrize("how", [POSIX, SHARED], ids=str)
def test_who_fails_does_not_leave_the_others_waiting(
    stack: Stack, how: How, injector: Path, tmp_path: Path
) -> None:
    (tmp_path / "files").mkdir()
    words = ["ior", "-b", "4m", "-t", "1m", *how.options(), *REUSED]
    plan = Plan("write", "ENOSPC", nth=2, rank=1)
    done = stack.run(
        *words, "--dir", str(tmp_path / "files"), document=tmp_path / "r.json",
        environment=preload(injector, plan, tmp_path / "files"),
    )  # fmt: skip
    assert done.status != 0
    (line,) = done.errors()
    assert "process 1" in line and "write" in line and "waits" not in line
    assert not list((tmp_path / "files").iterdir())


TELLS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
static int reading, turns;
static ssize_t read_at(int fd, void *to, size_t n, off_t at) {
    ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread");
    reading = 1;
    return real(fd, to, n, at);
}
ssize_t pread(int fd, void *to, size_t n, off_t at) { return read_at(fd, to, n, at); }
ssize_t pread64(int fd, void *to, size_t n, off_t at) { return read_at(fd, to, n, at); }
void iogauge_plant(uint64_t repeat, uint64_t step, uint64_t all, uint64_t at, void *d, uint64_t n) {
    turns += reading, reading = 0;
}
int iogauge_take_back(void *element, uint64_t size) { return 0; }
__attribute__((destructor)) static void say(void) {
    if (turns) fprintf(stderr, "turns %d\\n", turns);
}
"""


@pytest.mark.parametrize(("cold", "turns"), [(True, 2), (False, 64)])
def test_cold_reads_are_not_verified_one_by_one(
    openmpi: Stack, cold: bool, turns: int, tmp_path: Path
) -> None:
    """While the clock stands for verification the kernel reads ahead. How often it stands, of 64
    reads of a mebibyte; a wrong bit is found wherever in the buffer it was read to."""
    words = ["ior", "-b", "64m", "-t", "1m", *POSIX.options(), *REUSED, "--keep"]
    words += ["--dir", str(tmp_path / "d"), *(["--drop-caches"] if cold else [])]
    (tmp_path / "d").mkdir()
    variables = {"LD_PRELOAD": str(library(tmp_path, TELLS))}
    done = openmpi.run(*words, processes=1, document=tmp_path / "r.json", environment=variables)
    assert re.findall(r"turns (\d+)", done.stderr) == [str(turns)]
    held = done.good()["memory"]["buffer"] // MIB
    assert held == (32 if cold else 1)
    (file,) = (tmp_path / "d").iterdir()
    for at in (0, 5 * MIB + 8, 63 * MIB):
        with file.open("r+b") as data:
            data.seek(at)
            (byte,) = data.read(1)
            data.seek(at)
            data.write(bytes([byte ^ 1]))
            data.flush()
            wrong = openmpi.run(*words, "--read-only", processes=1)
            assert wrong.status != 0 and f"byte {at} " in f"{wrong.stderr} "
            data.seek(at)
            data.write(bytes([byte]))
            data.flush()


def test_ceilings_beside_a_reused_buffer(stack: Stack, tmp_path: Path) -> None:
    words = [*RAMSES, *POSIX.options(), "--dir", str(tmp_path), "--ceilings"]
    document = stack.run(*words, document=tmp_path / "r.json").good()
    assert asked(document) == "reused"
    ceilings = document["samples"][0]["ceilings"]
    assert all(v > 0 for which in ("fpp", "shared") for v in ceilings[which].values())
    assert {ceilings[which]["passes"] for which in ("fpp", "shared")} == {1}


def test_ceilings_last_and_small_ones_are_counted(stack: Stack, tmp_path: Path) -> None:
    """As long as asked for, whatever a pass takes; no file is left."""
    words = ["ior", "-b", "64k", "-t", "64k", *POSIX.options(), "--dir", str(tmp_path)]
    words += ["--ceilings", "--ceiling-seconds", "0.5", "--small"]
    began = time.monotonic()
    document = stack.run(*words, document=tmp_path / "r.json").good()
    assert time.monotonic() - began >= 2 * 0.5 + 2 * 0.1
    ceilings = document["samples"][0]["ceilings"]
    assert all(ceilings[which]["passes"] >= 1 for which in ("fpp", "shared"))
    assert set(ceilings["small"]) == {"write", "read"}
    assert set(ceilings["files"]) == {"create", "stat", "remove"}
    assert all(rate > 0 for which in ("small", "files") for rate in ceilings[which].values())
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_small_accesses_are_at_random_places(stack: Stack, tmp_path: Path) -> None:
    """Each place once, and none beside the one before it."""
    words = ["ior", "-b", "1m", "-t", "64k", *POSIX.options(), "--ceilings", "--small"]
    run, processes = kernel(stack, tmp_path, *words, dxt=True)
    run.good()
    records = [one for each in processes for one in each.records if "ceiling-small" in one.path]
    ways = [list(SEGMENT.iter_unpack(way)) for one in records for way in one.segments if way]
    assert len(ways) == 2 * 2
    for segments in ways:
        offsets = [offset for offset, *_ in segments]
        assert set(offsets) == set(range(0, MIB, 4096))
        assert all(b != a + 4096 for a, b in pairwise(offsets))


def test_ceilings_move_as_many_steps_as_the_case(stack: Stack, tmp_path: Path) -> None:
    """Each in a separate file; all are written before the first is read."""
    words = ["ior", "-b", "1m", "-t", "64k", *POSIX.options(), "--steps", "3", "--ceilings"]
    run, processes = kernel(stack, tmp_path, *words, dxt=True)
    ceilings = run.good()["samples"][0]["ceilings"]
    assert {ceilings[which]["passes"] for which in ("fpp", "shared")} == {3}
    for which, each in product(("fpp", "shared"), processes):
        own = [one.segments for one in each.records if f"ceiling-{which}" in one.path]
        reads, writes = (
            [list(SEGMENT.iter_unpack(of[way])) for of in own if of[way]] for way in (0, 1)
        )
        for found in (reads, writes):
            assert [sum(length for _, length, *_ in file) for file in found] == [MIB] * 3
        begun = min(start for file in reads for _, _, start, _ in file)
        assert max(end for file in writes for *_, end in file) <= begun


def test_more_of_the_ceilings_needs_the_ceilings(stack: Stack, tmp_path: Path) -> None:
    words = ["ior", *POSIX.options(), "--dir", str(tmp_path), "--small"]
    assert "add --ceilings" in stack.run(*words, document=tmp_path / "r.json").error(2)


@pytest.mark.parametrize(
    ("words", "buffer"),
    [
        ([*RAMSES, "--method", "posix"], "reused"),  # its code packs what it writes
        ([*RAMSES, "--method", "mpiio"], "reused"),
        ([*RAMSES, "--method", "posix", "--io-group", "1"], "whole"),
        ([*RAMSES, "--method", "ioserver"], "whole"),
        ([*RAMSES, "--method", "posix", "--buffer", "whole"], "whole"),
        (["s3d", "--grid", "8x8x8", "--method", "posix"], "whole"),
    ],
)
def test_default(openmpi: Stack, words: list[str], buffer: str, tmp_path: Path) -> None:
    document = openmpi.run(*words, "--dir", str(tmp_path), document=tmp_path / "r.json").good()
    assert asked(document) == buffer


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--method", "posix", "--buffer", "call"], ["--buffer call", "whole or reused"]),
        (
            ["--method", "posix", "--io-group", "1", *REUSED],
            ["--buffer reused", "--io-group", "--buffer whole"],
        ),
        (["--method", "ioserver", *REUSED], ["--buffer reused", "I/O processes", "--buffer whole"]),
    ],
)
def test_what_cannot_be(openmpi: Stack, words: list[str], parts: list[str], tmp_path: Path) -> None:
    line = openmpi.run("s3d", "--grid", "8x8x8", *words, "--dir", str(tmp_path)).error(2)
    assert all(part in line for part in parts), line


def test_plan_says_both(openmpi: Stack) -> None:
    """Hydro 2048^3 on 16384 processes: a component of a level is what its code packs."""
    words = ["ramses-hydro", "--size", "2048", "--procs", "16384", "--plan", "--json", "-"]
    plan = json.loads(openmpi.alone(*words, "--method", "mpiio").stdout)
    assert plan["buffer_per_process"] < plan["memory_per_process"] / 40
    words += ["--buffer", "whole", "--method", "mpiio"]
    plan = json.loads(openmpi.alone(*words).stdout)
    assert plan["buffer_per_process"] == plan["memory_per_process"]
