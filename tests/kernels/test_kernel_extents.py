# SPDX-License-Identifier: BSD-3-Clause
"""What a traced program wrote, through other methods: verified, or refused where damaged."""

from __future__ import annotations

import json
import re
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from iokernel_stacks import Stack, check_usage, missing, prepared, stacks
from recorder_runs import kernel

from iogauge.analysis.replay import plan, trace, what_if


@pytest.fixture(scope="module")
def stack() -> Stack:
    return next(prepared(name) for name, stack in stacks().items() if not missing(stack))


def write(path: Path, parts: Any, **more: Any) -> Path:
    """A plane of 4 x 6 bytes; `parts`: by process, part, start or count, dimension."""
    header = {
        "format": what_if.FORMAT, "source": "by hand", "recorder": "nobody", "processes": 2,
        "datasets": [{"name": "a", "type": "byte", "dims": [4, 6]}],
        "transfers": [{"dataset": 0, "parts": 1}], **more,
    }  # fmt: skip
    text = json.dumps(header).encode()
    numbers = np.array(parts, "<u8").tobytes()
    path.write_bytes(what_if.MAGIC + numbers + text + struct.pack("<Q", len(text)) + what_if.END)
    return path


HALVES = [[[[0, 0], [4, 3]]], [[[0, 3], [4, 3]]]]


@pytest.mark.parametrize("method", ["posix", "mpiio", "hdf5", "pnetcdf"])
def test_a_plane_in_halves(stack: Stack, tmp_path: Path, method: str) -> None:
    file = write(tmp_path / "e", HALVES)
    document = stack.run(
        "extents", "--extents", str(file), "--method", method, "--dir", str(tmp_path),
        document=tmp_path / "r.json",
    ).good()  # fmt: skip
    assert document["verification"]["verdict"] == "verified"
    assert document["verification"]["bytes"] == document["payload"]["bytes"] == 24


