# SPDX-License-Identifier: BSD-3-Clause
"""CGNS: files that h5py and cgnscheck read, with the nodes that SIDS wants and values worked out
here; what is refused, and files that are not what was asked for."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import iokernel_model as model
import numpy as np
import pytest
from iokernel_stacks import MESH_MODES, ROOT, SECONDS, How, Run, Stack, check_usage

ELEMENTS = 1001
NODES = 6 * ELEMENTS
ZONE = (9, 8, 7)  # x, y, z
UNSTRUCTURED = ["cgns-unstructured", "--elements", str(ELEMENTS)]
STRUCTURED = ["cgns-structured", "--zone", "x".join(map(str, ZONE))]
HOWS = [How(method, mode) for method, modes in MESH_MODES.items() for mode in modes]
CGNS = ["--method", "cgns"]

# Of the unstructured mesh, in the order of the file: path in the zone, and the label in SIDS.
ARRAYS = {
    "GridCoordinates/CoordinateX": "DataArray_t",
    "GridCoordinates/CoordinateY": "DataArray_t",
    "GridCoordinates/CoordinateZ": "DataArray_t",
    "Elements/ElementConnectivity": "DataArray_t",
    "Solution/MomentumX": "DataArray_t",
    "Solution/MomentumY": "DataArray_t",
    "Solution/MomentumZ": "DataArray_t",
    "UserData/ArrayR": "DataArray_t",
    "UserData/ArrayI": "DataArray_t",
}
PARENTS = {
    "GridCoordinates": "GridCoordinates_t",
    "Elements": "Elements_t",
    "Solution": "FlowSolution_t",
    "UserData": "UserDefinedData_t",
}
PENTA_6 = 14


def processes(how: How) -> int:
    return 1 if how.mode == "serial" else 2


def data_of(node: h5py.Group) -> Any:
    return node[" data"][()]


def label(node: h5py.Group) -> str:
    text: bytes = node.attrs["label"]
    return text.decode()


def cgnscheck(stack: Stack, path: Path) -> str:
    """What the library's own checker says; it must find no error."""
    program = ROOT / ".local" / "stacks" / stack.name / "bin" / "cgnscheck"
    words = [str(program), str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checking complete" in done.stdout
    assert "ERROR" not in done.stdout + done.stderr, done.stdout
    return done.stdout


Keeper = Callable[[Stack, How, list[str]], Path]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Keeper:
    """The file of a verified run, each made once."""
    made: dict[str, Path] = {}

    def get(stack: Stack, how: How, words: list[str]) -> Path:
        key = f"{stack.name}-{how}-{words[0]}"
        if key not in made:
            folder = tmp_path_factory.mktemp(key)
            document = folder / "result.json"
            asked = [*words, *how.options(), "--dir", str(folder), "--keep"]
            run = stack.run(*asked, processes=processes(how), document=document)
            assert run.good()["verification"]["verdict"] == "verified"
            made[key] = next(folder.glob("*.cgns"))
        return made[key]

    return get


# ---------------------------------------------------------------- the files


@pytest.mark.parametrize("how", HOWS, ids=str)
def test_unstructured_file(stack: Stack, how: How, kept: Keeper) -> None:
    path = kept(stack, how, UNSTRUCTURED)
    with h5py.File(path) as file:
        assert label(file["Base"]) == "CGNSBase_t"
        zone = file["Base/Zone000001"]
        assert label(zone) == "Zone_t"
        assert data_of(zone).ravel().tolist() == [NODES, ELEMENTS, 0]
        assert bytes(data_of(zone["ZoneType"])) == b"Unstructured"
        for name, right in PARENTS.items():
            assert label(zone[name]) == right
        assert data_of(zone["Elements"]).tolist() == [PENTA_6, 0]
        assert data_of(zone["Elements/ElementRange"]).tolist() == [1, ELEMENTS]
        for i, (name, right) in enumerate(ARRAYS.items()):
            key = model.key(1, i, 0)
            assert label(zone[name]) == right
            found = data_of(zone[name])
            if name.endswith("Connectivity"):
                wanted: Any = np.arange(1, NODES + 1, dtype=np.int64)
            else:
                wanted = (model.int64 if name.endswith("I") else model.float64)(key, NODES)
            assert found.dtype == wanted.dtype
            assert np.array_equal(found, wanted), name
    cgnscheck(stack, path)


@pytest.mark.parametrize("how", HOWS, ids=str)
def test_structured_file(stack: Stack, how: How, kept: Keeper) -> None:
    """A zone for each process, vertices and cells along each edge, the fastest one last."""
    path = kept(stack, how, STRUCTURED)
    with h5py.File(path) as file:
        zones = [name for name in file["Base"] if name.startswith("Zone")]
        assert zones == [f"Zone{i + 1:06}" for i in range(processes(how))]
        for i, name in enumerate(zones):
            zone = file["Base"][name]
            assert data_of(zone)[0].tolist() == list(ZONE)
            assert data_of(zone)[1].tolist() == [n - 1 for n in ZONE]
            for k, axis in enumerate("XYZ"):
                found = data_of(zone[f"GridCoordinates/Coordinate{axis}"])
                wanted = model.float32(model.key(1, 3 * i + k, 0), 0, int(np.prod(ZONE)))
                assert found.dtype == np.float32
                assert np.array_equal(found, wanted.reshape(ZONE[::-1])), f"{name} {axis}"
    cgnscheck(stack, path)


@pytest.mark.parametrize("how", HOWS, ids=str)
def test_a_wrong_byte_is_named(stack: Stack, how: How, kept: Keeper, tmp_path: Path) -> None:
    path = shutil.copy(kept(stack, how, UNSTRUCTURED), tmp_path)
    with h5py.File(path) as file:
        place = file["Base/Zone000001/Solution/MomentumY/ data"].id.get_offset() + 8 * 4321
    with Path(path).open("r+b") as raw:
        raw.seek(place)
        byte = raw.read(1)[0]
        raw.seek(place)
        raw.write(bytes([byte ^ 1]))
    line = read(stack, how, UNSTRUCTURED, tmp_path).error(1)
    assert "1 of" in line and "MomentumY[4321]" in line and f"byte {place} of" in line


# ---------------------------------------------------------------- how large


@pytest.mark.parametrize(
    ("words", "count", "size"),
    [
        # The 2005 paper prints 23.0 MB, 618 MB and 2.8 GB, and for reading 8.2, 57 and 417 MB.
        (["cgns-structured", "--zone", "50x50x50"], 16, 23.0 * 2**20),
        (["cgns-structured", "--zone", "150x150x150"], 16, 618 * 2**20),
        (["cgns-structured", "--zone", "250x250x250"], 16, 2.8 * 2**30),
        (["cgns-structured", "--one-block", "71x71x71", "--real", "float64"], 50, 8.2 * 2**20),
        (["cgns-structured", "--one-block", "135x135x135", "--real", "float64"], 50, 57 * 2**20),
        (["cgns-structured", "--one-block", "263x263x263", "--real", "float64"], 50, 417 * 2**20),
        # benchmark_hdf5's header: 3.375 TiB at 4096 processes.
        (["cgns-unstructured", "--elements", "8589934592"], 4096, 3.375 * 2**40),
    ],
    ids=lambda value: str(value),
)
def test_published_sizes(openmpi: Stack, words: list[str], count: int, size: float) -> None:
    done = openmpi.alone(*words, *CGNS, "--plan", "--procs", str(count))
    assert done.returncode == 0, done.stderr
    planned = int(done.stdout.split("payload")[1].split(":")[1].split()[0])
    # The payload; the files printed have nodes and a little alignment besides.
    assert planned == pytest.approx(size, rel=0.02)


def test_stretches(stack: Stack, tmp_path: Path) -> None:
    words = [*UNSTRUCTURED, *CGNS, "--dir", str(tmp_path), "--repeat", "2", "--phases"]
    run = stack.run(*words, document=tmp_path / "result.json")
    document = run.good()
    bytes_of = {"coordinates": 24, "elements": 8, "fields": 24, "arrays": 16}
    for sample in document["samples"]:
        for direction in ("write", "read"):
            found = sample[direction]["stretches"]
            assert {s["name"]: s["bytes"] for s in found} == {
                name: size * NODES for name, size in bytes_of.items()
            }
            assert all(0 < s["min"] <= s["mean"] <= s["max"] for s in found)
            assert sum(s["min"] for s in found) <= sample[direction]["phases"][direction]["max"]
            assert sample[direction]["phases"]["define"]["max"] > 0
    for name in bytes_of:
        assert f" write {name}" in run.stdout and f" read  {name}" in run.stdout


def test_no_more_than_one_extra_copy(stack: Stack, tmp_path: Path) -> None:
    """Against the same pattern without any I/O."""
    peaks = {}
    words = ["cgns-unstructured", "--elements", "100000", "--dir", str(tmp_path)]
    for how in (How("null", None), *HOWS):
        document = tmp_path / f"{how}.json"
        run = stack.run(*words, *how.options(), processes=1, document=document)
        memory = run.good()["memory"]
        assert memory["data"] == 432 * 100_000
        peaks[str(how)] = memory["peak_rss"]
    for how in HOWS:
        assert peaks[str(how)] - peaks["null"] < memory["data"] + (16 << 20)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        (
            ["s3d", "--grid", "8x6x4", *CGNS],
            ["writes meshes only", "use a pattern", "zones"],
        ),
        ([*UNSTRUCTURED, *CGNS, "--mode", "multi"], ["multi", "lacks", "CGNS 4.4", "collective"]),
        ([*UNSTRUCTURED, *CGNS, "--mode", "serial"], ["serial", "one process", "-n 1"]),
        (
            [*UNSTRUCTURED, *CGNS, "--hint", "hdf5_chunk=block"],
            ["hdf5_chunk", "use hdf5_coll_metadata"],
        ),
        ([*UNSTRUCTURED, *CGNS, "--hint", "hdf5_coll_metadata=1"], ["true or false"]),
        ([*UNSTRUCTURED, *CGNS, "--prefix", "ufs:"], ["--prefix ufs:", "omit the prefix"]),
        (["cgns-unstructured", "--elements", "0", *CGNS], ["--elements 0", "positive"]),
        (["cgns-structured", "--zone", "5x1x5", *CGNS], ["at least 2x2x2"]),
        (["cgns-structured", "--real", "float16", *CGNS], ["float16", "float32 or float64"]),
    ],
    ids=lambda value: str(value[-1]),
)
def test_usage(stack: Stack, words: list[str], holds: list[str], tmp_path: Path) -> None:
    check_usage(stack, words, holds, tmp_path)


