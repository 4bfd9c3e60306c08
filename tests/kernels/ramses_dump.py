# SPDX-License-Identifier: BSD-3-Clause
"""What a RAMSES dump must hold, worked out independently, and dumps that tests look at."""

from __future__ import annotations

import math
from itertools import accumulate
from pathlib import Path
from typing import Any

import iokernel_model as model
import ramses_reader as reader
from iokernel_stacks import How, Run, Stack

PATTERNS = ["ramses-amr", "ramses-hydro"]
STRUCTURES = {
    "ramses-amr": [
        ("next", "i", 1), ("prev", "i", 1), ("xg", "d", 3), ("father", "i", 1), ("nbor", "i", 6),
        ("son", "i", 8), ("cpu_map", "i", 8), ("flag1", "i", 8),
    ],
    "ramses-hydro": [(name, "d", 8) for name in reader.VARIABLES],
}  # fmt: skip
# Data sets before the grids: in shared files, in a process's own file.
HEADERS = {"ramses-amr": (8, 33), "ramses-hydro": (4, 7)}
TEXTS = {"ramses-amr": 2, "ramses-hydro": 3}  # text files beside a dump


def grids(size: int, processes: int) -> int:
    """The size model, for powers of two and boxes that have room for 26 grids besides."""
    edges = [1, 1, 1]
    for i in range(processes.bit_length() - 1):
        edges[i % 3] *= 2
    total = 26 * processes if processes > 1 else 0
    for level in range(size.bit_length() - 1):
        e = 2**level
        total += processes * math.prod(min(e, max(1, e // p) + 2) for p in edges)
    return total


def payload(pattern: str, size: int, processes: int) -> int:
    n, p, g = size.bit_length() - 1, processes, grids(size, processes)
    if pattern == "ramses-amr":
        common = 14 * 4 + 22 * 8 + 10 * 4 * n + 128
        return 156 * g + 12 * p * p * n + 32 * p + common
    return 320 * g + 4 * p * p * n + 400 * p * n + 28


POSIX = How("posix", None)


def words(pattern: str, how: How, folder: Path, *more: str, size: int = 16) -> list[str]:
    return [pattern, "--size", str(size), *how.options(), "--dir", str(folder), *more]


def run(stack: Stack, processes: int, *command: str, folder: Path) -> Run:
    return stack.run(*command, processes=processes, document=folder / "result.json")


def hashed(kind: str, dataset: int, step: int, first: int, count: int) -> list[Any]:
    of = model.key(1, dataset, step)
    if kind == "d":
        return list(model.float64(of, first + count)[first:].tolist())
    return list(model.int32(of, first, count).tolist()) if count else []


def starts(files: list[reader.File]) -> dict[tuple[int, int], int]:
    """Where each process's grids of each level begin among all: level after level."""
    levels = files[0].value("nlevelmax")
    keys = [(level, p) for level in range(levels) for p in range(len(files))]
    counts = [sum(files[p].numbl[level, c] for c in range(len(files))) for level, p in keys]
    return dict(zip(keys, accumulate(counts, initial=0), strict=False))


def check_blocks(files: list[reader.File], pattern: str, step: int) -> None:
    """Every value of every block; cpu after cpu, they take the process's place on its level."""
    begin = starts(files)
    total = sum(sum(file.numbl.values()) for file in files)
    own = [("ind_grid", "i", 1)] if "amr" in pattern else []
    for index, (name, kind, components) in enumerate(own + STRUCTURES[pattern]):
        for component in range(components):
            dataset = HEADERS[pattern][1] + index
            right = hashed(kind, dataset, step, component * total, total)
            for process, file in enumerate(files):
                at = dict(begin)
                for (level, _cpu), block in sorted(file.blocks.items()):
                    first = at[level, process]
                    found = block[name][component]
                    assert list(found) == right[first : first + len(found)], (name, level)
                    at[level, process] += len(found)


def make_own_files(openmpi: Stack, folder: Path, *more: str) -> Path:
    """Two dumps of three processes, mesh and gas in the same directories, as RAMSES leaves them."""
    for pattern in PATTERNS:
        command = words(pattern, POSIX, folder, "--refine", "--steps", "2", "--keep", "--overwrite",
                        *more)  # fmt: skip
        found = run(openmpi, 3, *command, folder=folder).good()
        assert found["verification"]["verdict"] == "verified"
        assert found["file_count"] == 2 * (3 + TEXTS[pattern])
    return folder


def dump(folder: Path, step: int, kind: str, process: int) -> Path:
    number = f"{step + 1:05d}"
    return folder / f"output_{number}" / f"{kind}_{number}.out{process + 1:05d}"
