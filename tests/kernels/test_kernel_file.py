# SPDX-License-Identifier: BSD-3-Clause
"""Files like a user's: independent readers find the same names, dimensions, types and attributes as
in the user's file, and the values that the model computes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import iokernel_model as model
import netCDF4
import numpy as np
import pytest
from iokernel_stacks import Stack

from iogauge.cli.main import main as analysis

LAT, LON, COLUMNS = 13, 9, 40


@pytest.fixture(scope="module")
def users_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each type, a variable without dimensions, chunks, attributes of the file and of variables."""
    path = tmp_path_factory.mktemp("user") / "output.nc"
    lengths = {"time": None, "lev": 3, "lat": LAT, "lon": LON, "ncol": COLUMNS}
    with netCDF4.Dataset(path, "w") as file:
        for name, length in lengths.items():
            file.createDimension(name, length)
        file.setncatts({"title": "a run", "version": np.int32(3)})
        of = ("time", "lev", "lat", "lon")
        warm = file.createVariable("warm", "f4", of, chunksizes=(1, 3, 7, 9), fill_value=False)
        warm.setncatts({"units": "K", "valid_range": np.array([-1.5, 2], "f4")})
        warm[0:2] = 0
        file.createVariable("packed", "i2", of[1:]).scale_factor = 0.01
        kinds = {"level": "f8", "n8": "i1", "u8": "u1", "u16": "u2", "n32": "i4", "u32": "u4"}
        for name, kind in {**kinds, "n64": "i8", "u64": "u8", "letter": "S1"}.items():
            file.createVariable(name, kind, ("lat", "ncol"))
        file.createVariable("p0", "f8", ())
        file.createVariable("words", str, ("lat",))
    return path


@pytest.fixture(scope="module")
def like(users_file: Path) -> Path:
    out = users_file.with_name("output.like")
    words = ["replay", "like", str(users_file), "-o", str(out)]
    assert analysis([*words, "--length", "time=2", "--skip", "words"]) == 0
    return out


def write(stack: Stack, like: Path, folder: Path, *words: str, processes: int = 4) -> Any:
    folder.mkdir()
    return stack.run(
        "file", "--like", str(like), "--dir", str(folder), "--keep", *words,
        processes=processes, document=folder.with_suffix(".json"),
    ).good()  # fmt: skip


def right(document: Any, calm: int = 0) -> dict[str, Any]:
    """The values of each variable of a like-document, by the model."""
    lengths = {d["name"]: d["length"] for d in document["dimensions"]}
    found = {}
    for i, variable in enumerate(document["variables"]):
        shape = tuple(lengths[name] for name in variable["dimensions"])
        count = int(np.prod(shape))
        made = model.values(variable["type"], model.key(1, i, 0), count, calm)
        found[variable["name"]] = (
            made.view("S1").reshape(shape) if variable["type"] == "char" else (made.reshape(shape))
        )
    return found


GRID = ("--procs-grid", "2x2")
CYCLIC = ("--cut", "lat=2:cyclic:3,ncol=2:cyclic")


@pytest.mark.parametrize(
    ("method", "cut"), [("pnetcdf", GRID), ("pnetcdf", CYCLIC), ("netcdf4", CYCLIC)]
)
def test_netcdf(
    openmpi: Stack, users_file: Path, like: Path, tmp_path: Path, method: str, cut: Any
) -> None:
    document = write(openmpi, like, tmp_path / "d", "--method", method, *cut)
    assert document["verification"]["verdict"] == "verified"
    with (
        netCDF4.Dataset(users_file) as user,
        netCDF4.Dataset(tmp_path / "d" / "output.00000.nc") as made,
    ):
        made.set_auto_maskandscale(False)
        assert {n: len(d) for n, d in made.dimensions.items()} == {
            n: 2 if n == "time" else len(d) for n, d in user.dimensions.items()
        }
        assert made.ncattrs() == user.ncattrs() and made.version == 3 and made.title == "a run"
        assert list(made.variables) == [n for n in user.variables if n != "words"]
        for name, values in right(json.loads(like.read_text())).items():
            theirs, ours = user[name], made[name]
            assert ours.dtype == theirs.dtype and ours.dimensions == theirs.dimensions
            assert {k: np.array(ours.getncattr(k)).tolist() for k in ours.ncattrs()} == {
                k: np.array(theirs.getncattr(k)).tolist() for k in theirs.ncattrs()
            }
            ours.set_auto_chartostring(False)
            np.testing.assert_array_equal(ours[...], values)


