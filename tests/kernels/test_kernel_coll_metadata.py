# SPDX-License-Identifier: BSD-3-Clause
"""Collective metadata: what HDF5 is asked and says, the same file with and without, whose metadata
moves how, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from iokernel_stacks import How, Stack, check_usage
from recorder_runs import counters, kernel

UNSTRUCTURED = ["cgns-unstructured", "--elements", "1001"]
STRUCTURED = ["cgns-structured", "--zone", "9x8x7"]
DATASETS = 9  # of the unstructured mesh

TRUE, FALSE = (["--hint", f"hdf5_coll_metadata={value}"] for value in ("true", "false"))
ON, OFF = ("true", "true"), ("false", "false")
METADATA = "collective-metadata"

# Method, mode, hint; what HDF5 then says of a file that is made (reads, writes), and of one that
# exists. CGNS asks for collective writes always, for collective reads only of existing files.
SWITCHES: list[tuple[str, str, list[str], tuple[str, str], tuple[str, str]]] = [
    ("hdf5", "collective", [], OFF, OFF),
    ("hdf5", "independent", TRUE, ON, ON),
    ("hdf5", METADATA, [], ON, ON),
    ("cgns", "collective", [], ("false", "true"), ON),
    ("cgns", "collective", FALSE, OFF, OFF),
    ("cgns", "independent", [], ("false", "true"), ON),
    ("cgns", "independent", TRUE, ON, ON),
    ("cgns", "independent", FALSE, OFF, OFF),
    ("cgns", METADATA, [], ON, ON),
    ("cgns", METADATA, TRUE, ON, ON),
]


@pytest.mark.parametrize(("method", "mode", "hint", "made", "opened"), SWITCHES)
def test_what_hdf5_says_of_its_metadata(
    stack: Stack,
    method: str,
    mode: str,
    hint: list[str],
    made: tuple[str, str],
    opened: tuple[str, str],
    tmp_path: Path,
) -> None:
    how = How(method, mode).options()
    words = [*STRUCTURED, *how, "--dir", str(tmp_path), "--keep", *hint]
    for more, right in (["--write-only"], made), (["--read-only"], opened):
        run = stack.run(*words, *more, document=tmp_path / "result.json")
        used = run.good()["used"]
        found = (used["hints"][f"hdf5_coll_metadata_{what}"] for what in ("read", "write"))
        assert tuple(found) == right
        assert used["hints_ignored"] == []


def tree(path: Path) -> dict[str, tuple[Any, ...]]:
    """Every object of an HDF5 file: attributes, and of data sets place, type, shape and bytes. (Not
    the file's own bytes: CGNS has HDF5 store the time in each object.)"""
    found: dict[str, tuple[Any, ...]] = {}

    def add(name: str, node: h5py.Group | h5py.Dataset) -> None:
        attributes = sorted((key, np.asarray(value).tobytes()) for key, value in node.attrs.items())
        found[name] = (attributes,)
        if isinstance(node, h5py.Dataset):
            found[name] += (node.id.get_offset(), node.dtype, node.shape, node[()].tobytes())

    with h5py.File(path) as file:
        add("/", file)
        file.visititems(add)
    return found


@pytest.mark.parametrize("method", ["hdf5", "cgns"])
def test_collective_metadata_makes_the_same_file(stack: Stack, method: str, tmp_path: Path) -> None:
    trees = {}
    for mode in ("collective", METADATA):
        folder = tmp_path / mode
        folder.mkdir()
        words = [*UNSTRUCTURED, *How(method, mode).options(), "--dir", str(folder), "--keep"]
        run = stack.run(*words, document=tmp_path / "result.json")
        assert run.good()["verification"]["verdict"] == "verified"
        (path,) = folder.iterdir()
        trees[mode] = tree(path)
    assert len(trees[METADATA]) > DATASETS
    assert trees[METADATA] == trees["collective"]


def independent(
    stack: Stack, folder: Path, method: str, words: list[str], processes: int
) -> tuple[list[int], list[int]]:
    """Independent MPI-IO writes and reads by each process of a run whose data moves collectively:
    what is left is metadata."""
    folder.mkdir(parents=True)
    asked = [*STRUCTURED, "--method", method, *words]
    run, traces = kernel(stack, folder, *asked, processes=processes)
    assert run.good()["verification"]["verdict"] == "verified"
    found = [
        counters(record)
        for process in sorted(traces, key=lambda process: process.rank)
        for record in process.records
        if record.module == "MPI-IO"
    ]
    assert len(found) == processes
    assert all(counts["COLL_WRITES"] and counts["COLL_READS"] for counts in found)
    return (
        [counts.get("INDEP_WRITES", 0) for counts in found],
        [counts.get("INDEP_READS", 0) for counts in found],
    )


def heeds_the_files_switch(stack: Stack) -> bool:
    """For reading. HDF5 1.10.5 to 1.10.8 and 1.12 before 1.12.2 say that it is on and read as if it
    were not (HDFFV-11260); our hdf5 method says it for each data set too, CGNS does not."""
    listed = json.loads(stack.alone("--list", "--json", "-").stdout)
    version = tuple(map(int, listed["libraries"]["hdf5"].split(".")))
    return not ((1, 10, 5) <= version < (1, 10, 9) or (1, 12) <= version < (1, 12, 2))


@pytest.mark.parametrize("method", ["hdf5", "cgns"])
def test_collective_metadata_is_what_moves(stack: Stack, method: str, tmp_path: Path) -> None:
    """Without it each process writes a part of the metadata by itself, and reads all of it."""
    for processes in (1, 4) if stack.name == "openmpi" else (2,):
        folder = tmp_path / str(processes)
        on = independent(stack, folder / "on", method, ["--mode", METADATA], processes)
        off = independent(stack, folder / "off", method, FALSE, processes)
        assert on[0] == [0] * processes
        assert all(off[0])
        assert all(off[1])
        if method == "hdf5" or heeds_the_files_switch(stack):
            assert sum(reads > 0 for reads in on[1]) == 1  # who reads for all
        else:
            assert on[1] == off[1]


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        *(
            (
                [*UNSTRUCTURED, *How(method, METADATA).options(), *FALSE],
                ["--mode collective-metadata", "hdf5_coll_metadata=false", "use --mode coll"],
            )
            for method in ("hdf5", "cgns")
        ),
        (
            [*UNSTRUCTURED, *How("mpiio", METADATA).options()],
            [
                "mpiio has no mode collective-metadata",
                "collective, independent, nonblocking, ordered or",
            ],
        ),
    ],
    ids=lambda value: str(value[-1]),
)
def test_usage(stack: Stack, words: list[str], holds: list[str], tmp_path: Path) -> None:
    check_usage(stack, words, holds, tmp_path)
