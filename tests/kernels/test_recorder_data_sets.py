# SPDX-License-Identifier: BSD-3-Clause
"""Data sets of HDF5: what each call of a program moved, whichever library made it."""

from __future__ import annotations

import json
import math
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from iokernel_stacks import Stack, lacking
from recorder_runs import compiled, kernel, launched, preload, python, traces_in

from iogauge.analysis.darshan.raw import RawProcess, Slab
from iogauge.analysis.replay import trace, what_if
from iogauge.analysis.replay.arrays import Array
from iogauge.cli.main import main

INT, INTEGER, DEFLATE, SHUFFLE = 4, 0, 1, 2
READ, WRITE = 0, 1
# File and name: the dimensions, of chunks, filters.
SETS: dict[tuple[str, str], tuple[tuple[int, ...], ...]] = {
    ("one.h5", "/rows"): ((8, 6), (), ()),
    ("one.h5", "/a/group/chunked"): ((8, 6), (2, 3), ()),
    ("one.h5", "/packed"): ((8, 6), (2, 3), (DEFLATE,)),
    ("one.h5", "/longer"): ((16, 6), (2, 3), ()),
    ("one.h5", "/points"): ((24,), (), ()),
    ("one.h5", "/strided"): ((24,), (), ()),
    ("one.h5", "/two blocks"): ((24,), (), ()),
    ("one.h5", "/whole"): ((24,), (24,), ()),
    ("one.h5", "/number"): ((), (), ()),
    ("two.h5", "/rows"): ((2, 2), (), ()),
    ("two.h5", "/chunked"): ((8, 6), (2, 2), ()),
}


def elements(slabs: tuple[Slab, ...] | None) -> list[tuple[int, ...]]:
    """One after the other."""
    assert slabs is not None
    found: list[tuple[int, ...]] = []
    for slab in slabs:
        some: list[tuple[int, ...]] = [()]
        for start, stride, count, block in zip(*slab, strict=True):
            places = [start + i * stride + k for i in range(count) for k in range(block)]
            some = [(*before, at) for before in some for at in places]
        found += some
    return sorted(found)


def box(y: int, x: int, height: int, width: int) -> list[tuple[int, ...]]:
    return [(y + i, x + k) for i in range(height) for k in range(width)]


def expected(rank: int) -> list[tuple[str, str, list[tuple[int, ...]], int, bool]]:
    """What process `rank` of mpi_data_sets.c does, in its order."""
    columns, first = box(0, 3 * rank, 8, 3), 12 * rank
    found: list[tuple[str, str, list[tuple[int, ...]], int, bool]] = [
        ("one.h5", "/rows", box(4 * rank, 0, 4, 6), WRITE, True),
        ("one.h5", "/rows", box(4 * rank, 0, 4, 6), WRITE, False),
        ("one.h5", "/rows", columns, READ, False),
        ("one.h5", "/a/group/chunked", columns, WRITE, False),
        ("one.h5", "/packed", box(4 * rank, 0, 4, 6), WRITE, True),
        ("one.h5", "/longer", columns, WRITE, True),
        ("one.h5", "/longer", box(8, 3 * rank, 8, 3), WRITE, True),
        ("one.h5", "/points", [(rank,), (rank + 7,), (rank + 22,)], WRITE, False),
        ("one.h5", "/strided", [(4 * i + 2 * rank + k,) for i in range(6) for k in (0, 1)],
         WRITE, False),
        ("one.h5", "/two blocks", [(first + i,) for i in (0, 1, 2, 7, 8, 9, 10, 11)],
         WRITE, False),
        ("one.h5", "/whole", [(i,) for i in range(24)], WRITE, False),
        ("one.h5", "/number", [()], WRITE, False),
        ("one.h5", "/whole", [], WRITE, False),
        ("two.h5", "/rows", [(rank, 0), (rank, 1)], WRITE, False),
        ("two.h5", "/chunked", columns, WRITE, True),
    ]  # fmt: skip
    only_first = [one for one in found if one[1] == "/number" or (one[1] == "/whole" and one[2])]
    return [one for one in found if rank == 0 or one not in only_first]


