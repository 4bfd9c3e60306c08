# SPDX-License-Identifier: BSD-3-Clause
"""`plan-like`: files of other libraries become the document that is written down here."""

from __future__ import annotations

import json
import mmap
import os
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest

from iogauge.analysis.file_import import files
from iogauge.cli.main import main

CDL = """\
netcdf ocean {  // a comment
dimensions:
\ttime = UNLIMITED ; // (5 currently)
\tx = 4 ;
\ty = 3 ;
variables:
\tfloat temp(time, y, x) ;
\t\ttemp:units = "degC; at depth" ;
\t\ttemp:_FillValue = 1.e+20f ;
\t\ttemp:range = -2b, 3b ;
\t\ttemp:_ChunkSizes = 1, 3, 4 ;
\t\ttemp:_DeflateLevel = 4 ;
\tushort mask(y, x) ;
\tint64 count ;
\t\tcount:big = 9000000000LL ;

// global attributes:
\t\t:title = "a \\"run\\"" ;
\t\t:_Format = "netCDF-4" ;
data:
 mask = 1, 2 ;
}
"""
WARM = {
    "name": "temp",
    "type": "float32",
    "dimensions": ["time", "y", "x"],
    "chunk": [1, 3, 4],
    "filters": [["deflate", 4]],
    "attributes": [
        {"name": "units", "type": "char", "values": "degC; at depth"},
        {"name": "_FillValue", "type": "float32", "values": 1e20},
        {"name": "range", "type": "int8", "values": [-2, 3]},
    ],
}


def plan(path: Path, *words: str) -> Any:
    out = path.with_suffix(".like")
    assert main(["replay", "like", str(path), "-o", str(out), *words]) == 0
    return json.loads(out.read_text())


def test_cdl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ocean.cdl"
    path.write_text(CDL)
    found = plan(path, "--length", "time=2")
    assert found == {
        "format": "iogauge.like/1",
        "source": str(path),
        "dimensions": [
            {"name": "time", "length": 2}, {"name": "x", "length": 4}, {"name": "y", "length": 3},
        ],
        "variables": [
            WARM,
            {"name": "mask", "type": "uint16", "dimensions": ["y", "x"], "attributes": []},
            {"name": "count", "type": "int64", "dimensions": [],
             "attributes": [{"name": "big", "type": "int64", "values": 9000000000}]},
        ],
        "attributes": [{"name": "title", "type": "char", "values": 'a "run"'}],
    }  # fmt: skip
    said = capsys.readouterr().out
    assert f"{2 * 12 * 4 + 12 * 2 + 8} bytes" in said


def test_hdf5(tmp_path: Path) -> None:
    """Dimensions are named by place and length; a value that is no number of JSON is a text."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        made = file.create_dataset("in/side", (3, 4, 4), "<i2", chunks=(1, 2, 4))
        made.attrs["missing"] = np.array([np.nan, 1], "f4")
        file["in/name"] = "text"
    found = plan(path, "--skip", "in/name")
    assert [tuple(d.values()) for d in found["dimensions"]] == [
        ("axis3_3", 3), ("axis2_4", 4), ("axis1_4", 4),
    ]  # fmt: skip
    (one,) = found["variables"]
    assert one["type"] == "int16" and one["chunk"] == [1, 2, 4]
    assert one["attributes"] == [{"name": "missing", "type": "float32", "values": ["nan", 1.0]}]
    assert "chunk" not in plan(path, "--skip", "in/name", "--contiguous")["variables"][0]


PARTICLE = [
    {"name": "pos", "type": "float32", "shape": [3]},
    {"name": "id", "type": "int64", "shape": []},
]


def test_compounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From HDF5 (with gaps, which are said), NetCDF-4, and the text of either."""
    kind = np.dtype([("pos", "f4", (3,)), ("id", "i8")], align=True)
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("p", (7,), kind)
    (one,) = plan(path)["variables"]
    assert (one["type"], one["members"]) == ("compound", PARTICLE)
    said = capsys.readouterr().out
    assert f"{7 * 20} bytes" in said and "the gaps between its members are left out" in said
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as dataset:
        dataset.createDimension("n", 7)
        made = dataset.createCompoundType(kind, "particle")
        dataset.createVariable("p", made, ("n",))
    (one,) = plan(path)["variables"]
    assert one["members"] == PARTICLE and one["dimensions"] == ["n"]
    path = tmp_path / "a.cdl"
    types = "types:\n  ubyte enum e {A = 0} ;\n  compound t {\n    float pos(3) ;\n"
    types += "    int64 id ;\n  }; // t\n"
    path.write_text(f"netcdf a {{\n{types}dimensions:\n\tn = 7 ;\nvariables:\n\tt p(n) ;\n}}\n")
    assert plan(path)["variables"] == [{**one, "attributes": []}]