@pytest.mark.parametrize("mode", ["collective", "independent"])
def test_hdf5(openmpi: Stack, like: Path, tmp_path: Path, mode: str) -> None:
    words = ("--method", "hdf5", "--mode", mode, *CYCLIC)
    write(openmpi, like, tmp_path / "d", *words, "--compressibility", "0.25")
    with h5py.File(tmp_path / "d" / "output.00000.h5") as made:
        assert made.attrs["title"] == b"a run" and made.attrs["version"] == 3
        assert made["warm"].chunks == (1, 3, 7, 9) and made["level"].chunks is None
        assert made["p0"].shape == () and made["letter"].dtype == np.dtype("S1")
        assert made["warm"].attrs["valid_range"].tolist() == [-1.5, 2]
        for name, values in right(json.loads(like.read_text()), calm=32).items():
            assert made[name].dtype == values.dtype
            np.testing.assert_array_equal(made[name][...], values)


def test_external32(stack: Stack, like: Path, tmp_path: Path) -> None:
    """Each type as the standard has it: big-endian, of the same size."""
    words = ("--method", "mpiio", "--mode", "external32", "--procs-grid", "1x2")
    document = write(stack, like, tmp_path / "d", *words, processes=2)
    assert document["verification"]["verdict"] == "verified"
    (file,) = (tmp_path / "d").iterdir()
    values = right(json.loads(like.read_text())).values()
    assert file.read_bytes() == b"".join(
        v.astype(v.dtype.newbyteorder(">")).tobytes() for v in values
    )


def test_a_list_of_points(openmpi: Stack, users_file: Path, tmp_path: Path) -> None:
    """Every third point to one process, a block to another, the rest to the third; a second
    file from the first one's document is the same through any method."""
    points = [list(range(1, 21, 3)), list(range(30, 41)), []]
    points[2] = sorted(set(range(1, COLUMNS + 1)) - {p for some in points for p in some})
    lines = [f"version 2001 npes 3 ndims 1 \n{COLUMNS}"]
    for i, some in enumerate(points):
        lines.append(f"{i} {len(some) + 1}\n0 {' '.join(map(str, reversed(some)))}")
    (tmp_path / "map.dat").write_text("\n".join(lines) + "\n")
    out = tmp_path / "listed.like"
    words = ["replay", "like", str(users_file), "-o", str(out), "--only", "u64", "--only", "n8"]
    assert analysis([*words, "--list", f"ncol={tmp_path / 'map.dat'}"]) == 0
    document = write(openmpi, out, tmp_path / "d", "--method", "mpiio", processes=3)
    cuts = document["asked"]["pattern_options"]["cuts"]
    assert cuts == {"ncol": {"processes": 3, "how": "list", "turn": 0}}
    values = right(json.loads(out.read_text()))
    (file,) = (tmp_path / "d").iterdir()
    found = np.fromfile(file, np.uint8)
    expected = np.concatenate([values[name].ravel().view(np.uint8) for name in ("n8", "u64")])
    np.testing.assert_array_equal(found, expected)
    folder = tmp_path / "posix"
    write(openmpi, out, folder, "--method", "posix", processes=3)
    own = np.fromfile(sorted(folder.iterdir())[1], np.uint8)
    mine = [values[name][:, [p - 1 for p in points[1]]] for name in ("n8", "u64")]
    np.testing.assert_array_equal(own, np.concatenate([v.ravel().view(np.uint8) for v in mine]))


def in_two(lines: str, numbers: list[list[int]]) -> str:
    text = f"version 2001 npes {len(numbers)} ndims 2 \n{lines}\n"
    return text + "".join(f"{i} {len(n)}\n{' '.join(map(str, n))}\n" for i, n in enumerate(numbers))


@pytest.mark.parametrize("lengths", ["13 9", "9 13"], ids=["as of C", "as of Fortran"])
def test_a_map_of_two_dimensions(
    stack: Stack, users_file: Path, tmp_path: Path, lengths: str
) -> None:
    """Two processes: all of `lat`, and uneven points of `lon` that lie apart."""
    of = [[0, 3, 4, 8], [1, 2, 5, 6, 7]]
    points = [[1 + y * LON + x for y in range(LAT) for x in some] for some in of]
    (tmp_path / "map").write_text(in_two(lengths, points))
    out = tmp_path / "two.like"
    words = ["replay", "like", str(users_file), "-o", str(out), "--only", "packed"]
    assert analysis([*words, "--list", f"lat,lon={tmp_path / 'map'}"]) == 0
    write(stack, out, tmp_path / "own", "--method", "posix", processes=2)
    write(stack, out, tmp_path / "d", "--method", "pnetcdf", processes=2)
    values = right(json.loads(out.read_text()))["packed"]
    for file, some in zip(sorted((tmp_path / "own").iterdir()), of, strict=True):
        mine = np.fromfile(file, "<i2").reshape(3, LAT, len(some))
        np.testing.assert_array_equal(mine, values[:, :, some])
    with netCDF4.Dataset(next((tmp_path / "d").iterdir())) as made:
        made.set_auto_maskandscale(False)
        np.testing.assert_array_equal(made["packed"][...], values)


