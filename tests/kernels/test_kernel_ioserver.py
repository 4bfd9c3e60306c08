# SPDX-License-Identifier: BSD-3-Clause
"""Method `ioserver`: reserved I/O processes, a queue with a limit, another method behind it."""

from __future__ import annotations

import filecmp
import json
import subprocess
from pathlib import Path

import pytest
from iokernel_stacks import INNER, Run, Stack, listing

from tests.selftest.cases import SMALL
from tests.selftest.injector import Plan, preload

GRID = ["weather", "--grid", "61x47x5", "--arrays", "3"]
BYTES = 61 * 47 * 5 * 3 * 4
LARGE = ["weather", "--grid", "128x128x16", "--arrays", "16"]  # 16 MiB


@pytest.mark.parametrize(
    ("options", "payload"),
    [
        ([], 10 * 1440 * 720 * 70 * 4),  # ~290 MB for each array
        (["--set", "sc45"], 1_375_731_712),  # ~1.37 GB in all
        (["--set", "gsfc"], 23 * 1024 * 1024 * 41 * 4),
        (["--arrays", "2", "--grid", "8x4x3", "--set", "gsfc"], 2 * 8 * 4 * 3 * 4),
    ],
    ids=["altix", "sc45", "gsfc", "small"],
)
def test_sets(openmpi: Stack, options: list[str], payload: int) -> None:
    """Sizes of the document, whoever is a server."""
    ask = ["weather", *options, "--plan", "--procs", "7", "--json", "-"]
    done = openmpi.alone(*ask, "--method", "ioserver", "--io-processes", "3")
    plan = json.loads(done.stdout)
    assert plan["bytes"] == payload
    assert plan["processes"] == 4
    assert plan["files"] == 4  # behind: posix


def words(place: Path, *more: str, pattern: list[str] = GRID) -> list[str]:
    return [*pattern, "--method", "ioserver", "--dir", str(place), *more]


def served(stack: Stack, place: Path, *more: str, processes: int = 2) -> Run:
    (place / "data").mkdir(exist_ok=True)
    document = place / "result.json"
    return stack.run(*words(place / "data", *more), processes=processes, document=document)


def test_every_pattern_gives_a_document_of_the_schema(openmpi: Stack, tmp_path: Path) -> None:
    """Direct writing beside it has what the pattern has, such as its named transfers."""
    taken = [p["pattern"] for p in listing()["cross"] if p["method"] == "ioserver" and p["ok"]]
    assert len(taken) > 5
    for pattern in taken:
        place = tmp_path / pattern
        (place / "data").mkdir(parents=True)
        asked = words(place / "data", pattern=[pattern, *SMALL.get(pattern, ())])
        run = openmpi.run(*asked, document=place / "result.json")
        for sample in run.good()["samples"]:
            assert ("stretches" in sample["direct"]) == ("stretches" in sample["write"])


@pytest.mark.parametrize("inner", INNER)
def test_files_are_those_of_the_inner_method(stack: Stack, inner: str, tmp_path: Path) -> None:
    """Written by one process and sent through an I/O process: the same files."""
    run = served(stack, tmp_path, "--inner", inner, "--queue-limit", "8k", "--keep")
    assert run.good()["verification"]["verdict"] == "verified"
    plain = tmp_path / "plain"
    plain.mkdir()
    direct = [*GRID, "--method", inner, "--dir", str(plain), "--keep"]
    stack.run(*direct, processes=1, document=tmp_path / "plain.json").good()
    names = sorted(p.name for p in plain.iterdir())
    assert names == sorted(p.name for p in (tmp_path / "data").iterdir())
    if inner != "hdf5":  # which notes the time
        for name in names:
            assert filecmp.cmp(plain / name, tmp_path / "data" / name, shallow=False)
    reader = ["--read-only", "--method", inner, "--dir", str(tmp_path / "data")]
    again = stack.run(*GRID, *reader, processes=1, document=tmp_path / "read.json")
    assert again.good()["verification"]["bytes"] == BYTES


def test_public_readers(openmpi: Stack, tmp_path: Path) -> None:
    """h5py and netCDF4 read what two I/O processes wrote, value by value."""
    h5py = pytest.importorskip("h5py")
    netcdf = pytest.importorskip("netCDF4")
    more = ["--io-processes", "2", "--queue-limit", "16k", "--keep"]
    for inner in ("hdf5", "pnetcdf"):
        served(openmpi, tmp_path, *more, "--inner", inner, processes=4).good()
    with h5py.File(tmp_path / "data" / "weather.00001.h5") as h5:
        shapes = {name: data[...] for name, data in h5.items()}
    with netcdf.Dataset(tmp_path / "data" / "weather.00001.nc") as nc:
        assert sorted(nc.variables) == sorted(shapes) == ["field01", "field02", "field03"]
        for name, values in shapes.items():
            assert values.shape == (5, 47, 61)
            assert (nc.variables[name][...] == values).all()
            assert ((values >= 1) & (values < 2)).all()