def data_sets(stack: Stack, folder: Path, *, dxt: bool = True) -> list[RawProcess]:
    """The traces of mpi_data_sets.c, two processes."""
    if reason := lacking(stack.iokernel).get("hdf5"):
        pytest.skip(f"stack {stack.name}: hdf5: {reason}")
    program, data = folder / "program", folder / "data"
    data.mkdir()
    words = ["pkg-config", "--cflags", "--libs", f"hdf5-{stack.name}"]
    hdf5 = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    compiled(stack, Path(__file__).with_name("mpi_data_sets.c"), program, *hdf5)
    variables = preload(stack, folder / "traces", data, dxt=dxt)
    done = launched(stack, 2, [program], variables, folder=data)
    assert done.returncode == 0, done.stderr
    assert "HDF5-DIAG" not in done.stderr
    return traces_in(folder / "traces")


def test_each_call_is_there_with_its_data_set(stack: Stack, tmp_path: Path) -> None:
    processes = data_sets(stack, tmp_path)
    assert [process.rank for process in processes] == [0, 1]
    for process in processes:
        paths = {record.id: Path(record.path).name for record in process.records}
        found = [
            (paths[one.file], one.name, elements(slabs), way, together)
            for one, _, slabs, way, together, _ in process.moves
        ]
        assert found == expected(process.rank)
        for one, count, slabs, _, _, seconds in process.moves:
            assert (one.kind, one.bytes, seconds > 0) == (INTEGER, INT, True)
            assert count == len(elements(slabs))
        last = {(paths[one.file], one.name): one for one, *_ in process.moves}
        wanted = SETS if process.rank == 0 else {k: v for k, v in SETS.items() if k in last}
        assert {key: (one.dims, one.chunk, one.filters) for key, one in last.items()} == wanted


def test_two_hdf5s_in_one_process(openmpi: Stack, tmp_path: Path) -> None:
    """Of h5py and of netCDF4: each is called by its own, and asked what it moved."""
    code = """
import h5py, netCDF4, numpy
with h5py.File(f"{here}/a.h5", "w") as f, netCDF4.Dataset(f"{here}/b.nc", "w") as n:
    f["whole"] = numpy.arange(6)
    n.createDimension("time", None)
    n.createDimension("y", 5)
    v = n.createVariable("v", "f8", ("time", "y"))
    d = f.create_dataset("group/some", (4, 9), chunks=(2, 3), compression="gzip", shuffle=True)
    for i in range(2):
        v[i] = i
        d[[0, 3], 2:7:4] = i
with h5py.File(f"{here}/a.h5") as f, netCDF4.Dataset(f"{here}/b.nc") as n:
    assert (f["whole"][:] == numpy.arange(6)).all() and f["group/some"][3, 6] == n["v"][1, 4] == 1
"""
    (process,) = python(openmpi, tmp_path, code, dxt=True)
    found = [
        (one.name.split(" ")[0], one.dims, one.chunk, one.filters, elements(slabs), way)
        for one, _, slabs, way, _, _ in process.moves
    ]
    some = ("/group/some", (4, 9), (2, 3), (SHUFFLE, DEFLATE), [(0, 2), (0, 6), (3, 2), (3, 6)])
    v = [(row, i) for row in (0, 1) for i in range(5)]
    whole = [(i,) for i in range(6)]
    assert (
        found
        == [
            ("unnamed", (6,), (), (), whole, WRITE),  # its name comes later
            ("/v", (1, 5), (1, 5), (), v[:5], WRITE),
            (*some, WRITE),
            ("/v", (2, 5), (1, 5), (), v[5:], WRITE),
            (*some, WRITE),
            ("/whole", (6,), (), (), whole, READ),
            (*some[:4], [(3, 6)], READ),
            ("/v", (2, 5), (1, 5), (), [(1, 4)], READ),
        ]
    )


def test_what_hdf5_does_not_know_at_once_is_not_asked(openmpi: Stack, tmp_path: Path) -> None:
    """The name of what a reference leads to, for which HDF5 would search the file. The program's
    selection may be of another extent than the data set; a file's name may have a colon."""
    code = """
import h5py, numpy
with h5py.File(f"{here}/at 12:00.h5", "w") as f:
    d = f.create_dataset("some", (4,), "f8", maxshape=(None,), chunks=(2,))
    two, nine, data = d.id.get_space(), h5py.h5s.create_simple((9,)), numpy.ones(4)
    d[:] = 1
    d.resize((6,))
    d.id.write(h5py.h5s.create_simple((4,)), two, data)
    nine.select_hyperslab((1,), (2,))
    d.id.write(h5py.h5s.create_simple((2,)), nine, data)
    f.create_dataset("to", (), h5py.ref_dtype)[()] = d.ref
with h5py.File(f"{here}/at 12:00.h5") as f:
    assert f[f["to"][()]][2] == 1
"""
    (process,) = python(openmpi, tmp_path, code, dxt=True)
    found = [
        (one.name.split(" ")[0], count, slabs and elements(slabs), way)
        for one, count, slabs, way, _, _ in process.moves
    ]
    four = [(i,) for i in range(4)]
    assert found == [
        ("/some", 4, four, WRITE),
        ("/some", 4, four, WRITE),
        ("/some", 2, None, WRITE),
        ("/to", 1, [()], WRITE),
        ("/to", 1, [()], READ),
        ("unnamed", 1, [(2,)], READ),
    ]


