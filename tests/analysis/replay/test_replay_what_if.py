# SPDX-License-Identifier: BSD-3-Clause
"""What a program wrote as arrays: each byte has its owner again, and blocks are recognised."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.analysis.darshan import views as views_
from iogauge.analysis.darshan.raw import VARIABLE_LENGTH, RawDataSet, RawView, Slab
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
    for rank in range(len(next(iter(found.values())))):
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
        and "4 bytes are written by several processes" in made.notes[0]
    )
    ((_, one),) = made.arrays
    assert one.boxes == {0: [((0,), (10,))], 1: [((10,), (6,))]}


@pytest.mark.parametrize(
    ("each", "again", "dumps"),
    [
        ([(0, 50)] * 40, 39 * 50, 40),
        ([(0, 30), (30, 20), (0, 50)], 50, 2),
        ([(0, 100), (0, 100), (0, 4)], 104, 2),
        ([(0, 50), (50, 50), (20, 50)], 50, 1),
        ([(0, 6), (6, 90), (0, 6)], 6, 1),
        ([(0, 100), (96, 100)], 4, 1),
    ],
)
@pytest.mark.parametrize("direction", [trace.READ, trace.WRITE])
def test_bytes_moved_twice_are_not_compared_with_bytes_moved_once(
    each: list[tuple[int, int]], again: int, dumps: int, direction: int, tmp_path: Path
) -> None:
    """Few of them, as of a header, are left out. What is written again as a whole is a dump more;
    but what is read again may come from memory."""
    found = traced({f"/a/{i}": [each if rank == i else [] for rank in (0, 1)] for i in (0, 1)})
    for rows in found.accesses:
        rows["write"] = direction
    all_, word = 2 * sum(length for _, length in each), ("read", "written")[direction]
    distinct = all_ - 2 * again
    times = dumps if direction == trace.WRITE else 1
    left = abs(all_ - times * distinct)
    if left > 0.05 * all_:
        with pytest.raises(CannotReplayError, match=f"{2 * again} of {all_} bytes were {word} by"):
            what_if.make(found, tmp_path / "e", direction)
        assert not (tmp_path / "e").exists()
        return
    made = what_if.make(found, tmp_path / "e", direction)
    assert (made.steps, made.bytes * made.steps) == (times, times * distinct)
    text = "; ".join(made.notes)
    assert (f"each byte was written {times} times: {times} dumps" in text) == (times > 1)
    assert (f"left out: {left} bytes {word} by a process that had" in text) == (left > 0)


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


def through_views(
    header: int, rows: list[int], columns: list[int], dumps: int, views: str
) -> trace.Trace:
    """Blocks of an array, each its process's, once or more behind each other in a file. `header`:
    process 0 writes so many bytes before them, without a view. `views`: one of all a process
    writes; one of each dump; one of each row, all of which begin where its bytes do (`own`); or
    what each process writes is at the begin of its one view."""
    width, height = sum(columns), sum(rows)
    whole = width * height
    made = traced({"/a/1": [[] for _ in range(len(rows) * len(columns))]})
    made.views = [views_.WHOLE]
    blocks = itertools.product(enumerate(rows), enumerate(columns))
    for rank, ((i, many), (j, wide)) in enumerate(blocks):
        first = sum(rows[:i]) * width + sum(columns[:j])
        places = [[k * whole + first + r * width for r in range(many)] for k in range(dumps)]
        groups = {
            "one": [(header, [at for some in places for at in some])],
            "moved": [(header + first, [at - first for some in places for at in some])],
            "dump": [(header + k * whole, [at - k * whole for at in some])
                     for k, some in enumerate(places)],
            "own": [(header + at, [0]) for some in places for at in some],
        }[views]  # fmt: skip
        mine = [(0, 0, header)] if rank == 0 and header else []
        for displacement, pieces in groups:
            mine.append((len(made.views), 0, wide * len(pieces)))
            made.views.append(RawView(
                displacement, dumps * whole, wide * len(pieces), 1,
                tuple((at, wide) for at in pieces),
            ))  # fmt: skip
        made.accesses[rank] = np.zeros(len(mine), ACCESS)
        for k, (view, at, length) in enumerate(mine):
            made.accesses[rank][k] = (0, 1, at, length, k, k + 0.5, 0, 0, view, 0, 0, 0)
    return made


@given(
    st.integers(0, 40), st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.lists(st.integers(1, 12), min_size=1, max_size=3), st.integers(1, 3),
)  # fmt: skip
def test_arrays_do_not_depend_on_how_views_begin(
    tmp_path_factory: pytest.TempPathFactory, header: int, rows: list[int], columns: list[int],
    dumps: int,
) -> None:  # fmt: skip
    """Nor on a header, whoever writes it: its bytes touch its writer's first row."""
    found = {}
    file = tmp_path_factory.getbasetemp() / "extents"
    for before, views in itertools.product((0, header), ("one", "moved", "dump", "own")):
        made = what_if.make(through_views(before, rows, columns, dumps, views), file)
        behind = [array for _, array in made.arrays][before > 0 :]
        found[before, views] = (made.steps, behind)
        if before and len(rows) * len(columns) > 1:
            assert made.arrays[0][1].bytes == before
    first = found[0, "one"]
    if len(rows) * len(columns) > 1:  # a process alone has no arrays, but bytes
        assert all(one == first for one in found.values())
        assert sum(array.bytes for array in first[1]) == sum(rows) * sum(columns) * dumps