@pytest.mark.parametrize("send", ["copy", "zero-copy"])
@pytest.mark.parametrize("limit", ["4k", "64k", "1m"])
def test_queue_is_bounded(stack: Stack, send: str, limit: str, tmp_path: Path) -> None:
    more = ["--send", send, "--queue-limit", limit, "--steps", "2", "--repeat", "2", "--fsync"]
    found = served(stack, tmp_path, *more).good()
    bytes_of_limit = int(limit[:-1]) * {"k": 2**10, "m": 2**20}[limit[-1]]
    for sample in found["samples"]:
        assert 0 < sample["queue"]["peak"] <= sample["queue"]["limit"] == bytes_of_limit
        assert sample["direct"]["bandwidth"] > 0
        phases = {"create", "define", "write", "flush", "close", "drain"}
        assert set(sample["write"]["phases"]) == phases
    summary = found["summary"]
    assert summary["apparent_bw"] >= summary["write_bw"] > 0
    assert summary["overlap"] <= 1
    assert summary["durable_bw"] > 0
    assert found["system"]["processes"] == 2
    assert found["system"]["io_processes"] == 1
    assert found["asked"]["method_options"] == {
        "io_processes": 1, "queue_limit": bytes_of_limit, "send": send, "inner": "posix"
    }  # fmt: skip
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize(("processes", "servers"), [(2, 1), (5, 1), (5, 2), (5, 4)])
def test_every_division(openmpi: Stack, processes: int, servers: int, tmp_path: Path) -> None:
    more = ["--io-processes", str(servers), "--queue-limit", "16k", "--inner", "mpiio"]
    found = served(openmpi, tmp_path, *more, processes=processes).good()
    assert found["system"]["io_processes"] == servers
    assert found["verification"]["bytes"] == found["payload"]["bytes"] == BYTES


def test_compute_seconds(stack: Stack, tmp_path: Path) -> None:
    """Half a second after each of two dumps; any method says what share I/O took."""
    for method in (["--method", "ioserver"], ["--method", "posix"]):
        more = ["--steps", "2", "--compute-seconds", "0.5", "--dir", str(tmp_path), *method]
        found = stack.run(*GRID, *more, document=tmp_path / "result.json").good()
        (sample,) = found["samples"]
        assert sample["compute_seconds"] >= 1.0
        seconds = sample["write"]["seconds"]
        right = seconds / (seconds + sample["compute_seconds"])
        assert found["summary"]["io_fraction"] == pytest.approx(right)


def test_without_compute_seconds_there_is_no_fraction(stack: Stack, tmp_path: Path) -> None:
    assert "io_fraction" not in served(stack, tmp_path).good()["summary"]


USAGE = {
    "queue-0": (["--queue-limit", "0"], ["--queue-limit 0", "expected a size"]),
    "queue-small": (["--queue-limit", "100"], ["--queue-limit 100", "4096"]),
    "too-many": (["--io-processes", "2"], ["--io-processes 2", "2 processes", "at most 1"]),
    "none": (["--io-processes", "0"], ["--io-processes 0", "positive"]),
    "inner": (["--inner", "bogus"], ["'bogus'", "null, posix"]),
    "itself": (["--inner", "ioserver"], ["--inner ioserver", "independent"]),
    "master": (["--inner", "master"], ["--inner master", "independent"]),
    "send": (["--send", "fast"], ["--send fast", "copy or zero-copy"]),
    "mode": (["--mode", "collective"], ["ioserver", "no modes"]),
    "compute": (["--compute-seconds", "-1"], ["--compute-seconds -1", "above 0"]),
}


@pytest.mark.parametrize("name", USAGE)
def test_usage(stack: Stack, name: str, tmp_path: Path) -> None:
    more, holds = USAGE[name]
    line = stack.run(*words(tmp_path, *more)).error(2)
    for part in holds:
        assert part in line, line
    assert list(tmp_path.iterdir()) == []


def test_option_of_another_method(stack: Stack, tmp_path: Path) -> None:
    run = stack.run(*GRID, "--method", "posix", "--inner", "mpiio", "--dir", str(tmp_path))
    line = run.error(2)
    assert "--inner" in line and "ioserver" in line and "posix" in line


def test_needs_two_processes(openmpi: Stack, tmp_path: Path) -> None:
    line = openmpi.run(*words(tmp_path), processes=1).error(2)
    assert "--io-processes 1" in line and "mpiexec" in line