def test_the_table_of_data_sets(
    stack: Stack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`trace` counts what all processes moved."""
    data_sets(stack, tmp_path)
    capsys.readouterr()
    assert main(["trace", str(tmp_path / "traces"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["data_sets"]
    found = {(Path(row["file"]).name, row["name"]): row for row in rows}
    assert found.keys() == SETS.keys()
    calls = [one for rank in (0, 1) for one in expected(rank)]
    for key, (dims, chunk, _) in SETS.items():
        mine, row = [one for one in calls if one[:2] == key], found[key]
        sizes = Counter(str(INT * len(one[2])) for one in mine)
        moved = [sum(INT * len(one[2]) for one in mine if one[3] == way) for way in (READ, WRITE)]
        assert (row["dimensions"], row["elements"]) == (len(dims), math.prod(dims))
        assert (row["element_bytes"], tuple(row["chunk"])) == (INT, chunk)
        assert [row["read"], row["written"]] == moved
        assert (row["calls"], row["sizes"]) == (len(mine), sizes)
        assert row["collective"] is any(one[4] for one in mine)
        assert row["seconds"] > 0
    page = tmp_path / "page.html"
    words = ["trace", str(tmp_path / "traces"), "--no-summary", "--html", str(page)]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert all(f"{file}:{name}" in text for file, name in SETS for text in (said, page.read_text()))


def test_arrays_for_other_methods(
    stack: Stack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are the data sets', in bytes or float64, also where chunks are packed."""
    data_sets(stack, tmp_path)
    made = what_if.make(trace.load(tmp_path / "traces"), tmp_path / "e")
    expected = {
        "one.h5_packed_0": Array((8, 3), {k: [((4 * k, 0), (4, 3))] for k in (0, 1)}, True),
        "one.h5_a_group_chunked_0": Array((8, 24), {k: [((0, 12 * k), (8, 12))] for k in (0, 1)}),
        "one.h5_longer_0": Array((16, 24), {k: [((0, 12 * k), (16, 12))] for k in (0, 1)}),
        "one.h5_strided_0": Array((6, 2), {k: [((0, k), (6, 1))] for k in (0, 1)}, True),
        "one.h5_whole_0": Array((12,), {0: [((0,), (12,))]}, True),
        "two.h5_rows_0": Array((2, 1), {k: [((k, 0), (1, 1))] for k in (0, 1)}, True),
    }
    found = dict(made.arrays)
    assert {name: found[name] for name in expected} == expected
    assert made.bytes == sum(
        INT * math.prod(dims) for (_, name), (dims, *_) in SETS.items() if " " not in name[1:]
        and name != "/points"
    ) + INT * (6 + 16)  # fmt: skip
    words = ["replay", "plan", str(tmp_path / "traces"), "-o", str(tmp_path / "s")]
    assert main(words) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "data sets, replayed by the calls below them: 11; other methods get their" in said


@pytest.mark.parametrize(
    ("method", "words"), [("netcdf4", "s3d --grid 8x6x4"), ("cgns", "cgns-structured")]
)
def test_libraries_on_hdf5(stack: Stack, tmp_path: Path, method: str, words: str) -> None:
    """Their data sets' calls move the payload, each element once in each direction."""
    if reason := lacking(stack.iokernel).get(method):
        pytest.skip(f"stack {stack.name}: {method}: {reason}")
    run, processes = kernel(stack, tmp_path, *words.split(), "--method", method, dxt=True)
    payload = run.good()["payload"]["bytes"]
    for way in (READ, WRITE):
        moves = [one for process in processes for one in process.moves if one.direction == way]
        large = [one for one in moves if math.prod(one.data_set.dims) > 64]
        assert all(one.slabs is not None for one in moves)
        assert sum(one.elements * one.data_set.bytes for one in large) == payload


def test_without_single_accesses_there_are_no_calls(stack: Stack, tmp_path: Path) -> None:
    assert not any(process.moves for process in data_sets(stack, tmp_path, dxt=False))
