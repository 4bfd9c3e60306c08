"""RAMSES dumps: sizes as printed in 2011, files as its readers expect them, wrong bytes by name."""

from __future__ import annotations

import json
import math
import resource
import struct
import subprocess
import time
from itertools import accumulate
from pathlib import Path
from typing import Any

import h5py
import iokernel_model as model
import netCDF4
import numpy as np
import pytest
import ramses_reader as reader
from iokernel_stacks import HOWS, How, Run, Stack
from numpy.typing import NDArray

GIB = 2**30
PATTERNS = ["ramses-amr", "ramses-hydro"]
STRUCTURES = {
    "ramses-amr": [
        ("next", "i", 1), ("prev", "i", 1), ("xg", "d", 3), ("father", "i", 1), ("nbor", "i", 6),
        ("son", "i", 8), ("cpu_map", "i", 8), ("flag1", "i", 8),
    ],
    "ramses-hydro": [(name, "d", 8) for name in reader.VARIABLES],
}  # fmt: skip
# Data sets before the grids: in shared files, in a process's own file.
HEADERS = {"ramses-amr": (8, 29), "ramses-hydro": (4, 7)}


def grids(size: int, processes: int) -> int:
    """The size model, for powers of two."""
    edges = [1, 1, 1]
    for i in range(processes.bit_length() - 1):
        edges[i % 3] *= 2
    total = 26 * processes
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


def plan(stack: Stack, pattern: str, *words: str, method: str = "mpiio") -> dict[str, Any]:
    done = stack.alone(pattern, *words, "--method", method, "--plan", "--json", "-")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("pattern", "size", "processes", "printed"),
    [
        ("ramses-amr", 128, 1024, 0.213),
        ("ramses-amr", 256, 1024, 0.707),
        ("ramses-amr", 512, 1024, 3.814),
        ("ramses-amr", 1024, 1024, 25.860),
        ("ramses-amr", 2048, 1024, 191.8),
        ("ramses-hydro", 128, 1024, 0.299),
        ("ramses-hydro", 256, 1024, 1.292),
        ("ramses-hydro", 512, 1024, 7.646),
        # Printed as that of 1024 processes, where the model gives 52.85: see the project's notes.
        ("ramses-hydro", 1024, 128, 49.150),
        ("ramses-hydro", 2048, 1024, 393.2),
        ("ramses-hydro", 1024, 2048, 54.9),
    ],
)
def test_printed_sizes(
    openmpi: Stack, pattern: str, size: int, processes: int, printed: float
) -> None:
    words = ["--size", str(size), "--procs", str(processes)]
    found = plan(openmpi, pattern, *words)
    assert found["bytes"] / GIB == pytest.approx(printed, rel=0.005)
    assert found["bytes"] == payload(pattern, size, processes)
    levels = size.bit_length() - 1
    assert found["calls_per_process"] == 1 + (36 if "amr" in pattern else 40) * levels
    merged = plan(openmpi, pattern, *words, "--merge-levels")
    assert merged["calls_per_process"] == 1 + (8 if "amr" in pattern else 5)
    assert merged["bytes"] == found["bytes"]