@pytest.mark.parametrize("inner", INNER)
def test_file_size_limit(stack: Stack, inner: str, tmp_path: Path) -> None:
    """The I/O process's own message, once, and nobody hangs; a queue smaller than the data."""
    document = tmp_path / "result.json"
    place = tmp_path / "data"
    place.mkdir()
    run = stack.run(
        *words(place, "--inner", inner, "--queue-limit", "1m", pattern=LARGE),
        document=document,
        before=("bash", "-c", 'ulimit -f 12288; exec "$@"', "bash"),
    )
    line = run.error(1)
    # PnetCDF on OMPIO loses the error; then the sizes of the files are what tells.
    silent = (stack.name, inner) == ("openmpi", "pnetcdf") and "reported no error" in line
    assert silent or "process 1 on" in line
    assert str(place) in line
    assert run.result()["status"] == "error"
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(("processes", "servers"), [(2, 1), (4, 3), (5, 2)])
@pytest.mark.parametrize("inner", ["posix", "mpiio"])
def test_full_file_system(
    openmpi: Stack, inner: str, processes: int, servers: int, tmp_path: Path
) -> None:
    place = tmp_path / "full"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "iogauge", str(place)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    try:
        more = ["--inner", inner, "--io-processes", str(servers), "--queue-limit", "1m"]
        run = openmpi.run(
            *words(place, *more, "--no-space-check", pattern=LARGE),
            processes=processes,
            document=tmp_path / "result.json",
        )
        line = run.error(1)
        assert str(place) in line and "process" in line
        assert "more processes" not in line
        assert list(place.iterdir()) == []
    finally:
        subprocess.run(["umount", "--lazy", str(place)], capture_output=True)


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("damage", ["truncated", "foreign"])
def test_damaged_file(stack: Stack, inner: str, damage: str, tmp_path: Path) -> None:
    served(stack, tmp_path, "--inner", inner, "--keep").good()
    (file,) = (tmp_path / "data").iterdir()
    if damage == "truncated":
        with file.open("r+b") as opened:
            opened.truncate(file.stat().st_size // 2)
    else:
        file.write_text("a foreign file\n" * 8)
    run = served(stack, tmp_path, "--inner", inner, "--read-only")
    assert run.failed(), str(run)
    if damage == "foreign" or inner not in ("hdf5", "pnetcdf"):
        assert file.name in run.error(1)
    assert run.result()["status"] in ("error", "failed")


def test_records_larger_than_the_queue_are_refused(openmpi: Stack, tmp_path: Path) -> None:
    """RAMSES's own files have records, which are not cut."""
    pattern = ["ramses-hydro", "--size", "32"]
    more = ["--queue-limit", "4k", "--dir", str(tmp_path), "--method", "ioserver"]
    line = openmpi.run(*pattern, *more).error(1)
    assert "record" in line and "--queue-limit" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("inner", ["posix", "posix-shared"])
def test_direct_writing_is_verified_like_all_else(
    openmpi: Stack, inner: str, injector: Path, tmp_path: Path
) -> None:
    """A byte that goes wrong in nothing but the writing beside is found, and said where."""
    good = served(openmpi, tmp_path, "--inner", inner, "--repeat", "2").good()
    assert [sample["direct"]["verified"] for sample in good["samples"]] == [BYTES, BYTES]
    assert good["verification"]["bytes"] == 2 * BYTES
    document = tmp_path / "spoiled.json"
    direct = tmp_path / "data" / "iogauge-direct"
    run = openmpi.run(
        *words(tmp_path / "data", "--inner", inner),
        document=document,
        environment=preload(injector, Plan("write", "flip", times=None), direct),
    )
    assert run.status == 1, str(run)
    found = run.result()
    assert found["status"] == "failed" and found["verification"]["mismatches"] >= 1
    assert "/iogauge-direct/" in found["verification"]["first"]["file"]
    assert list((tmp_path / "data").iterdir()) == []


@pytest.mark.parametrize(
    ("inner", "pattern", "own"),
    [
        ("posix", GRID, True),
        ("posix-shared", GRID, False),
        ("mpiio", ["ior", "-F", "-b", "64k", "-t", "8k"], True),
    ],
)
def test_direct_writing_has_the_layout_of_the_run(
    openmpi: Stack, inner: str, pattern: list[str], own: bool, tmp_path: Path
) -> None:
    """On Lustre --own-dir has one stripe. A file in the way shows where the direct run writes."""
    shared, each = tmp_path / "shared", tmp_path / "own"
    for folder in (shared, each):
        folder.mkdir()
    asked = [*words(shared, "--inner", inner, "--keep", pattern=pattern), "--own-dir", str(each)]
    in_the_way = (shared if own else each) / "iogauge-direct"
    in_the_way.touch()
    openmpi.run(*asked, document=tmp_path / "result.json").good()
    assert [*(each if own else shared).iterdir()]
    assert [path for path in (shared if own else each).iterdir() if path != in_the_way] == []