def test_filters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of both libraries and of the text, in the kernels' order; what these lack is said."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "v", (8, 9), "f4", chunks=(8, 9), fletcher32=True, shuffle=True,
            compression="gzip", compression_opts=7,
        )  # fmt: skip
        file.create_dataset("w", (8, 9), "f4", chunks=(4, 9), compression="lzf")
    v, w = plan(path)["variables"]
    assert v["filters"] == [["shuffle", 0], ["deflate", 7], ["fletcher32", 0]]
    assert "filters" not in w and w["chunk"] == [4, 9]
    assert "variable w: filter lzf (32000) is left out" in capsys.readouterr().out
    assert "filters" not in plan(path, "--contiguous")["variables"][0]
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as dataset:
        dataset.createDimension("x", 64)
        dataset.createVariable("z", "f8", ("x",), compression="zstd", complevel=5)
        dataset.createVariable("s", "f8", ("x",), compression="szip", szip_pixels_per_block=8)
    z, s = plan(path)["variables"]
    assert z["filters"] == [["zstd", 5]]
    assert s["filters"] == [["szip", 8]]
    path = tmp_path / "a.cdl"
    more = ':_Shuffle = "true" ;\n\t\ttemp:_Filter = "32015,5|307,9" ;'
    path.write_text(CDL.replace(":_DeflateLevel = 4 ;", more))
    warm = plan(path, "--length", "time=2")["variables"][0]
    assert warm["filters"] == [["shuffle", 0], ["zstd", 5]]
    assert "variable temp: filter 307 (307) is left out" in capsys.readouterr().out


def hdf5(**what: Any) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file.create_dataset("v", **what)

    return make


def classic(path: Path) -> None:
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("time", None)
        file.createVariable("v", "f4", ("time",))


def text(some: str) -> Callable[[Path], None]:
    return lambda path: void(path.write_bytes(some.encode("latin-1")))


def void(_: object) -> None:
    pass


ENUM = h5py.enum_dtype({"A": 0})
PAIR = np.dtype([("x", [("re", "f8"), ("im", "f8")])])
NAMED = np.dtype([("x", "f8"), ("name", "S8")])


@pytest.mark.parametrize(
    ("make", "words", "holds"),
    [
        (void, [], "No such file or directory"),
        (text("hello"), [], "expected a file of NetCDF or HDF5, or the text of ncdump -h"),
        (text(CDL[:200]), [], "is not understood; expected what `ncdump -h` prints"),
        (text("\x89HDF\r\n\x1a\n"), [], "expected a whole NetCDF or HDF5 file"),
        (text(CDL), [], "dimension time is unlimited, with 5 records now"),
        (classic, [], "dimension time is unlimited, with 0 records now"),
        (text(CDL), ["--length", "z=2"], "no dimension z; it has time, x, y"),
        (text(CDL), ["--length", "time=0"], "--length time=0: expected a whole number above 0"),
        (text(CDL), ["--only", "salt"], "no variable salt; it has temp, mask, count"),
        (hdf5(shape=(0, 3), dtype="f4"), [], "dimension axis2_0 has length 0"),
        (hdf5(shape=(2,) * 6, dtype="f4"), [], "variable v has 6 dimensions; expected at most 5"),
        (hdf5(shape=(2,), dtype=h5py.string_dtype()), [], "variable v holds strings"),
        (hdf5(shape=(2,), dtype=ENUM), [], "variable v holds an enum"),
        (hdf5(shape=(2,), dtype=PAIR), [], "v holds a compound within a compound"),
        (hdf5(shape=(2,), dtype=NAMED), [], "variable v holds a compound with strings in it"),
        (hdf5(shape=(), dtype=[("x", "f8")]), [], "a compound of 8 bytes with 0 dimensions"),
        (hdf5(shape=(2,), dtype=[("x", "f8", (600,))]), [], "a compound of 4800 bytes"),
        (hdf5(shape=(2,), dtype=h5py.ref_dtype), [], "variable v holds references"),
        (hdf5(shape=(2,), dtype="f2"), [], "variable v holds values of float16"),
        (hdf5(shape=(2,), dtype="f4"), ["--list", "axis1_2=/no"], "/no: cannot be read"),
    ],
)
def test_what_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Any, words: list[str], holds: str
) -> None:
    path = tmp_path / "a.file"
    make(path)
    assert main(["replay", "like", str(path), "-o", str(tmp_path / "out"), *words]) == 3
    said = capsys.readouterr().err
    assert holds in said and said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def endless(path: Path) -> None:
    """The type of an attribute is missing, so its text is its length."""
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        file.title = "hello"
    name, data = b"title\0\0\0", path.read_bytes()
    assert data.count(name + b"\0\0\0\2") == 1
    path.write_bytes(data.replace(name + b"\0\0\0\2", name))


