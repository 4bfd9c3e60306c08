# SPDX-License-Identifier: BSD-3-Clause
"""`iogauge trace LOG` on logs as Darshan's runtime writes them of a shared file: one
record of all processes. Who was slow is still said."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import darshan
import pytest

from iogauge.analysis.darshan.convert import write_log
from iogauge.analysis.darshan.log import Segments, read_log
from iogauge.analysis.errors import EXIT_OK
from iogauge.analysis.ledger.seconds import Together, data_sets, layers
from iogauge.analysis.pages import access_chart
from iogauge.cli.main import main
from tests.analysis.darshan.test_darshan_log import process

DATA = Path(__file__).parents[2] / "data" / "darshan"
# Logs of other programs, which come with PyDarshan.
REAL = Path(darshan.__file__).parent / "examples" / "example_logs"
NAMES_NONE = "H5F"  # its records have no such counters
READ_TIME, WRITE_TIME, META_TIME = 8, 9, 10  # places in a record


def reduced(folder: Path, *, segments: int = 0) -> Path:
    """Three processes with a shared file, in which the last takes longest, and a file each."""
    made = [process(rank, 3, segments=segments) for rank in range(3)]
    for rank, one in enumerate(made):
        shared, own = one.records
        shared.times = list(shared.times)
        shared.times[READ_TIME : META_TIME + 1] = [1.0, 2.0 * rank, 0.5]
        own.times = [0.0] * len(own.times)
    log = folder / "mine.darshan"
    write_log(made, log, reduce_shared=True)
    return log


def test_who_was_slow_in_a_file_of_all_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    log = reduced(tmp_path)
    assert main(["trace", str(log), "--json"]) == EXIT_OK
    (posix,) = json.loads(capsys.readouterr().out)["layers"]
    assert posix["together"] == {"path": "/fs/a", "slowest": [2, 5.5], "fastest": [0, 1.5]}
    assert (posix["reading"], posix["writing"], posix["other"]) == (3.0, 6.0, 1.5)
    assert posix["shared"] == 10.5
    assert main(["trace", str(log), "--no-summary"]) == EXIT_OK
    said = " ".join(capsys.readouterr().out.split())
    assert "process 2: 5.50 s in a," in said and "process 0: 1.50 s" in said


def test_each_access_says_whose_seconds_they_were(tmp_path: Path) -> None:
    """4 accesses of 0.05 s of each process; what is left belongs to no one."""
    log = read_log(reduced(tmp_path, segments=4), segments=True)
    (posix,) = layers(log)
    assert posix.ranks == {rank: pytest.approx(0.2) for rank in range(3)}
    assert posix.shared == pytest.approx(10.5 - 0.6)
    assert posix.together == Together("/fs/a", (2, 5.5), (0, 1.5))


@pytest.mark.parametrize("name", sorted(path.name for path in REAL.glob("*.darshan")))
def test_logs_of_other_programs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No second is lost between the layer's sum and its processes, and none is below 0, as a time
    of STDIO in one of these is (-2663 s); each layer names a process."""
    monkeypatch.chdir(tmp_path)
    assert main(["trace", str(REAL / name), "--json"]) == EXIT_OK
    said = json.loads(capsys.readouterr().out)
    assert said["layers"]
    for layer in said["layers"]:
        parts = sum(layer["ranks"].values()) + layer["shared"]
        assert parts == pytest.approx(layer["seconds"], rel=0.02, abs=1e-3)
        assert min(layer["ranks"].values(), default=0) >= 0
        assert layer["slowest"] or layer["together"] or layer["name"] == NAMES_NONE


def test_an_empty_read_makes_the_axis_no_longer() -> None:
    """As at the end of a file, long after the last byte moved."""
    log = read_log(DATA / "mpich-collective-dxt" / "trace.darshan", segments=True)
    moved = Segments("POSIX", "/f", 0, [(0, 10, 1.0, 2.0)], [])
    idle = replace(moved, reads=[(10, 0, 5.0, 100.0)])
    for one in (idle, moved):
        found = access_chart.of_log(replace(log, segments=(one,)))
        assert found and access_chart.seconds([found]) == 1.0


@pytest.mark.parametrize(
    ("run", "before", "collective"),
    [("darshan-mpich-hdf5-dxt", "/", True), ("darshan-mpich-pnetcdf", "", False)],
)
def test_data_sets_are_those_of_the_run(
    run: str, before: str, collective: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As its document has them; each process has a record. PnetCDF's calls were nonblocking."""
    log = DATA / run / "trace.darshan"
    document = json.loads((DATA / run / "result.json").read_text())
    found = {str(one["name"]): one for one in data_sets(read_log(log))}
    expected = {before + one["name"]: one for one in document["payload"]["datasets"]}
    assert found.keys() == expected.keys()
    for name, one in expected.items():
        had = found[name]
        assert (had["elements"], had["element_bytes"]) == (math.prod(one["shape"]), 8)
        assert (had["dimensions"], had["collective"]) == (len(one["shape"]), collective)
        assert had["written"] == had["read"] == one["bytes"] * len(document["samples"])
    assert (
        main(["trace", str(log.parent), "--no-summary", "--html", str(tmp_path / "p")]) == EXIT_OK
    )
    said = capsys.readouterr().out
    assert all(f":{name}" in said for name in expected)