def read(stack: Stack, how: How, words: list[str], folder: Path) -> Run:
    asked = [*words, *how.options(), "--read-only", "--dir", str(folder)]
    return stack.run(*asked, processes=processes(how))


@pytest.mark.parametrize("how", HOWS, ids=str)
@pytest.mark.parametrize("what", ["missing", "text", "truncated", "plain-hdf5", "other-size"])
def test_not_our_file(stack: Stack, what: str, how: How, kept: Keeper, tmp_path: Path) -> None:
    """Named, soon, and without a hang."""
    path = tmp_path / "unstructured_00000.cgns"
    words = UNSTRUCTURED
    if what == "text":
        path.write_text("not a mesh\n" * 1000)
    elif what == "plain-hdf5":
        with h5py.File(path, "w") as file:
            file["CoordinateX"] = np.zeros(NODES)
    elif what in ("truncated", "other-size"):
        shutil.copy(kept(stack, how, UNSTRUCTURED), path)
    if what == "truncated":
        os.truncate(path, path.stat().st_size // 2)
    if what == "other-size":
        words = ["cgns-unstructured", "--elements", str(ELEMENTS + 1)]
    line = read(stack, how, words, tmp_path).error(1)
    assert str(path) in line
    if what == "other-size":
        assert f"{NODES}, {ELEMENTS}" in line and f"{NODES + 6}, {ELEMENTS + 1}" in line


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    if os.geteuid():
        pytest.skip("a file system can be mounted by root only")
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={4 << 20}", "iogauge", str(place)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], capture_output=True)


@pytest.mark.parametrize("how", HOWS, ids=str)
def test_full(stack: Stack, how: How, small: Path) -> None:
    words = ["cgns-unstructured", "--elements", "40000", *how.options(), "--dir", str(small)]
    run = stack.run(*words, "--no-space-check", processes=processes(how))
    line = run.error(1)
    assert str(small) in line and "space" in line
    assert list(small.iterdir()) == []