@pytest.mark.parametrize("crashes", [False, True])
def test_a_library_that_does_not_come_back(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    crashes: bool,
) -> None:
    path = tmp_path / "a.file"
    monkeypatch.setattr(files, "SECONDS", 1)
    if crashes:
        hdf5(shape=(2,), dtype="f4")(path)
        monkeypatch.setattr(files, "_hdf5", lambda path: os.kill(os.getpid(), signal.SIGKILL))
    else:
        endless(path)
    assert main(["replay", "like", str(path), "-o", str(tmp_path / "out")]) == 3
    why = "its library crashed, or did not end in 1 s of CPU time"
    assert f"{path}: cannot be read ({why})" in capfd.readouterr().err


def test_what_the_parent_has_mapped_is_no_memory_of_the_library(tmp_path: Path) -> None:
    hdf5(shape=(2,), dtype="f4")(path := tmp_path / "a.h5")
    with mmap.mmap(-1, 2 * files.MOST_MEMORY, mmap.MAP_PRIVATE, mmap.PROT_READ):
        assert main(["replay", "like", str(path), "-o", str(tmp_path / "out")]) == 0


def test_all_that_cannot_be_is_named_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, words = tmp_path / "a.h5", ["-o", str(tmp_path / "o")]
    with h5py.File(path, "w") as file:
        file["right"], file["half"], file["two words"] = [1.0], np.zeros(2, "f2"), ["a"]
    assert main(["replay", "like", str(path), *words]) == 3
    skip = capsys.readouterr().err.partition("expected numbers or characters: ")[2]
    assert skip == "--skip half --skip 'two words'\n"
    assert main(["replay", "like", str(path), *words, *shlex.split(skip)]) == 0


def cgns_node(parent: h5py.Group, name: str, label: str, data: Any = None) -> h5py.Group:
    """As the SIDS File Mapping Manual has it."""
    node = parent.create_group(name)
    node.attrs["label"] = np.bytes_(label)
    if data is not None:
        node[" data"] = data
    return node


