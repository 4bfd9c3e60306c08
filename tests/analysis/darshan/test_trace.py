# SPDX-License-Identifier: BSD-3-Clause
"""`iogauge trace` on recorded runs (tests/data/darshan, see its README)."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from iogauge.analysis.darshan import others
from iogauge.analysis.darshan.log import Log, Segments, read_log
from iogauge.analysis.errors import EXIT_DATA, EXIT_NOT_VERIFIED, EXIT_OK
from iogauge.analysis.ledger.phases import OUTSIDE
from iogauge.analysis.ledger.traced import Traced, load
from iogauge.analysis.ledger.verdict import (
    HOLES,
    ONCE,
    PADDING,
    PAST_END,
    READ_SIEVING,
    REREADING,
    REWRITING,
    SIEVING,
)
from iogauge.analysis.pages import access_chart, calls_chart, trace_page
from iogauge.analysis.replay.trace import READ, WRITE
from iogauge.cli import trace
from iogauge.cli.main import main

DATA = Path(__file__).parents[2] / "data" / "darshan"

# 16 values of 8 bytes in each of 12 x 10 x 8 points, 2 repeats.
PAYLOAD = 12 * 10 * 8 * 16 * 8 * 2
# Other patterns. A zone for each process: 3 coordinates of 4 bytes. RAMSES: 198 grids with ghosts,
# the tables of 2 processes and 3 levels, and a header.
CGNS_ZONE = 9 * 8 * 7 * 3 * 4 * 2
PAYLOADS = {
    "ompio-cgns-4": 4 * CGNS_ZONE,
    "ompio-cgns-8": 8 * CGNS_ZONE,
    "darshan-openmpi-cgns": 2 * CGNS_ZONE,
    "mpich-holes": 2 * (320 * 198 + 4 * 2**2 * 3 + 400 * 2 * 3 + 28),
}

# Run -> the causes that its ledger must name; those in the second set may come with them.
CAUSES: dict[str, tuple[set[str], set[str]]] = {
    "mpich-sieving": ({SIEVING}, {READ_SIEVING}),
    "mpich-collective-dxt": (set(), set()),
    "ompio-collective": ({READ_SIEVING}, set()),
    "openmpi-romio-sieving": ({SIEVING}, {READ_SIEVING}),
    "openmpi-hdf5": ({PADDING, REREADING}, {READ_SIEVING}),
    "mpich-pnetcdf": ({PADDING, REREADING, PAST_END}, set()),
    "openmpi-posix-ceilings": (set(), set()),
    "mpich-holes": ({HOLES}, set()),
    "ompio-cgns-4": ({ONCE, PADDING, REREADING}, set()),
    "ompio-cgns-8": ({REWRITING, HOLES, REREADING, READ_SIEVING}, set()),
    "darshan-mpich-hdf5-dxt": ({PADDING, REREADING}, set()),
    "darshan-mpich-pnetcdf": ({PADDING, REREADING, PAST_END}, set()),
    "darshan-openmpi-cgns": ({PADDING, REREADING}, set()),
}


def causes(traced: Traced) -> set[str]:
    return {reason.split(" (")[0] for reason in traced.judgement.reasons}


@pytest.mark.parametrize("name", CAUSES)
def test_recorded_ledgers(name: str) -> None:
    traced = load(DATA / name)
    must, may = CAUSES[name]
    found = causes(traced)
    assert must <= found <= must | may
    assert traced.judgement.verdict == ("explained" if found else "balanced")
    for side in traced.ledger.sides:
        payload = PAYLOADS.get(name, PAYLOAD)
        assert side.payload == payload
        assert side.repeats == 2
        assert side.mpiio is None or side.mpiio >= payload
        assert side.posix >= payload


def test_every_cause_is_seen_on_a_recorded_run() -> None:
    assert set().union(*(must for must, _ in CAUSES.values())) == {
        HOLES, SIEVING, READ_SIEVING, REWRITING, REREADING, PAST_END, PADDING, ONCE,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "api", "more"),
    [
        ("darshan-mpich-hdf5-dxt", "H5D", 0),
        ("darshan-mpich-pnetcdf", "PNETCDF_VAR", 0),
        # CGNS's own nodes besides the data: names, ranges, versions.
        ("darshan-openmpi-cgns", "H5D", 2000),
    ],
)
def test_darshans_runtime_has_the_bytes_at_the_api(name: str, api: str, more: int) -> None:
    """Logs of Darshan 3.5.0, built with HDF5 and PnetCDF."""
    ledger = load(DATA / name).ledger
    assert ledger.recorder == "Darshan 3.5.0"
    for side in ledger.sides:
        layer = side.layer(api)
        assert layer is not None and layer.calls and layer.processes == 2
        assert 0 <= layer.bytes - side.payload <= more


def test_the_phases_of_a_log_of_darshans_runtime() -> None:
    """Its DXT is newer than the wheel's library, and its clock begins late."""
    ledger = load(DATA / "darshan-mpich-hdf5-dxt").ledger
    assert ledger.phases_from == "each access (DXT), whose times Darshan gives to within 0.05 s"
    moved = {phase.title: phase.layers["MPI-IO"].bytes for phase in ledger.phases if phase.layers}
    assert moved["write: write"] == {"write": PAYLOAD, "read": 0}
    # Of phases of a tenth of a millisecond, some of finding the data sets stands in the reading.
    assert moved["read: read"]["write"] == 0
    assert PAYLOAD <= moved["read: read"]["read"] < 1.05 * PAYLOAD
    # The superblock, and the file's header blocks: without data.
    assert 0 < moved["write: close"]["write"] < PAYLOAD / 10
    assert OUTSIDE not in moved