def moving(
    dims: tuple[int, ...], slabs: list[Sequence[Slab] | None], *, size: int = 4, kind: int = 0,
    filters: tuple[int, ...] = (), name: str = "/x", path: str = "/a/1",
) -> trace.Trace:  # fmt: skip
    """A program with calls of HDF5, one of each process. In the file, each has a byte."""
    ranks = range(len(slabs))
    made = traced({path: [[(rank, 1)] for rank in ranks]})
    one = RawDataSet(1, name, kind, size, dims, (), filters)
    made.moves[path] = [
        (rank, one, None if some is None else tuple(some), 1) for rank, some in enumerate(slabs)
    ]
    return made


def block(start: Sequence[int], count: Sequence[int], *, singly: bool = False) -> Slab:
    """As two programs would select it."""
    one = (1,) * len(start)
    if singly:
        return (tuple(start), one, tuple(count), one)
    return (tuple(start), one, one, tuple(count))


def owned(made: what_if.WhatIf) -> np.ndarray:
    return np.concatenate([owners_of(array) for _, array in made.arrays])


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=4).filter(
        lambda cuts: math.prod(parts for parts, _ in cuts) > 1
    ),
    st.sampled_from([1, 4, 8, 12]), st.booleans(),
)  # fmt: skip
def test_data_sets_that_are_contiguous_are_as_in_the_file(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[tuple[int, int]], size: int, singly: bool
) -> None:
    """Uneven blocks: the file's extents and HDF5's calls give the same owner of each byte. Only the
    calls always have the dimensions."""
    dims = tuple(parts * each + (parts - 1) // 2 for parts, each in cuts)
    edges = [
        [*(each * i for i in range(parts)), n] for n, (parts, each) in zip(dims, cuts, strict=True)
    ]
    owners, slabs = np.zeros(dims, int), list[list[Slab]]()
    for corner in itertools.product(*(itertools.pairwise(some) for some in edges)):
        owners[tuple(slice(*pair) for pair in corner)] = len(slabs)
        start, count = [low for low, _ in corner], [high - low for low, high in corner]
        slabs.append([block(start, count, singly=singly)])
    flat = np.repeat(owners.ravel(), size)
    file = tmp_path_factory.getbasetemp() / "extents"
    by = [[(int(a), int(b - a)) for a, b in zip(*pair, strict=True)]
          for _, *pair in extents_of(flat)]  # fmt: skip
    by_extents = what_if.make(traced({"/a/1": by}), file)
    by_calls = what_if.make(moving(dims, list(slabs), size=size), file)
    assert np.array_equal(owned(by_extents), flat) and np.array_equal(owned(by_calls), flat)
    ((_, one),) = by_calls.arrays
    unit = 8 if one.wide else 1
    assert (*one.dims[:-1], one.dims[-1] * unit) == (*dims[:-1], dims[-1] * size)


def test_data_sets_in_chunks_are_arrays(tmp_path: Path) -> None:
    """Rows of each process, which no extent of the file shows: it is packed."""
    halves: list[Sequence[Slab] | None] = [[block((2 * k, 0), (2, 6))] for k in range(2)]
    made = what_if.make(moving((4, 6), halves, size=8, filters=(1,)), tmp_path / "e")
    assert made.arrays == [
        ("1_x_0", Array((4, 6), {k: [((2 * k, 0), (2, 6))] for k in (0, 1)}, True))
    ]
    said = "192 bytes of 1 data set, as HDF5's calls have them; in the file, 2, packed by filters"
    assert made.notes == [f"{said}: /a/1"]
    assert made.bytes == 4 * 6 * 8


def test_a_data_set_that_grows_is_one(tmp_path: Path) -> None:
    """Each of two steps has its own dimensions, and a call of each process."""
    made = moving((1, 4), [[block((0, 2 * k), (1, 2))] for k in (0, 1)], size=8)
    later = RawDataSet(1, "/x", 0, 8, (2, 4), (), ())
    made.moves["/a/1"] += [(k, later, (block((1, 2 * k), (1, 2)),), 1) for k in (0, 1)]
    ((_, one),) = what_if.make(made, tmp_path / "e").arrays
    assert one == Array((2, 4), {k: [((0, 2 * k), (2, 2))] for k in (0, 1)}, True)


def test_strides_points_and_numbers_of_data_sets(tmp_path: Path) -> None:
    every: list[Sequence[Slab] | None] = [[((2 * k,), (4,), (3,), (2,))] for k in (0, 1)]
    ((_, one),) = what_if.make(moving((12,), every, size=8), tmp_path / "e").arrays
    assert owners_of(one)[::8].tolist() == [0, 0, 1, 1] * 3
    points: list[Sequence[Slab] | None] = [
        [block((at,), (1,)) for at in mine] for mine in ([3, 0, 3], [1, 2])
    ]
    assert owned(what_if.make(moving((9,), points, size=1), tmp_path / "e")).tolist() == [
        0,
        1,
        1,
        0,
    ]
    number = what_if.make(moving((), [[((), (), (), ())], []], size=4), tmp_path / "e")
    assert [array.bytes for _, array in number.arrays] == [4]


def test_what_two_write_of_a_data_set_is_the_lowest_ones(tmp_path: Path) -> None:
    both: list[Sequence[Slab] | None] = [[block((0,), (6,))], [block((3,), (6,))]]
    made = what_if.make(moving((9,), both, size=1), tmp_path / "e")
    assert owned(made).tolist() == [0] * 6 + [1] * 3
    assert "3 bytes are written by several processes, and here by the lowest: /a/1:/x" in made.notes


@pytest.mark.parametrize(
    ("slabs", "kind"),
    [(None, 0), ([block((0,), (4,))], VARIABLE_LENGTH), ([((0,), (2,), (2**30,), (1,))], 0)],
)
def test_what_is_not_known_of_a_data_set(
    slabs: Sequence[Slab] | None, kind: int, tmp_path: Path
) -> None:
    """Its file is taken as it is: each process has a byte."""
    made = moving((2**31,), [[block((0,), (4,))], slabs], kind=kind)
    found = what_if.make(made, tmp_path / "e")
    assert (
        found.notes[0] == "arrays as they are in the file: some selections of /a/1:/x are unknown"
    )
    assert owned(found).tolist() == [0, 1]


def test_a_file_of_each_process_has_its_data_sets_bytes(tmp_path: Path) -> None:
    """And not those that its file has, packed."""
    made = traced({"/a/1": [[(0, 1)], []], "/a/2": [[], [(0, 1)]]})
    for k, length in ((0, 2), (1, 3)):
        of = RawDataSet(1, "/x", 0, 8, (length,), (), (1,))
        made.moves[f"/a/{k + 1}"] = [(k, of, (block((0,), (length,)),), 1)]
    ((_, one),) = what_if.make(made, tmp_path / "e").arrays
    assert one == Array((5,), {0: [((0,), (2,))], 1: [((2,), (3,))]}, True)
