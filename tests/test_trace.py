"""`python -m analysis trace` on recorded runs (tests/data/darshan, see its README)."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from analysis import trace, trace_chart
from analysis.__main__ import main
from analysis.darshan_log import read_log
from analysis.errors import EXIT_DATA, EXIT_NOT_VERIFIED, EXIT_OK
from analysis.ledger_verdict import HOLES, PADDING, PAST_END, READ_SIEVING, REREADING, SIEVING

DATA = Path(__file__).parent / "data" / "darshan"

# 16 values of 8 bytes in each of 12 x 10 x 8 points, 2 repeats.
PAYLOAD = 12 * 10 * 8 * 16 * 8 * 2

# Run -> the causes that its ledger must name; those in the second set may come with them.
CAUSES: dict[str, tuple[set[str], set[str]]] = {
    "mpich-sieving": ({SIEVING}, {READ_SIEVING}),
    "mpich-collective-dxt": (set(), set()),
    "ompio-collective": ({READ_SIEVING}, set()),
    "openmpi-romio-sieving": ({SIEVING}, {READ_SIEVING}),
    "openmpi-hdf5": ({PADDING, REREADING}, {READ_SIEVING}),
    "mpich-pnetcdf": ({PADDING, REREADING, PAST_END}, set()),
    "openmpi-posix-ceilings": (set(), set()),
}


def causes(traced: trace.TracedRun) -> set[str]:
    return {reason.split(" (")[0] for reason in traced.judgement.reasons}


@pytest.mark.parametrize("name", CAUSES)
def test_recorded_ledgers(name: str) -> None:
    traced = trace.load(DATA / name)
    must, may = CAUSES[name]
    found = causes(traced)
    assert must <= found <= must | may
    assert HOLES not in found
    assert traced.judgement.verdict == ("explained" if found else "balanced")
    for side in traced.ledger.sides:
        assert side.payload == PAYLOAD
        assert side.repeats == 2
        assert side.mpiio is None or side.mpiio >= PAYLOAD
        assert side.posix >= PAYLOAD


def test_hints_asked_and_effective_stand_beside_the_writers() -> None:
    ledger = trace.load(DATA / "mpich-collective-dxt").ledger
    assert ledger.hints["cb_nodes"] == ("2", "1")  # ROMIO cuts it to one on one node
    write = ledger.side("write")
    posix = write.layer("POSIX") if write else None
    assert posix is not None and posix.processes == 1


def test_every_recorded_log_has_a_picture_of_each_kind() -> None:
    for name in CAUSES:
        traced = trace.load(DATA / name)
        for chart in (
            trace_chart.timeline(traced.log),
            trace_chart.heatmap(traced.log),
            trace_chart.histogram(traced.ledger),
        ):
            assert chart is not None, name


def test_each_access_is_in_the_time_line_of_a_run_with_dxt() -> None:
    log = read_log(DATA / "mpich-collective-dxt" / "trace.darshan", segments=True)
    chart = trace_chart.timeline(log)
    assert chart is not None
    spec = chart.to_dict()
    drawn = spec["datasets"][spec["data"]["name"]]
    posix = [file for file in log.files if file.module == "POSIX"]
    assert len(drawn) == sum(file.count("READS", "WRITES") for file in posix)
    assert {row["direction"] for row in drawn} == {"read", "write"}
    assert all(0 < row["start"] <= row["end"] <= log.seconds for row in drawn)


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
    assert "cb_nodes asked 2, effective 1" in said
    page = (copied / "trace.html").read_text()
    assert page.count("<svg") == 3
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


def test_a_summary_that_fails_is_left_out(
    copied: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(trace.sys, "executable", "/bin/false")
    log: Any = argparse.Namespace(path=copied / "trace.darshan")
    nothing: Any = None
    traced = trace.TracedRun(copied, {}, log, nothing, nothing)
    assert trace.with_summary(traced).summary is None
    assert "left out" in capsys.readouterr().err
