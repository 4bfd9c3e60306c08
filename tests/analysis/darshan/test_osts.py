# SPDX-License-Identifier: BSD-3-Clause
"""On which OSTs files lie, as PyDarshan reads it; a slow OST is named, equal ones are not."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iogauge.analysis.darshan import header
from iogauge.analysis.darshan.log import FileTrace, Log, Work, read_log
from iogauge.analysis.judge import slow
from iogauge.analysis.judge.slow import RATE
from iogauge.cli.main import main

SPEC = find_spec("darshan")
assert SPEC and SPEC.origin
LOGS = Path(SPEC.origin).parent
EXAMPLES, INPUT = LOGS / "examples" / "example_logs", LOGS / "tests" / "input"
WITH_LUSTRE = (
    EXAMPLES / "example.darshan", EXAMPLES / "ior_hdf5_example.darshan",
    EXAMPLES / "noposix.darshan", EXAMPLES / "sample-badost.darshan",
    INPUT / "sample-goodost.darshan", INPUT / "sample.darshan",
)  # fmt: skip
BY_DARSHAN = """\
import darshan, json, sys
report = darshan.DarshanReport(sys.argv[1], read_all=False)
report.mod_read_all_lustre_records(dtype="dict")
print(json.dumps({report.name_records[record["id"]]: [
    int(ost) for component in record["components"] for ost in component["ost_ids"]
] for record in report.records["LUSTRE"]}))
"""


def by_darshan(log: Path) -> Any:
    command = [sys.executable, "-W", "ignore", "-c", BY_DARSHAN, str(log)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("log", WITH_LUSTRE, ids=lambda path: path.stem)
def test_files_lie_where_pydarshan_says(log: Path) -> None:
    found = read_log(log)
    assert found.osts == by_darshan(log) and any(found.osts.values())
    assert not any("LUSTRE" in note for note in found.notes)


Component = tuple[int, Sequence[int]]  # the size of a stripe (-1: unused), and the OSTs


def log_of_version_2(path: Path, order: str, files: Mapping[str, Sequence[Component]]) -> None:
    """darshan-lustre-log-format.h of 3.4 and newer: components of a layout, with their OSTs."""
    records, names = b"", b""
    for number, (name, parts) in enumerate(files.items(), 77):
        names += struct.pack(f"{order}Q", number) + name.encode() + b"\0"
        osts = [ost for _, some in parts for ost in some]
        records += struct.pack(f"{order}Qqqq", number, -1, len(parts), len(osts))
        for size, some in parts:
            records += struct.pack(f"{order}7q16s", size, len(some), 0, 16, 0, -1, 0, b"pool")
        records += struct.pack(f"{order}{len(osts)}q", *osts)
    job = struct.pack(f"{order}7q", 1, 1000, 0, 1002, 0, 4, 5)
    text = (job + b"lib_ver=3.5.0\n".ljust(1024, b"\0") + b"./program\nlustre\t/").ljust(
        4096, b"\0"
    )
    packed = [zlib.compress(one) for one in (text, names, records)]
    layout = struct.Struct(order + header.HEAD.format[1:])
    places, versions = [0] * (2 * header.MODULES), [0] * header.MODULES
    module, names_at = header.NAMES.index("LUSTRE"), layout.size + len(packed[0])
    places[2 * module : 2 * module + 2] = [names_at + len(packed[1]), len(packed[2])]
    versions[module] = 2
    head = layout.pack(
        header.FORMAT, header.MAGIC, header.ZLIB, 0, names_at, len(packed[1]), *places, *versions
    )
    path.write_bytes(head + b"".join(packed))


@pytest.mark.parametrize("order", ["<", ">"])
def test_layouts_of_several_components(order: str, tmp_path: Path) -> None:
    """The third file begins on the metadata server; in the fourth, only one of two components was
    used, and the OST of one stripe is not known."""
    log = tmp_path / "log"
    whole = {
        "/plain": [(1 << 20, [5])],
        "/progressive": [(1 << 20, [3]), (1 << 20, [7, 8]), (1 << 22, [1, 2, 9, 4])],
        "/metadata": [(1 << 20, []), (1 << 20, [6])],
    }
    part = {"/unused": [(1 << 20, [*range(20, 32), -1]), (-1, [])]}
    log_of_version_2(log, order, {**whole, **part})
    found = read_log(log)
    assert found.osts == {
        "/plain": [5], "/progressive": [3, 7, 8, 1, 2, 9, 4], "/metadata": [6],
        "/unused": [*range(20, 32)],
    }  # fmt: skip
    assert not any("LUSTRE" in note for note in found.notes)
    log_of_version_2(log, order, whole)
    assert read_log(log).osts == by_darshan(log)


def test_a_public_log_with_a_bad_ost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """2048 processes have a file each, on 24 OSTs: 85 or 86 on each."""
    monkeypatch.chdir(tmp_path)
    assert main(["trace", str(EXAMPLES / "sample-badost.darshan"), "--no-summary"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "OSTs with files: 24; files on one OST each: 2,048 of 2,048" in said
    assert "write: OST 14 is slow: it was the slowest in 85 of 85 comparisons" in said


def test_equal_osts_are_not_accused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["trace", str(INPUT / "sample-goodost.darshan"), "--no-summary"]) == 0
    assert "is slow" not in capsys.readouterr().out
    assert main(["trace", str(INPUT / "sample.darshan"), "--no-summary"]) == 0
    assert "Which OST is slow is not known" in capsys.readouterr().out, "one file on all of them"


def log_of(seconds: Any, where: Any, sizes: Any = None) -> Log:
    """A file of each process: the seconds that it took, and its OSTs."""
    files = tuple(
        FileTrace("POSIX", f"/f{rank}", {
            "F_WRITE_TIME": float(took), "WRITES": 10,
            "BYTES_WRITTEN": 100 if sizes is None else int(sizes[rank]),
        }, {}, (Work(rank, 0, 100, float(took)),))
        for rank, took in enumerate(seconds)
    )  # fmt: skip
    osts = {f"/f{rank}": list(of) for rank, of in enumerate(where)}
    return Log(Path("log"), "test", len(files), 0.0, 9.0, "", (), (), {}, files, osts=osts)


def accused(log: Log) -> list[str]:
    return [str(one.slowest_in[0].member) for one in slow.of_osts(log) if one.is_slow]


def test_equal_osts_are_accused_at_most_once_in_20_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow, "SLOWER", 1.0)
    where = [[rank % 4] for rank in range(48)]
    random = np.random.default_rng(31)
    logs = (log_of(random.lognormal(0, 0.5, 48), where) for _ in range(1000))
    assert sum(bool(accused(log)) for log in logs) <= 1000 * RATE + 3 * (1000 * RATE) ** 0.5


def test_striped_files_unequal_files_and_slow_processes_accuse_no_ost() -> None:
    seconds = np.random.default_rng(3).lognormal(0, 0.1, 48)
    bad = seconds * np.where(np.arange(48) % 4 == 2, 5, 1)
    where = [[rank % 4] for rank in range(48)]
    assert accused(log_of(bad, where)) == ["2"]
    assert accused(log_of(bad, [[rank % 4, 4] for rank in range(48)])) == []
    sizes = np.where(np.arange(48) % 4 == 2, 500, 100)
    assert accused(log_of(bad, where, sizes)) == [], "it has more to do there"
    # All files of the slow process lie on one OST: it counts once.
    log = log_of(bad, where)
    one = tuple(
        FileTrace(f.module, f.path, f.values, {}, (Work(rank % 4, 0, 100, 1.0),))
        for rank, f in enumerate(log.files)
    )
    assert accused(Log(**{**log.__dict__, "files": one})) == []


def test_each_direction_accuses_its_own_ost() -> None:
    """Writing is slow on one, reading on another; and asking again says the same."""
    where = [[rank % 4] for rank in range(48)]
    quick = np.random.default_rng(3).lognormal(0, 0.1, 48)
    written, read = (quick * np.where(np.arange(48) % 4 == ost, 5, 1) for ost in (2, 1))
    log = log_of(written, where)
    files = tuple(
        replace(
            file, values={**file.values, "F_READ_TIME": float(took), "READS": 4, "BYTES_READ": 8}
        )
        for file, took in zip(log.files, read, strict=True)
    )
    log = replace(log, files=files)
    for _ in range(2):
        found = [(one.direction, one.slowest_in[0].member) for one in slow.of_osts(log)]
        assert found == [("write", 2), ("read", 1)]
    assert [log.osts[file.path] for file in files] == where
