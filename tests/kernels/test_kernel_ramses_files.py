# SPDX-License-Identifier: BSD-3-Clause
"""RAMSES dumps: files as RAMSES's readers expect them, shared files by their formats' readers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pytest
import ramses_reader as reader
from iokernel_stacks import HOWS, How, Stack
from numpy.typing import NDArray
from ramses_dump import (
    HEADERS,
    PATTERNS,
    STRUCTURES,
    check_blocks,
    dump,
    grids,
    hashed,
    make_own_files,
    payload,
    run,
    words,
)


@pytest.fixture(scope="module")
def own_files(openmpi: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_own_files(openmpi, tmp_path_factory.mktemp("ramses"))


def test_record_walk(own_files: Path) -> None:
    for step in range(2):
        amr = [reader.read_amr(dump(own_files, step, "amr", p)) for p in range(3)]
        hydro = [reader.read_hydro(dump(own_files, step, "hydro", p)) for p in range(3)]
        for a, h in zip(amr, hydro, strict=True):
            assert a.numbl == h.numbl
            assert (a.value("ncpu"), a.value("ndim"), a.value("nlevelmax")) == (3, 3, 6)
            assert (h.value("ncpu"), h.value("nvar"), h.value("nlevelmax")) == (3, 5, 6)
            assert a.header["nx"] == (1, 1, 1)
            assert a.value("ngrid_current") == sum(a.numbl.values()) <= a.value("ngridmax")
            assert a.header["nstep"] == (step + 1, step + 1)
            assert a.header["nout"] == (1, step + 1, step + 1)  # one asked for
            assert h.header["gamma"] == (1.4,)
            # Lists of grids: heads and tails enclose the numbers, and nothing overlaps.
            taken = 0
            for i, count in enumerate(a.header["numbl"]):
                head, tail = a.header["headl"][i], a.header["taill"][i]
                assert (head, tail) == ((taken + 1, taken + count) if count else (0, 0))
                taken += int(count)
        check_blocks(amr, "ramses-amr", step)
        check_blocks(hydro, "ramses-hydro", step)
        for level in range(6):  # what is owned is counted once
            owned = [file.numbl[level, p] for p, file in enumerate(amr)]
            numbtot = amr[0].header["numbtot"][10 * level : 10 * level + 4]
            assert numbtot == (sum(owned), min(owned), max(owned), sum(owned) // 3)


def test_levels_are_uneven_and_some_are_empty(own_files: Path) -> None:
    files = [reader.read_amr(dump(own_files, 0, "amr", p)) for p in range(3)]
    held = {
        level: [sum(file.numbl[level, cpu] for cpu in range(3)) for file in files]
        for level in range(6)
    }
    assert any(len(set(counts)) > 1 for level, counts in held.items() if level < 4)
    for level in (4, 5):  # refined: process 0, and every fourth
        assert held[level][0] > 0 and held[level][1:] == [0, 0]


def test_text_files(own_files: Path) -> None:
    values, domains = reader.read_info(own_files / "output_00002" / "info_00002.txt")
    assert (values["ncpu"], values["ndim"], values["levelmin"]) == ("3", "3", "4")
    assert (values["levelmax"], values["ordering type"]) == ("6", "bisection")
    assert float(values["boxlen"]) == 1 and float(values["time"]) == pytest.approx(0.02)
    header = reader.read_amr(dump(own_files, 1, "amr", 0)).header
    for i in range(3):  # corners, and cells of the finest full level
        low, high = header["box_min"][i::3], header["box_max"][i::3]
        cells = math.prod(b - a for a, b in zip(low, high, strict=True)) * 16**3
        assert domains[7 * i : 7 * i + 7] == pytest.approx([*low, *high, cells])
    lines = (own_files / "output_00001" / "header_00001.txt").read_text().splitlines()
    assert lines[0].split() == ["#", "Family", "Count"] and lines[7].split() == ["DM", "0"]
    gas = (own_files / "output_00001" / "hydro_file_descriptor.txt").read_text().splitlines()
    assert gas[:2] == ["# version:  1", "# ivar, variable_name, variable_type"]
    assert gas[2:] == [f"{i:2d}, {name}, d" for i, name in enumerate(reader.VARIABLES, 1)]


SHARED = [
    *(how for how in HOWS if how.method in ("hdf5", "pnetcdf") and how.mode == "collective"),
    *(how for how in HOWS if how.method == "posix-shared"),
]


def arrays(path: Path, pattern: str, levels: int, processes: int) -> dict[str, NDArray[Any]]:
    """The data sets of a shared file, by its format's own reader; raw: one after the other."""
    if path.suffix == ".h5":
        with h5py.File(path) as file:
            return {name: file[name][...] for name in file}
    if path.suffix == ".nc":
        with netCDF4.Dataset(path) as file:
            assert file.data_model == "NETCDF3_64BIT_DATA"
            return {name: np.asarray(v[...].data) for name, v in file.variables.items()}
    table = (processes, levels, processes)
    shapes = {
        "ramses-amr": {
            "header_int": ("<i4", (14,)), "header_float": ("<f8", (22,)),
            "numbtot": ("<i4", (levels, 10)), "ordering": ("u1", (128,)),
            "memory": ("<i4", (processes, 8)), "headl": ("<i4", table),
            "taill": ("<i4", table), "numbl": ("<i4", table),
        },
        "ramses-hydro": {
            "header_int": ("<i4", (5,)), "gamma": ("<f8", (1,)), "numbl": ("<i4", table),
            "numbb": ("<i4", (processes, levels, 100)),
        },
    }[pattern]  # fmt: skip
    data, at = path.read_bytes(), 0
    found: dict[str, NDArray[Any]] = {}
    for name, (kind, shape) in shapes.items():
        count = math.prod(shape)
        found[name] = np.frombuffer(data, kind, count, at).reshape(shape)
        at += found[name].nbytes
    total = int(found["numbl"].sum())
    for name, letter, n in STRUCTURES[pattern]:
        kind = "<f8" if letter == "d" else "<i4"
        found[name] = np.frombuffer(data, kind, n * total, at).reshape(
            (n, total) if n > 1 else total
        )
        at += found[name].nbytes
    assert at == len(data)
    return found


@pytest.mark.parametrize("more", [(), ("--layout", "process-major", "--refine", "--merge-levels")])
@pytest.mark.parametrize("how", SHARED, ids=str)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_shared_files(
    stack: Stack, pattern: str, how: How, more: tuple[str, ...], tmp_path: Path
) -> None:
    found = run(stack, 2, *words(pattern, how, tmp_path, "--keep", *more), folder=tmp_path).good()
    if not more:
        assert found["payload"]["bytes"] == payload(pattern, 16, 2)
    (path,) = (p for p in tmp_path.iterdir() if p.name != "result.json")
    assert path.stem == f"{pattern.removeprefix('ramses-')}_00001"
    levels = 6 if "--refine" in more else 4
    data = arrays(path, pattern, levels, 2)
    total = int(data["numbl"].sum())
    assert data["numbl"].shape == (2, levels, 2)
    assert more or total == grids(16, 2)
    for index, (name, kind, components) in enumerate(STRUCTURES[pattern]):
        assert data[name].shape == ((components, total) if components > 1 else (total,))
        right = hashed(kind, HEADERS[pattern][0] + index, 0, 0, components * total)
        assert data[name].ravel().tolist() == right, name
    assert data["header_int"].tolist()[:2] == ([2, 3] if "amr" in pattern else [2, 5])
    if "amr" in pattern:
        assert bytes(data["ordering"].tobytes()).decode().rstrip() == "bisection"
        assert data["memory"].shape == (2, 8)
