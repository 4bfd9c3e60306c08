# SPDX-License-Identifier: BSD-3-Clause
"""Logs that Darshan 3.1 wrote, also on a machine of the other byte order (Blue Gene), made here
byte by byte: each value is read as it was written, and what the version lacks is absent."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from iogauge.analysis.darshan import dxt, header, versions
from iogauge.analysis.darshan.log import UnreadableLogError, read_log

COUNTERS, TIMES = 64, 17  # of a POSIX record of version 3
BYTES_READ, BYTES_WRITTEN = 9, 10  # their places in it
READ, WRITE, META, MAX_READ, MAX_WRITE = 8, 9, 10, 11, 12


def big_endian_log(path: Path, times: dict[int, float]) -> None:
    """Format 3.21, as darshan-logutils.h of 3.2.1 describes it: head, job, names, POSIX records."""
    counters = [0] * COUNTERS
    counters[BYTES_READ], counters[BYTES_WRITTEN] = 30, 40
    record = struct.pack(">Qq64q", 77, -1, *counters)
    record += struct.pack(">17d", *(times.get(place, 0.0) for place in range(TIMES)))
    job = struct.pack(">5q", 1, 1000, 1002, 4, 5) + b"lib_ver=3.1.8\n".ljust(1024, b"\0")
    text = (job + b"./program\n").ljust(4096, b"\0")
    parts = [zlib.compress(text), zlib.compress(struct.pack(">Q", 77) + b"/fs/a\0")]
    parts.append(zlib.compress(record))
    layout = struct.Struct(">8sqB3xI2Q32Q16I")
    names_at = layout.size + len(parts[0])
    places = [names_at, len(parts[1]), *[0] * 32]
    module = header.NAMES.index("POSIX")
    places[2 + 2 * module : 4 + 2 * module] = [names_at + len(parts[1]), len(parts[2])]
    versions = [3 if one == module else 0 for one in range(16)]
    head = layout.pack(b"3.21", header.MAGIC, header.ZLIB, 0, *places, *versions)
    path.write_bytes(head + b"".join(parts))


def test_all_times_of_the_other_byte_order_are_turned(tmp_path: Path) -> None:
    log = tmp_path / "big.darshan"
    times = {READ: 0.25, WRITE: 0.5, META: 0.3135710887500238, MAX_READ: 0.125, MAX_WRITE: 0.375}
    big_endian_log(log, times)
    (file,) = read_log(log).files
    assert (file.path, file.count("BYTES_READ"), file.count("BYTES_WRITTEN")) == ("/fs/a", 30, 40)
    names = ("READ", "WRITE", "META", "MAX_READ", "MAX_WRITE")
    assert [file.values[f"F_{name}_TIME"] for name in names] == list(times.values())
    assert not versions.absent("POSIX", 3) & file.values.keys() and "FSYNCS" in file.values


def dxt_log(path: Path, order: str, module: str, end: float = 1.0) -> None:
    """Process 2 of 4 wrote 10 bytes, as the log says at 0, and read 20 at 30: version 1."""
    record = struct.pack(f"{order}Qqq64sqq", 77, 2, -1, b"node1", 1, 1)
    record += struct.pack(f"{order}qqdd", 0, 10, 0.25, 0.5)
    record += struct.pack(f"{order}qqdd", 30, 20, 0.75, end)
    part = zlib.compress(record)
    layout = struct.Struct(f"{order}8sqB3xI2Q32Q16I")
    number = header.OF_300.index(module)
    places = [0] * 34
    places[2 + 2 * number : 4 + 2 * number] = [layout.size, len(part)]
    versions_ = [1 if one == number else 0 for one in range(16)]
    head = layout.pack(b"3.10", header.MAGIC, header.ZLIB, 0, *places, *versions_)
    path.write_bytes(head + part)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("module", "offsets"), [("DXT_POSIX", [0, 30]), ("DXT_MPIIO", [-1, -1])])
def test_single_accesses_of_version_1(
    order: str, module: str, offsets: list[int], tmp_path: Path
) -> None:
    """Version 1 has no offsets of MPI-IO, though there are numbers in their place."""
    log = tmp_path / "old.darshan"
    dxt_log(log, order, module)
    (block,) = dxt.blocks(header.read_header(log), module, 1, 4)
    assert (block.file, block.rank, block.writes, block.host) == (77, 2, 1, "node1")
    assert block.segments["offset"].tolist() == offsets
    assert block.segments["length"].tolist() == [10, 20]
    assert block.segments["end"].tolist() == [0.5, 1.0]


@pytest.mark.parametrize("end", [float("nan"), float("inf"), -1e300])
def test_a_time_that_is_none_is_damage(end: float, tmp_path: Path) -> None:
    dxt_log(tmp_path / "log", "<", "DXT_POSIX", end)
    with pytest.raises(header.BrokenLogError, match="invalid time in DXT_POSIX"):
        list(dxt.blocks(header.read_header(tmp_path / "log"), "DXT_POSIX", 1, 4))


@pytest.mark.parametrize("end", [0.7, -1.0])
def test_a_clock_that_was_set_back_in_an_access_is_said(end: float, tmp_path: Path) -> None:
    """Darshan's clock is the time of day. The access ends where it begins, at 0.75 s."""
    dxt_log(tmp_path / "log", "<", "DXT_POSIX", end)
    (block,) = dxt.blocks(header.read_header(tmp_path / "log"), "DXT_POSIX", 1, 4)
    assert block.segments["end"].tolist() == [0.5, 0.75]
    (said,) = dxt.notes(block.set_back)
    assert said.startswith("accesses that end before they begin: 1; a clock was set back")
    dxt_log(tmp_path / "log", "<", "DXT_POSIX", 0.75)
    (block,) = dxt.blocks(header.read_header(tmp_path / "log"), "DXT_POSIX", 1, 4)
    assert not dxt.notes(block.set_back)


@pytest.mark.parametrize("start", [b"\x1f\x8b\x08", b"BZh9"])
def test_a_log_of_darshan_2_is_said_to_be_one(start: bytes, tmp_path: Path) -> None:
    log = tmp_path / "old.darshan.gz"
    log.write_bytes(start + bytes(2000))
    with pytest.raises(UnreadableLogError, match=r"Darshan 2.*since Darshan 3\.0"):
        read_log(log)


def test_what_is_damaged_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    dxt_log(log, "<", "DXT_POSIX")
    head = header.read_header(log)
    with pytest.raises(header.BrokenLogError, match=r"has process 2 of 2; copy it again"):
        list(dxt.blocks(head, "DXT_POSIX", 1, 2))
    with pytest.raises(header.BrokenLogError, match=r"version 9, this reads up to 2; .* newer"):
        list(dxt.blocks(head, "DXT_POSIX", 9, 4))
    empty = zlib.compress(4 * struct.pack("<Qqq64sqq", 77, 2, -1, b"node1", 0, 0))
    number = header.NAMES.index("DXT_POSIX")
    places = list(head.places)
    places[number] = (0, len(empty))
    log.write_bytes(empty)
    some = header.Header(log, header.ZLIB, (), tuple(places))
    assert len(list(dxt.blocks(some, "DXT_POSIX", 1, 4))) == 4
    monkeypatch.setattr(dxt, "MOST_EMPTY", 3)
    with pytest.raises(header.BrokenLogError, match="4 records without an access in DXT_POSIX"):
        list(dxt.blocks(some, "DXT_POSIX", 1, 4))