WHERE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
ssize_t pread(int fd, void *p, size_t n, off_t at) {
    ssize_t (*next)(int, void *, size_t, off_t);
    *(void **)&next = dlsym(RTLD_NEXT, "pread");
    if (n > 1 << 19) fprintf(stderr, "memory +%d\\n", (int)((uintptr_t)p % 4096));
    return next(fd, p, n, at);
}
"""


def test_memory_is_where_a_program_has_it(stack: Stack, tmp_path: Path) -> None:
    """Reading into memory at the start of a page is faster: no method may gain by that alone."""
    (tmp_path / "where.c").write_text(WHERE)
    shim = tmp_path / "where.so"
    words = ["cc", "-shared", "-fPIC", "-o", str(shim), str(tmp_path / "where.c"), "-ldl"]
    subprocess.run(words, check=True)
    plane = [{"name": "a", "type": "byte", "dims": [4, 600000]}]
    file = write(tmp_path / "e", [[[[2 * p, 0], [2, 600000]]] for p in range(2)], datasets=plane)
    run = stack.run(
        f"LD_PRELOAD={shim}", str(stack.iokernel), "extents", "--extents", str(file), "--method",
        "posix", "--dir", str(tmp_path), program=Path("/usr/bin/env"), document=tmp_path / "r.json",
    )  # fmt: skip
    run.good()
    found = set(re.findall(r"memory \+(\d+)", run.stderr))
    assert found
    assert "0" not in found


@pytest.mark.parametrize("last_first", [False, True])
@pytest.mark.parametrize("joined", ["1", "6500", "1m"])
def test_rows_that_are_kept_and_go_together(
    stack: Stack, tmp_path: Path, last_first: bool, joined: str
) -> None:
    """A row in each call, whose halves change hands; from the first row, or from the last one: then
    a buffer of 4 KiB has parts of two calls, of which the later one stands first in the file."""
    rows = range(3, -1, -1) if last_first else range(4)
    calls = [[[[[row, 3000 * ((row + p) % 2)], [1, 3000]]] for p in range(2)] for row in rows]
    plane = [{"name": "a", "type": "byte", "dims": [4, 6000]}]
    one = {"dataset": 0, "parts": 1}
    file = write(tmp_path / "e", calls, transfers=[one] * 4, datasets=plane)
    words = ["extents", "--extents", str(file), "--dir", str(tmp_path), "--method", "twophase"]
    words += ["--straight", "1g", "--join", joined, "--buffer-size", "4k"]
    document = stack.run(*words, document=tmp_path / "r.json").good()
    assert document["verification"]["verdict"] == "verified"


@pytest.mark.parametrize("rows", [1, 1000])
@pytest.mark.parametrize("method", ["mpiio", "hdf5", "pnetcdf", "twophase"])
def test_columns_of_rows(stack: Stack, tmp_path: Path, method: str, rows: int) -> None:
    """A call for each column: what stands between its pieces is there already, and stays."""
    words = ["extents", "--columns", f"{rows}x37x4", "--method", method, "--dir", str(tmp_path)]
    document = stack.run(*words, document=tmp_path / "r.json").good()
    assert document["verification"]["verdict"] == "verified"
    assert document["payload"]["bytes"] == 41 * rows
    assert document["asked"]["pattern_options"]["source"] == f"--columns {rows}x37x4"


@pytest.mark.parametrize(
    ("columns", "holds"),
    [
        ("9x4", ["--columns 9x4"]),
        ("9x4x0", ["--columns 9x4x0"]),
        ("9000000000x4000000000x1", ["2^62"]),
        ("9x4x1 --extents e", ["--extents and --columns", "mutually exclusive"]),
    ],
)
def test_columns_that_cannot_be(
    stack: Stack, columns: str, holds: list[str], tmp_path: Path
) -> None:
    check_usage(
        stack, ["extents", "--columns", *columns.split(), "--method", "posix"], holds, tmp_path
    )


def test_what_a_program_wrote(stack: Stack, tmp_path: Path) -> None:
    """Traced, recognised as the arrays that it has, and written as HDF5 by as many processes."""
    run, _ = kernel(
        stack, tmp_path, "s3d", "--method", "posix-shared", "--grid", "8x6x4", "--steps", "2",
        dxt=True,
    )  # fmt: skip
    run.good()
    made = plan.make(trace.load(tmp_path / "traces"), tmp_path / "s")
    found = what_if.make(made.trace, tmp_path / "e")
    size = sum(array.bytes for _, array in found.arrays)
    assert (found.steps, size) == (2, 8 * 6 * 4 * 16 * 8)
    assert found.blocks == len(found.arrays) > 0
    document = stack.run(
        "extents", "--extents", str(tmp_path / "e"), "--steps", "2", "--method", "hdf5", "--dir",
        str(tmp_path), document=tmp_path / "r.json",
    ).good()  # fmt: skip
    assert document["verification"]["bytes"] == 2 * size


def cut(path: Path) -> Path:
    path.write_bytes(write(path, HALVES).read_bytes()[:-1])
    return path


def wrong(parts: Any = HALVES, **more: Any) -> Callable[[Path], Path]:
    return lambda path: write(path, parts, **more)


WRONG = {
    "cut": (cut, "truncated"),
    "outside": (wrong([HALVES[0], [[[0, 3], [4, 4]]]]), "part outside its array"),
    "far": (wrong([HALVES[0], [[[2**63, 3], [4, 3]]]]), "part outside its array"),
    "less": (wrong(HALVES[:1]), "truncated"),
    "more": (wrong([*HALVES, HALVES[0]]), "more data than its header gives"),
    "large": (
        wrong(datasets=[{"name": "a", "type": "byte", "dims": [2**40, 2**40]}]),
        "invalid dimensions",
    ),
    "type": (
        wrong(datasets=[{"name": "a", "type": "complex", "dims": [4, 6]}]), "unknown type"
    ),
    "transfer": (wrong(transfers=[{"dataset": 1, "parts": 1}]), "incomplete entry of a transfer"),
    "processes": (wrong([*HALVES, HALVES[0]], processes=3), "the log has 3 processes, this run"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_file_is_refused(stack: Stack, tmp_path: Path, what: str) -> None:
    make, says = WRONG[what]
    file = make(tmp_path / "e")
    line = stack.run(
        "extents", "--extents", str(file), "--method", "posix", "--dir", str(tmp_path)
    ).error(2)
    assert says in line