def test_hints_asked_and_effective_stand_beside_the_writers() -> None:
    ledger = load(DATA / "mpich-collective-dxt").ledger
    assert ledger.hints["cb_nodes"] == ("2", "1")  # ROMIO cuts it to one on one node
    write = ledger.side("write")
    posix = write.layer("POSIX") if write else None
    assert posix is not None and posix.processes == 1


def test_every_recorded_log_has_a_picture_of_each_kind() -> None:
    for name in CAUSES:
        traced = load(DATA / name)
        assert calls_chart.heat(traced.log) and trace_page.histogram(traced.ledger), name


def test_each_access_is_in_the_time_line_of_a_run_with_dxt() -> None:
    log = read_log(DATA / "mpich-collective-dxt" / "trace.darshan", segments=True)
    found = access_chart.of_log(log)
    assert found is not None
    drawn = np.concatenate(found.accesses)
    posix = [file for file in log.files if file.module == "POSIX"]
    empty = sum(not row[1] for one in log.segments if one.module == "POSIX" for row in one.reads)
    assert len(drawn) == sum(file.count("READS", "WRITES") for file in posix) - empty
    assert set(drawn["write"]) == {READ, WRITE}
    assert (drawn["start"] > 0).all() and (drawn["end"] <= log.seconds).all()


def test_reads_hide_no_writes_and_what_moved_nothing_is_no_work() -> None:
    """Two accesses of one process at the same time have each a line; an empty one has no bar, and
    does not stretch the axis."""
    log = read_log(DATA / "mpich-collective-dxt" / "trace.darshan", segments=True)
    writes, reads = [(0, 10, 1.0, 2.0)], [(0, 10, 1.0, 2.0), (10, 0, 5.0, 9.0)]
    log = replace(log, segments=(Segments("POSIX", "/f", 0, writes, reads),))
    found = access_chart.of_log(log)
    assert found is not None
    picture = access_chart.timeline([found])
    (write, read) = picture.sides[0]
    assert write.d.startswith("M0 ") and "h1000v" in write.d
    assert read.d.startswith("M0 ") and read.d.count("M") == 1
    assert write.d.split("h")[0] != read.d.split("h")[0]
    assert access_chart.seconds([found]) == 1.0


HEAT = "Processes and time"


def drawn(page: str) -> list[str]:
    return re.findall("<h2>([^<]+)</h2>\n<figure", page)


# ---------------------------------------------------------------- a log alone


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log without its document, in a folder that nothing can be written to by name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "mine.darshan"
    return Path(shutil.copy(DATA / "mpich-sieving" / "trace.darshan", log))