def test_maps_that_are_no_grids(openmpi: Stack, users_file: Path, tmp_path: Path) -> None:
    """As E3SM's: each process has points of `lat` and `lon` together at no regular places, one has
    a single one, and another map stands for `ncol`. Who has none of a map's dimensions is cut in
    blocks, and a value alone is the first process's."""
    whose = np.array([(7 * i * i + i // 5) % 11 % 2 for i in range(LAT * LON)])
    whose[50] = 2
    of = [np.flatnonzero(whose == i) for i in range(3)]
    (tmp_path / "two").write_text(in_two("13 9", [(some + 1).tolist() for some in of]))
    columns = [list(range(1 + i, COLUMNS + 1, 3)) for i in range(3)]
    one = "".join(f"{i} {len(n)}\n{' '.join(map(str, n))}\n" for i, n in enumerate(columns))
    (tmp_path / "one").write_text(f"version 2001 npes 3 ndims 1 \n{COLUMNS}\n{one}")
    out = tmp_path / "maps.like"
    words = ["replay", "like", str(users_file), "-o", str(out), "--length", "time=4"]
    for name in ("packed", "warm", "n8", "p0"):
        words += ["--only", name]
    lists = ["--list", f"lat,lon={tmp_path / 'two'}", "--list", f"ncol={tmp_path / 'one'}"]
    assert analysis([*words, *lists]) == 0
    document = write(openmpi, out, tmp_path / "own", "--method", "posix", processes=3)
    cuts = document["asked"]["pattern_options"]["cuts"]
    assert cuts["lat"] == {"processes": 3, "how": "map", "dimensions": 2}
    values = right(json.loads(out.read_text()))
    for i, file in enumerate(sorted((tmp_path / "own").iterdir())):
        mine = [
            values["warm"].reshape(12, -1)[:, of[i]], values["packed"].reshape(3, -1)[:, of[i]],
            values["n8"][:, [p - 1 for p in columns[i]]],
            values["p0"] if i == 0 else values["p0"].ravel()[:0],
        ]  # fmt: skip
        expected = np.concatenate([some.ravel().view(np.uint8) for some in mine])
        np.testing.assert_array_equal(np.fromfile(file, np.uint8), expected)
    write(openmpi, out, tmp_path / "d", "--method", "pnetcdf", processes=3)
    with netCDF4.Dataset(next((tmp_path / "d").iterdir())) as made:
        made.set_auto_maskandscale(False)
        for name, some in values.items():
            np.testing.assert_array_equal(made[name][...], some)
    done = openmpi.alone("file", "--plan", "--procs", "2", "--like", str(out))
    assert done.returncode == 2 and "the decomposition map is for 3 processes" in done.stderr


def test_a_mesh(openmpi: Stack, tmp_path: Path) -> None:
    """A CGNS file becomes one of the same nodes and shapes, with the model's values."""
    (tmp_path / "user").mkdir()
    words = ["cgns-unstructured", "--elements", "50", "--method", "cgns", "--keep"]
    document = tmp_path / "user.json"
    openmpi.run(*words, "--dir", str(tmp_path / "user"), document=document).good()
    (theirs,) = (tmp_path / "user").iterdir()
    out = tmp_path / "mesh.like"
    assert analysis(["replay", "like", str(theirs), "-o", str(out)]) == 0
    how = ("--method", "cgns", "--cut", "longest")
    write(openmpi, out, tmp_path / "d", *how, processes=3)
    nodes: list[list[Any]] = [[], []]
    with h5py.File(theirs) as user, h5py.File(next((tmp_path / "d").iterdir())) as made:
        for file, found in zip((user, made), nodes, strict=True):
            file.visititems(
                lambda name, one, to=found: to.append(
                    (name, getattr(one, "shape", None), one.attrs.get("label"))
                )
            )
        values = right(json.loads(out.read_text()))
        assert nodes[0] == nodes[1] and len(values) == 9
        for name, some in values.items():
            np.testing.assert_array_equal(made[name + "/ data"][...], some.ravel())
    words = ["file", "--plan", "--procs", "2", "--like", str(out), "--method", "cgns"]
    done = openmpi.alone(*words, "--cut", "corners_6=2")
    assert done.returncode == 2 and "ElementConnectivity is split within an elem" in done.stderr


DIM = {"name": "x", "length": 4}
ONE = {"name": "v", "type": "int16", "dimensions": ["x"]}
NEW = {"format": "iogauge.like/1", "source": "a.nc", "dimensions": [DIM], "variables": [ONE]}


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({"format": "other/1"}, "not iogauge.like/1"),
        ({"dimensions": [{"name": "x", "length": 0}]}, "a dimension without name or length"),
        ({"dimensions": [DIM, DIM]}, "two dimensions x"),
        (
            {"dimensions": [{**DIM, "list": [[[0, 3]], [[2, 2]]]}]},
            "does not contain each point once",
        ),
        ({"maps": [{"dimensions": ["x"], "runs": [[[0, 3]], [[2, 2]]]}]}, "a map that does not"),
        ({"maps": [{"dimensions": ["y"], "runs": [[[0, 4]]]}]}, "a map that does not"),
        ({"variables": []}, "no variables"),
        ({"variables": [ONE, ONE]}, "two variables v"),
        ({"variables": [{**ONE, "type": "string"}]}, "unknown type of variable v"),
        ({"variables": [{**ONE, "dimensions": ["y"]}]}, "invalid dimensions or chunks"),
        ({"variables": [{**ONE, "chunk": [5]}]}, "invalid dimensions or chunks"),
        ({"variables": [{**ONE, "attributes": [{"name": "a"}]}]}, "invalid attribute"),
    ],
)
def test_a_wrong_document(openmpi: Stack, tmp_path: Path, change: Any, holds: str) -> None:
    (tmp_path / "a.like").write_text(json.dumps({**NEW, **change}))
    words = ["file", "--plan", "--method", "null", "--like", str(tmp_path / "a.like")]
    done = openmpi.alone(*words)
    assert done.returncode == 2
    assert holds in done.stderr and "written by iogauge replay like" in done.stderr


@pytest.mark.parametrize("name", ["", "/v", "v/", "a\nb", "a\x7fb", 256 * "v"])
def test_a_wrong_name(openmpi: Stack, tmp_path: Path, name: str) -> None:
    (tmp_path / "a.like").write_text(json.dumps({**NEW, "variables": [{**ONE, "name": name}]}))
    words = ["file", "--plan", "--method", "null", "--like", str(tmp_path / "a.like")]
    done = openmpi.alone(*words)
    assert done.returncode == 2 and "a variable without name" in done.stderr


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        (["--like", "/no/such"], "it cannot be read, or is not JSON"),
        (["--procs-grid", "2x"], "expected at most 5 positive integers"),
        (["--procs-grid", "3x2"], "lat=3,lon=2 gives 6 processes, this run has 4"),
        (["--procs-grid", "1x1x1x1x1"], "has 5 numbers, but the largest variable, temperature"),
        (["--procs-grid", "4x1x1x1"], "dimension time has 2 points for 4 processes"),
        (["--cut", "depth=4"], "no dimension depth"),
        (["--cut", "lat=4:round"], "expected DIMENSION=PROCESSES"),
        (["--cut", "lat=2,lat=2"], "dimension lat is given twice"),
        (["--cut", "lat=4:cyclic:4"], "fewer than one cycle of 4 processes with 4 points"),
        (["--cut", "lat=4", "--procs-grid", "4"], "are mutually exclusive"),
        (["--compressibility", "1.5"], "expected a number from 0 to 1"),
    ],
)
def test_a_wrong_option(openmpi: Stack, words: list[str], holds: str) -> None:
    done = openmpi.alone("file", "--plan", "--procs", "4", "--method", "null", *words)
    assert done.returncode == 2 and done.stderr.count("iokernel: error") == 1
    assert holds in done.stderr


