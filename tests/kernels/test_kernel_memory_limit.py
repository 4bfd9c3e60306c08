# SPDX-License-Identifier: BSD-3-Clause
"""A limit of memory (ulimit -d) that is reached somewhere: in MPI, in a library, in the kernels. A
run is right, or it fails, says so, and leaves nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from iokernel_stacks import MOVING, How, Stack

WORDS = ["s3d", "--grid", "64x64x64", "--patience", "10"]  # 16 MiB for each of 2 processes
MIB = (16, 32, 48, 64, 96, 256)
# ROMIO then ends the job itself, and may lose this line: docs/selftest.md
ROMIO = "Out of memory in file "
STATUSES = ("error", "failed", "hung", "crashed")


# calloc(2, 4) of iokernel itself: on process 0 of two, how much each has to say at the end.
NO_ROOM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
void *__libc_calloc(size_t n, size_t size);
void *calloc(size_t n, size_t size) {
    Dl_info from;
    int other = n != 2 || size != 4 || !dladdr(__builtin_return_address(0), &from);
    const char *name = other ? 0 : strrchr(from.dli_fname, '/');
    return name && !strcmp(name, "/iokernel") ? 0 : __libc_calloc(n, size);
}
"""


def test_no_memory_for_what_is_gathered(stack: Stack, tmp_path: Path) -> None:
    """One process lacks it, and all end with its message."""
    source, library, place = (tmp_path / name for name in ("source.c", "less.so", "data"))
    place.mkdir()
    source.write_text(NO_ROOM)
    words = ["cc", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"]
    subprocess.run(words, check=True)
    variables, ior = {"LD_PRELOAD": str(library)}, ["ior", "-b", "4k", "-t", "1k"]
    run = stack.run(*ior, "--dir", str(place), environment=variables)
    line = run.error(1)
    assert line.startswith("iokernel: error: process 0 on "), str(run)
    assert "out of memory for the results of 2 processes" in line and not any(place.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("how", MOVING, ids=str)
def test_a_limit_of_memory(stack: Stack, tmp_path: Path, how: How) -> None:
    good = []
    for limit in MIB:
        folder, document = tmp_path / str(limit), tmp_path / f"{limit}.json"
        folder.mkdir()
        run = stack.run(
            f"--data={limit << 20}", str(stack.iokernel), *WORDS, *how.options(),
            "--dir", str(folder), program=Path("/usr/bin/prlimit"), document=document,
        )  # fmt: skip
        said = (run.stderr + run.stdout).strip()
        by_romio = ROMIO in said or (run.status == 1 and not said and run.document is None)
        assert by_romio or not any(folder.iterdir()), str(run)
        good.append(run.status == 0)
        if good[-1]:
            assert run.good()["verification"]["verdict"] == "verified"
        else:
            assert said or by_romio, f"nothing was said: {run}"
            assert run.document is None or run.document["status"] in STATUSES, str(run)
    assert good == sorted(good) and not all(good), f"the limits show nothing: {good}"