def test_a_log_alone_says_where_its_seconds_went(
    alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", str(alone), "--json"]) == EXIT_OK
    said = json.loads(capsys.readouterr().out)
    log = read_log(alone)
    layers = {layer["name"]: layer for layer in said["layers"]}
    assert list(layers) == ["MPI-IO", "POSIX"]  # from the top down
    for name, layer in layers.items():
        files = [file for file in log.files if file.module == name]
        assert layer["written"] == sum(file.values["BYTES_WRITTEN"] for file in files)
        # The recorder's own sums: of the seconds by kind, and of those by process.
        every = sum(work.seconds for file in files for work in file.ranks)
        assert layer["reading"] + layer["writing"] + layer["other"] == pytest.approx(every)
        assert sum(layer["ranks"].values()) == pytest.approx(every)
        rank, most = layer["slowest"]
        assert most == max(layer["ranks"].values()) == layer["ranks"][str(rank)]


def test_a_log_alone_has_a_page_where_one_stands(
    alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", str(alone), "--no-summary"]) == EXIT_OK
    assert "MPI-IO" in capsys.readouterr().out
    page = Path("mine.html").read_text()
    assert "Where the seconds went" in page and drawn(page) == ["Throughput over time", HEAT]
    assert main(["trace", str(alone), "--csv"]) == EXIT_OK
    assert capsys.readouterr().out.splitlines()[1].startswith("MPI-IO,1,")


def test_two_logs_in_one_folder_have_a_summary_each(
    alone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask(log: Log, page: Path) -> others.Others:
        page.write_text(f"of {log.path.name}")
        return others.Others(summary=page)

    monkeypatch.setattr(trace, "ask_others", ask)
    for log in (alone, Path(shutil.copy(alone, alone.with_name("other.darshan")))):
        assert main(["trace", str(log)]) == EXIT_OK
        beside = Path(f"{log.stem}.{others.SUMMARY}")
        assert beside.read_text() == f"of {log.name}"
        assert f'href="{beside}"' in Path(f"{log.stem}.html").read_text()
        assert f"wrote {beside}" in capsys.readouterr().err


def test_pages_that_nobody_asked_for_replace_nothing(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(_: Log, page: Path) -> others.Others:
        page.write_text("summary")
        return others.Others(summary=page)

    monkeypatch.setattr(trace, "ask_others", ask)
    users = [Path("mine.html"), Path(f"mine-2.{others.SUMMARY}")]
    for path in users:
        path.write_text("the user's")
    assert main(["trace", str(alone)]) == EXIT_OK
    assert [path.read_text() for path in users] == ["the user's"] * 2
    assert "Where the seconds went" in Path("mine-2.html").read_text()
    assert main(["trace", str(alone), "--html", "mine.html"]) == EXIT_OK
    assert "Where the seconds went" in Path("mine.html").read_text()


def test_a_log_beside_a_document_is_a_run(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(copied / "trace.darshan"), "--json"]) == EXIT_OK
    assert "verdict" in json.loads(capsys.readouterr().out)


def test_the_heat_maps_hold_every_byte() -> None:
    for name in CAUSES:
        log = read_log(DATA / name / "trace.darshan", heat=True)
        moved = sum(
            file.count("BYTES_READ", "BYTES_WRITTEN")
            for file in log.files
            if file.module == "POSIX"
        )
        both = log.heat["POSIX"].ranks.values()
        assert sum(sum(reads) + sum(writes) for reads, writes in both) == moved


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA / "mpich-sieving", tmp_path / "S3d_1"))


def test_the_command_prints_the_ledger_and_writes_a_page(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", str(copied), "--no-summary"]) == EXIT_OK
    said = capsys.readouterr().out
    assert f"{PAYLOAD:,}" in said and SIEVING in said
    assert "cb_nodes was set to 2; the library used 1" in said
    page = (copied / "trace.html").read_text()
    assert drawn(page) == ["Throughput over time", HEAT, "Access sizes"], "no single accesses"
    assert 'href="result.json"' in page and 'href="trace.darshan"' in page
    assert SIEVING in page
    assert "http://" not in page.replace("http://www.w3.org", "")  # one file, opens from disk


def test_without_a_folder_the_last_traced_run_is_shown(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", "--json", "--output", str(copied.parent)]) == EXIT_OK
    data = json.loads(capsys.readouterr().out)
    assert data["verdict"] == "explained"
    assert [side["payload"] for side in data["sides"]] == [PAYLOAD, PAYLOAD]


def test_a_ledger_that_does_not_add_up_is_exit_code_1(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads((copied / "result.json").read_text())
    document["payload"]["bytes"] *= 2
    document["file_bytes"] *= 2
    (copied / "result.json").write_text(json.dumps(document))
    assert main(["trace", str(copied), "--json"]) == EXIT_NOT_VERIFIED
    assert "were not written by MPI-IO calls" in capsys.readouterr().out


@pytest.mark.parametrize("damage", ["no log", "cut log", "no document", "stopped run", "nothing"])
def test_what_cannot_be_shown_is_one_line(
    copied: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    log, document = copied / "trace.darshan", copied / "result.json"
    if damage == "no log":
        log.unlink()
    elif damage == "cut log":
        log.write_bytes(log.read_bytes()[:1000])
    elif damage == "no document":
        document.unlink()
    elif damage == "stopped run":
        document.write_text('{"schema": "iogauge.result/1", "status": "error"}')
    words = ["--output", str(copied / "empty")] if damage == "nothing" else [str(copied)]
    assert main(["trace", *words]) == EXIT_DATA
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1 and str(copied) in said[0]


def test_a_summary_that_fails_is_left_out(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = read_log(copied / "trace.darshan")
    monkeypatch.setattr(others.sys, "executable", "/bin/false")
    found = others.ask_others(log, copied / others.SUMMARY)
    assert found.summary is None and "left out" in found.problems[0]


def test_what_other_programs_could_not_do_is_said(
    copied: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = others.Others(problems=("left out",))
    monkeypatch.setattr(trace, "ask_others", lambda *_: failed)
    assert main(["trace", str(copied)]) == EXIT_OK
    assert capsys.readouterr().err.startswith("left out\n")
