# SPDX-License-Identifier: BSD-3-Clause
"""RAMSES's own files with a wrong byte, mark, fact or text: each is named."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import ramses_reader as reader
from iokernel_stacks import Run, Stack
from ramses_dump import POSIX, dump, make_own_files, words


@pytest.fixture(scope="module")
def own_files(openmpi: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_own_files(openmpi, tmp_path_factory.mktemp("ramses"))


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
    assert f"mark at byte 12 of {path} is 5; expected 4" in line


def test_truncated_file_is_named(openmpi: Stack, own_files: Path, tmp_path: Path) -> None:
    path = dump(own_files, 1, "hydro", 2)
    old = path.read_bytes()
    path.write_bytes(old[:-100])
    line = read_back(openmpi, own_files, tmp_path, "ramses-hydro").error(1)
    path.write_bytes(old)
    assert str(path) in line and "truncated" in line


def test_foreign_file_is_named(openmpi: Stack, own_files: Path, tmp_path: Path) -> None:
    path = dump(own_files, 0, "amr", 0)
    old = path.read_bytes()
    path.write_bytes(b"CDF\5" * (len(old) // 4))
    line = read_back(openmpi, own_files, tmp_path).error(1)
    path.write_bytes(old)
    assert f"byte 0 of {path}" in line and "not a file of this pattern" in line


def test_changed_text_is_named(openmpi: Stack, own_files: Path, tmp_path: Path) -> None:
    path = own_files / "output_00001" / "info_00001.txt"
    old = changed(path, 7)
    line = read_back(openmpi, own_files, tmp_path).error(1)
    path.write_bytes(old)
    assert f"byte 7 of {path}" in line