def test_groups_of_netcdf4(openmpi: Stack, tmp_path: Path) -> None:
    variables = [{**ONE, "name": "a/b/v"}, {**ONE, "name": "a/w"}]
    like = tmp_path / "a.like"
    like.write_text(json.dumps({**NEW, "variables": variables}))
    write(openmpi, like, tmp_path / "d", "--method", "netcdf4", processes=2)
    (file,) = (tmp_path / "d").iterdir()
    with netCDF4.Dataset(file) as made:
        for name, values in right({**NEW, "variables": variables}).items():
            np.testing.assert_array_equal(made[name][...], values)


def test_groups_are_not_for_pnetcdf(openmpi: Stack, tmp_path: Path) -> None:
    document = {**NEW, "variables": [{**ONE, "name": "a/b/v"}]}
    (tmp_path / "a.like").write_text(json.dumps(document))
    words = ["file", "--plan", "--like", str(tmp_path / "a.like"), "--method", "pnetcdf"]
    assert "support groups (data set a/b/v)" in openmpi.alone(*words).stderr
    write(openmpi, tmp_path / "a.like", tmp_path / "d", "--method", "hdf5", processes=2)
    with h5py.File(tmp_path / "d" / "a.00000.h5") as made:
        assert made["a/b/v"].shape == (4,)