@pytest.mark.parametrize("method", ["mpiio", "posix"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_plan_of_a_large_machine_is_quick_and_small(
    openmpi: Stack, pattern: str, method: str
) -> None:
    words = ["--size", "2048", "--procs", "16384", "--method", method, "--plan"]
    began = time.monotonic()
    done = subprocess.run(
        [str(openmpi.iokernel), pattern, *words],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (500_000_000, 500_000_000)),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 2


# ------------------------------------------------------------------------------ files and readers


def words(pattern: str, how: How, folder: Path, *more: str, size: int = 16) -> list[str]:
    return [pattern, "--size", str(size), *how.options(), "--dir", str(folder), *more]


def run(stack: Stack, processes: int, *command: str, folder: Path) -> Run:
    return stack.run(*command, processes=processes, document=folder / "result.json")


def hashed(kind: str, dataset: int, step: int, first: int, count: int) -> list[Any]:
    of = model.key(1, dataset, step)
    if kind == "d":
        return list(model.float64(of, first + count)[first:].tolist())
    return list(model.int32(of, first, count).tolist()) if count else []


POSIX = How("posix", None)


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


@pytest.fixture(scope="module")
def own_files(openmpi: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two dumps of three processes, mesh and gas in the same directories, as RAMSES leaves them."""
    folder = tmp_path_factory.mktemp("ramses")
    for pattern in PATTERNS:
        command = words(pattern, POSIX, folder, "--refine", "--steps", "2", "--keep")
        found = run(openmpi, 3, *command, folder=folder).good()
        assert found["verification"]["verdict"] == "verified"
        assert found["file_count"] == 2 * (3 + 2)
    return folder


def dump(folder: Path, step: int, kind: str, process: int) -> Path:
    number = f"{step + 1:05d}"
    return folder / f"output_{number}" / f"{kind}_{number}.out{process + 1:05d}"


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
            assert a.ordering == "hilbert"
            assert a.header["nstep"] == (step + 1, step + 1)
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
    assert (values["levelmax"], values["ordering type"]) == ("6", "hilbert")
    assert float(values["boxlen"]) == 1 and float(values["time"]) == pytest.approx(0.02)
    keys = reader.read_amr(dump(own_files, 1, "amr", 0)).header["bound_key"]
    assert [d[0] for d in domains] == [1, 2, 3]
    assert [d[1] for d in domains] + [domains[-1][2]] == pytest.approx(keys)
    header = (own_files / "output_00001" / "header_00001.txt").read_text().splitlines()
    assert header[0].strip() == "Total number of particles" and header[1].strip() == "0"


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
    data, at, found = path.read_bytes(), 0, {}
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
        assert bytes(data["ordering"].tobytes()).decode().rstrip() == "hilbert"
        assert data["memory"].shape == (2, 8)


@pytest.mark.parametrize("group", ["1", "2", "7"])
def test_token(openmpi: Stack, group: str, tmp_path: Path) -> None:
    command = words("ramses-hydro", POSIX, tmp_path, "--io-group", group, size=8)
    found = run(openmpi, 5, *command, folder=tmp_path).good()
    assert found["verification"]["verdict"] == "verified"
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_more_processes_than_grids_on_a_level(openmpi: Stack, tmp_path: Path) -> None:
    """Level 1 has one grid, level 2 eight. Nine processes: no power of two either."""
    for how in (POSIX, How("mpiio", "collective")):
        command = words("ramses-amr", how, tmp_path, size=8)
        found = run(openmpi, 9, *command, folder=tmp_path).good()
        assert found["verification"]["verdict"] == "verified"


# ------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--size", "100"], ["--size 100", "power of two from 8 to 2048"]),
        (["--size", "4"], ["--size 4", "power of two from 8 to 2048"]),
        (["--size", "4096"], ["--size 4096", "power of two from 8 to 2048"]),
        (["--size", "x"], ["--size"]),
        (["--layout", "bogus"], ["bogus", "level-major or process-major"]),
        (["--io-group", "2"], ["--io-group", "--method posix"]),
        (["--method", "posix", "--layout", "level-major"], ["--layout", "posix"]),
        (["--method", "posix", "--merge-levels"], ["--merge-levels", "posix"]),
        (["--method", "posix", "--io-group", "0"], ["--io-group"]),
    ],
)
def test_usage(openmpi: Stack, more: list[str], said: list[str], tmp_path: Path) -> None:
    method = [] if "--method" in more else ["--method", "mpiio"]
    line = openmpi.run("ramses-amr", *method, *more, "--dir", str(tmp_path)).error(2)
    assert all(word in line for word in said), line
    assert not list(tmp_path.iterdir())


def read_back(stack: Stack, own_files: Path, to: Path, pattern: str = "ramses-amr") -> Run:
    command = words(pattern, POSIX, own_files, "--refine", "--steps", "2", "--read-only", "--keep")
    return stack.run(*command, processes=3, document=to / "result.json")


def changed(path: Path, offset: int) -> bytes:
    """Flips the lowest bit of a byte; returns what was there."""
    old = path.read_bytes()
    path.write_bytes(old[:offset] + bytes([old[offset] ^ 1]) + old[offset + 1 :])
    return old


def test_wrong_value_is_named(openmpi: Stack, own_files: Path, tmp_path: Path) -> None:
    path = dump(own_files, 1, "amr", 1)
    file = reader.read_amr(path)
    (level, cpu), place = max(file.places.items())
    count = file.numbl[level, cpu]
    xg = place + 3 * (4 * count + 8) + (8 * count + 8) + 4  # three int records, x, and y's mark
    old = changed(path, xg + 8 * (count - 1))
    done = read_back(openmpi, own_files, tmp_path)
    path.write_bytes(old)
    first = done.result()["verification"]["first"]
    assert (first["dataset"], first["offset"]) == ("xg", xg + 8 * (count - 1))
    assert first["file"] == str(path) and first["index"][0] == 1
    assert done.status == 1 and "data set xg[1," in done.errors()[0]


@pytest.mark.parametrize(
    ("offset", "name", "expected", "found"), [(4, "ncpu", 3, 2), (16, "ndim", 3, 2)]
)
def test_wrong_fact_is_named(
    openmpi: Stack,
    own_files: Path,
    tmp_path: Path,
    offset: int,
    name: str,
    expected: int,
    found: int,
) -> None:
    path = dump(own_files, 0, "amr", 2)
    old = changed(path, offset)
    done = read_back(openmpi, own_files, tmp_path)
    path.write_bytes(old)
    first = done.result()["verification"]["first"]
    assert (first["dataset"], first["offset"], first["file"]) == (name, offset, str(path))
    assert (first["expected"], first["found"]) == (expected, found)


def test_wrong_mark_is_named(openmpi: Stack, own_files: Path, tmp_path: Path) -> None:
    path = dump(own_files, 0, "hydro", 1)
    (mark,) = struct.unpack_from("<i", path.read_bytes(), 12)
    old = changed(path, 12)
    line = read_back(openmpi, own_files, tmp_path, "ramses-hydro").error(1)
    path.write_bytes(old)
    assert mark == 4
    assert f"mark at byte 12 of {path} is 5; right is 4" in line


def test_truncated_file_is_named(openmpi: Stack, own_files: Path, tmp_path: Path) -> None:
    path = dump(own_files, 1, "hydro", 2)
    old = path.read_bytes()
    path.write_bytes(old[:-100])
    line = read_back(openmpi, own_files, tmp_path, "ramses-hydro").error(1)
    path.write_bytes(old)
    assert str(path) in line and "cut short" in line


def test_foreign_file_is_named(openmpi: Stack, own_files: Path, tmp_path: Path) -> None:
    path = dump(own_files, 0, "amr", 0)
    old = path.read_bytes()
    path.write_bytes(b"CDF\5" * (len(old) // 4))
    line = read_back(openmpi, own_files, tmp_path).error(1)
    path.write_bytes(old)
    assert f"byte 0 of {path}" in line and "no file of this pattern" in line


def test_changed_text_is_named(openmpi: Stack, own_files: Path, tmp_path: Path) -> None:
    path = own_files / "output_00001" / "info_00001.txt"
    old = changed(path, 7)
    line = read_back(openmpi, own_files, tmp_path).error(1)
    path.write_bytes(old)
    assert f"byte 7 of {path}" in line
