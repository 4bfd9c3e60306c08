# SPDX-License-Identifier: BSD-3-Clause
"""What a program wrote as arrays: each byte has its owner again, and blocks are recognised."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.analysis.replay import arrays, trace, what_if
from iogauge.analysis.replay.arrays import Array
from iogauge.analysis.replay.trace import ACCESS, CannotReplayError

NOBODY = -1


def extents_of(owners: np.ndarray) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Of a file, given who owns each byte."""
    found = []
    for rank in sorted(set(owners.tolist()) - {NOBODY}):
        edge = np.diff(np.concatenate(([0], (owners == rank).astype(np.int8), [0])))
        found.append((rank, np.flatnonzero(edge == 1), np.flatnonzero(edge == -1)))
    return found


def owners_of(array: Array) -> np.ndarray:
    """Of each byte of an array; each element has one owner."""
    size = 8 if array.wide else 1
    owners = np.full(array.dims, NOBODY)
    for rank, mine in array.boxes.items():
        for start, count in mine:
            box = tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))
            assert (owners[box] == NOBODY).all()
            owners[box] = rank
    assert owners.shape == array.dims and (owners != NOBODY).all()
    return np.repeat(owners.ravel(), size)


def is_kept(owners: np.ndarray) -> list[Array]:
    """What lies between is left out, and nothing else."""
    found = arrays.of_file(extents_of(owners))
    got = np.concatenate([owners_of(array) for array in found])
    assert np.array_equal(got, owners[owners != NOBODY])
    return found


@given(st.lists(st.tuples(st.integers(NOBODY, 3), st.integers(1, 9)), min_size=1, max_size=40))
def test_any_extents(found: list[tuple[int, int]]) -> None:
    owners = np.repeat([rank for rank, _ in found], [n for _, n in found])
    if (owners != NOBODY).any():
        is_kept(owners)


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=4),
    st.integers(0, 20), st.sampled_from([1, 4, 8]), st.integers(1, 2),
)  # fmt: skip
def test_any_blocks(cuts: list[tuple[int, int]], header: int, size: int, times: int) -> None:
    """Uneven blocks of an array, behind a header that process 0 writes."""
    lengths = [parts * each + (parts - 1) // 2 for parts, each in cuts]
    block = [np.minimum(np.arange(n) // each, parts - 1)
             for n, (parts, each) in zip(lengths, cuts, strict=True)]  # fmt: skip
    owners = np.zeros(lengths, int)
    for which, (parts, _) in zip(np.ix_(*block), cuts, strict=True):
        owners = owners * parts + which
    flat = np.repeat(owners.ravel(), size)
    is_kept(np.concatenate([np.full(header, 0), *[flat] * times]))


def test_blocks_are_recognised() -> None:
    """Two by two by two processes: rows, planes and two arrays of one shape; float64."""
    z, y, x = 4, 6, 8
    owners = np.zeros((z, y, x), int)
    for rank, (k, j, i) in enumerate(itertools.product(range(2), repeat=3)):
        owners[2 * k : 2 * k + 2, 3 * j : 3 * j + 3, 4 * i : 4 * i + 4] = rank
    array = np.repeat(owners.ravel(), 8)
    (one,) = is_kept(np.concatenate([np.full(24, NOBODY), array]))
    assert one.dims == (z, y, x) and one.wide
    assert one.boxes[5] == [((2, 0, 4), (2, 3, 4))]
    (both,) = is_kept(np.concatenate([array, array]))
    assert both.dims in ((2, z, y, x), (2 * z, y, x))


def traced(found: dict[str, list[list[tuple[int, int]]]]) -> trace.Trace:
    """Of each file, what each process writes."""
    files = [trace.TracedFile(path, trace.POSIX, None) for path in found]
    accesses = []
    for rank in range(2):
        mine = [(i, at, n) for i, by in enumerate(found.values()) for at, n in by[rank]]
        rows = np.zeros(len(mine), ACCESS)
        for k, (i, at, n) in enumerate(mine):
            rows[k] = (i, 1, at, n, k, k + 0.5, *[0] * 6)
        accesses.append(rows)
    log = SimpleNamespace(files=[], recorder="by hand")
    return trace.Trace(Path("log"), log, files, accesses, [])  # type: ignore[arg-type]


def planned(tmp_path: Path, found: dict[str, list[list[tuple[int, int]]]]) -> what_if.WhatIf:
    made = what_if.make(traced(found), tmp_path / "e")
    data = (tmp_path / "e").read_bytes()
    assert data.startswith(what_if.MAGIC) and data.endswith(what_if.END)
    return made


def test_dumps_of_one_shape(tmp_path: Path) -> None:
    shared = [[(0, 8), (16, 8)], [(8, 8), (24, 8)]]
    made = planned(tmp_path, {"/a/1": shared, "/a/2": shared})
    assert (made.steps, sum(array.bytes for _, array in made.arrays), len(made.arrays)) == (
        2,
        32,
        1,
    )
    made = planned(tmp_path, {"/a/1": shared, "/a/2": [[(0, 8)], [(8, 5)]]})
    assert (made.steps, sum(array.bytes for _, array in made.arrays), len(made.arrays)) == (
        1,
        32 + 13,
        2,
    )


def test_a_file_of_each_process(tmp_path: Path) -> None:
    made = planned(tmp_path, {"/a/1": [[(0, 8)], []], "/a/2": [[], [(0, 24)]]})
    ((_, one),) = made.arrays
    assert one.dims == (4,) and one.wide
    assert one.boxes == {0: [((0,), (1,))], 1: [((1,), (3,))]}


def test_what_two_write_has_one_owner(tmp_path: Path) -> None:
    made = planned(tmp_path, {"/a/1": [[(0, 10)], [(6, 10)]]})
    assert (
        sum(array.bytes for _, array in made.arrays) == 16
        and "4 bytes are written by several processes" in made.said[0]
    )
    ((_, one),) = made.arrays
    assert one.boxes == {0: [((0,), (10,))], 1: [((10,), (6,))]}


def test_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(CannotReplayError, match="nothing was written"):
        what_if.make(traced({"/a/1": [[], []]}), tmp_path / "e")
    assert not (tmp_path / "e").exists()


def test_the_file_says_what_it_holds(tmp_path: Path) -> None:
    planned(tmp_path, {"/a/1": [[(0, 8), (16, 8)], [(8, 8), (24, 8)]]})
    data = (tmp_path / "e").read_bytes()
    length = int.from_bytes(data[-16:-8], "little")
    header = json.loads(data[-16 - length : -16])
    assert header["datasets"] == [{"name": "a0_1_0", "type": "float64", "dims": [2, 2]}]
    assert header["transfers"] == [{"dataset": 0, "parts": 1}]
    numbers = np.frombuffer(data[8 : -16 - length], "<u8").reshape(2, 1, 2, 2)
    assert numbers.tolist() == [[[[0, 0], [2, 1]]], [[[0, 1], [2, 1]]]]


def test_a_header_before_a_view_is_no_part_of_its_array() -> None:
    """Whoever writes it: its bytes touch those of its writer's first row."""
    start, end = what_if._cut(
        np.array([0, 8192, 16384]), np.array([4608, 12288, 20480]), {512, 1024, 8192, 18000, 30000}
    )
    assert start.tolist() == [0, 512, 1024, 8192, 16384, 18000]
    assert end.tolist() == [512, 1024, 4608, 12288, 18000, 20480]