def test_cgns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two zones, in the order in which method cgns takes arrays; what it cannot write is named."""
    path = tmp_path / "mesh.cgns"
    with h5py.File(path, "w") as file:
        cgns_node(file, "CGNSLibraryVersion", "CGNSLibraryVersion_t", np.array([3.4], "f4"))
        base = cgns_node(file, "Base", "CGNSBase_t", np.array([3, 3], "i4"))
        cgns_node(base, "State", "ReferenceState_t")
        for name, shape in (("a wing", (4, 3, 2)), ("tail", (24,))):
            zone = cgns_node(base, name, "Zone_t", np.zeros((3, len(shape)), "i8"))
            flow = cgns_node(zone, "Flow", "FlowSolution_t")
            cgns_node(flow, "Density", "DataArray_t", np.zeros(shape))
            cgns_node(flow, "Cells", "DataArray_t", np.zeros([n - 1 for n in shape], "f4"))
            grid = cgns_node(zone, "GridCoordinates", "GridCoordinates_t")
            cgns_node(grid, "CoordinateX", "DataArray_t", np.zeros(shape))
        for name, kind, corners in (("Face", 7, 4), ("Hexa", 17, 8), ("More", 17, 8)):
            some = cgns_node(zone, name, "Elements_t", np.array([kind, 0], "i4"))
            cgns_node(some, "ElementConnectivity", "DataArray_t", np.zeros(5 * corners, "i8"))
    found = plan(path)
    placed = [
        (one["zone"], one["role"], one["node"], one["dimensions"])
        for one in found["variables"]
        if "zone" in one
    ]
    assert placed == [
        (0, "coordinate", "CoordinateX", ["axis3_4", "axis2_3", "axis1_2"]),
        (0, "field", "Density", ["axis3_4", "axis2_3", "axis1_2"]),
        (1, "coordinate", "CoordinateX", ["axis1_24"]),
        (1, "field", "Density", ["axis1_24"]),
        (1, "connectivity", "Hexa", ["elements_5", "corners_8"]),
    ]
    said = capsys.readouterr().out
    assert said.count("Cells: method cgns cannot write it: its values are not at vertices") == 2
    assert "More/ElementConnectivity: method cgns cannot write it: its zone has another" in said
    assert "Face/ElementConnectivity: method cgns cannot write it: its elements are of" in said
    assert "CGNS: 9 arrays of zones" in said
    only = plan(path, "--only", "Base/tail/GridCoordinates/CoordinateX")["variables"]
    assert [one["zone"] for one in only] == [0]


def test_what_a_file_of_hdf5_may_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A user block, links that lead nowhere, and virtual data sets."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", userblock_size=1024) as file:
        file["data"] = np.arange(6.0)
        file["lost"] = h5py.SoftLink("/nowhere")
        file["in/far"] = h5py.ExternalLink("gone.h5", "/x")
        layout = h5py.VirtualLayout((6,), "f8")
        layout[:] = h5py.VirtualSource(path, "data", (6,))
        file.create_virtual_dataset("view", layout)
        file.create_dataset("apart", (6,), "f8", external=[("gone.raw", 0, 48)])
    path.write_bytes(b"# my own header\n".ljust(1024) + path.read_bytes()[1024:])
    found = plan(path)
    assert [(one["name"], one["type"]) for one in found["variables"]] == [
        ("apart", "float64"), ("data", "float64"), ("view", "float64"),
    ]  # fmt: skip
    said = capsys.readouterr().out
    assert "link /lost to /nowhere: is left out" in said and "link in/far to gone.h5 /x" in said
    assert "variable view: a virtual data set, which becomes a plain one" in said
    assert "variable apart: a data set in other files, which becomes a plain one" in said


@pytest.mark.parametrize(
    ("kind", "says"),
    [("c16", "complex128"), ("f2", "float16"), ("?", "bool"), ("S10", "strings")],
)
def test_types_that_no_pattern_holds_are_named(
    kind: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("odd", (4,), kind)
    assert main(["replay", "like", str(path), "-o", str(tmp_path / "o")]) != 0
    said = capsys.readouterr().err
    assert "variable odd" in said and says in said and "--skip odd" in said


def odd_kind(name: str) -> h5py.h5t.TypeID:
    """Types that h5py cannot express in NumPy's, or only as larger ones."""
    if name == "time":
        return h5py.h5t.UNIX_D32LE
    kind = (h5py.h5t.IEEE_F32LE if name == "bfloat16" else h5py.h5t.STD_I32LE).copy()
    if name == "bfloat16":
        kind.set_fields(15, 7, 8, 0, 7)
    else:
        kind.set_precision(24)
    kind.set_size(2 if name == "bfloat16" else 3)
    return kind


@pytest.mark.parametrize("name", ["time", "int24", "bfloat16"])
def test_types_that_numpy_lacks_are_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a data set they are refused, of an attribute left out."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        space = h5py.h5s.create_simple((4,))
        h5py.h5d.create(file.id, b"odd", odd_kind(name), space)
        file["plain"] = np.arange(3.0)
        h5py.h5a.create(file["plain"].id, b"kind", odd_kind(name), space)
    assert main(["replay", "like", str(path), "-o", str(tmp_path / "o")]) == 3
    said = capsys.readouterr().err
    assert "variable odd holds values of" in said and "that NumPy lacks" in said
    (one,) = plan(path, "--skip", "odd")["variables"]
    assert one["name"] == "plain" and (not one["attributes"] or name == "bfloat16")


def test_a_link_that_leads_nowhere_in_netcdf_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as dataset:
        dataset.createGroup("inner")
    with h5py.File(path, "a") as file:
        file["inner/gone"] = h5py.ExternalLink("no.h5", "/where")
    assert main(["replay", "like", str(path), "-o", str(tmp_path / "o")]) == 3
    assert "link /inner/gone leads to /where" in capsys.readouterr().err
