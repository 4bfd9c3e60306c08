# SPDX-License-Identifier: BSD-3-Clause
"""The store: nothing is lost, nothing is stored twice, and what cannot be used changes nothing."""

from __future__ import annotations

import json
import shutil
import sqlite3
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.store import database as store
from iogauge.analysis.store import files as files_of_store
from iogauge.analysis.store.ingest import ingest
from tests.analysis_recorded import Recorded, run_analysis, s3d, write_parquet

MPIIO = s3d("mpiio:collective")
RECORDS = 1094  # of the recorded session: 22 runs of 3 repeats, 2 skipped; 18 have files


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path / "recorded")


def files(folder: Path) -> dict[str, bytes]:
    """All but the lock, which names its last holder."""
    found = (p for p in folder.rglob("*") if p.is_file() and p.suffix != ".lock")
    return {str(p.relative_to(folder)): p.read_bytes() for p in found}


def test_every_value_of_the_documents_is_there(recorded: Recorded, tmp_path: Path) -> None:
    ingest(recorded.report, tmp_path / "store")
    connection = store.connect(tmp_path / "store")
    document = json.loads(recorded.document(MPIIO, "openmpi").read_text())
    found = connection.execute(
        'SELECT quantity, repeat, value, unit FROM records WHERE "case" = ? AND stack = ?',
        [MPIIO, "openmpi"],
    ).fetchall()
    values = {(quantity, repeat): value for quantity, repeat, value, _ in found}
    for sample in document["samples"]:
        number = sample["repeat"]
        assert values["write_bw", number] == sample["write"]["bandwidth"]
        assert values["read_seconds", number] == sample["read"]["seconds"]
        assert values["ceiling_fpp_write", number] == sample["ceilings"]["fpp"]["write"]
        for phase, times in sample["write"]["phases"].items():
            assert values[f"write_phase_{phase}", number] == times["max"]
    units = {quantity: unit for quantity, _, _, unit in found}
    assert units["write_bw"] == units["ceiling_fpp_read"] == "MiB/s"
    assert units["write_phase_flush"] == units["read_seconds"] == "s"
    assert units["write_library_calls"] == "1"


def test_runs_without_numbers_are_there_too(recorded: Recorded, tmp_path: Path) -> None:
    ingest(recorded.report, tmp_path / "store")
    found = store.rows(
        store.connect(tmp_path / "store"),
        "SELECT DISTINCT method, stack, status, reason FROM records WHERE quantity IS NULL",
    )
    assert [(row["method"], row["stack"], row["status"]) for row in found] == [
        ("pnetcdf", "mpich", "skipped")
    ]
    assert "pnetcdf.h is missing" in found[0]["reason"]


def test_partitions_are_system_and_month(recorded: Recorded, tmp_path: Path) -> None:
    done = ingest(recorded.report, tmp_path / "store")
    name = f"{recorded.read()['session_info']['uuid']}.parquet"
    where = tmp_path / "store" / "records" / "system=local" / "month=2026-11" / name
    assert Path(done["file"]) == where
    assert where.exists()
    assert done["records"] == RECORDS


def test_ingesting_again_changes_nothing(recorded: Recorded, tmp_path: Path) -> None:
    assert ingest(recorded.report, tmp_path / "store")["state"] == "new"
    before = files(tmp_path / "store")
    assert ingest(recorded.report, tmp_path / "store")["state"] == "unchanged"
    assert files(tmp_path / "store") == before


def test_a_session_that_lost_its_files_does_not_replace_itself(
    recorded: Recorded, tmp_path: Path
) -> None:
    ingest(recorded.report, tmp_path / "store")
    before = files(tmp_path / "store")
    recorded.document(MPIIO, "mpich").unlink()
    assert ingest(recorded.report, tmp_path / "store")["state"] == "kept"
    assert files(tmp_path / "store") == before


def test_a_ledger_that_came_later_is_added(recorded: Recorded, tmp_path: Path) -> None:
    ingest(recorded.report, tmp_path / "store")
    ledger = recorded.document(MPIIO, "mpich").with_name("ledger.json")
    layer = {"name": "MPI-IO", "bytes": 1901824, "calls": 4, "sizes": {"1048576": 1}}
    side = {"direction": "write", "amplification": 1.25, "layers": [layer]}
    ledger.write_text(json.dumps({"verdict": "explained", "reasons": ["padding"], "sides": [side]}))
    assert ingest(recorded.report, tmp_path / "store")["state"] == "replaced"
    found = store.rows(
        store.connect(tmp_path / "store"),
        "SELECT ledger, quantity, value, unit FROM records "
        "WHERE starts_with(quantity, 'ledger_') ORDER BY quantity",
    )
    assert {row.pop("ledger") for row in found} == {"explained: padding"}
    assert found == [
        {"quantity": "ledger_write_amplification", "value": 1.25, "unit": "1"},
        {"quantity": "ledger_write_mpiio_bytes", "value": 1901824.0, "unit": "bytes"},
        {"quantity": "ledger_write_mpiio_calls", "value": 4.0, "unit": "1"},
    ]


def test_what_io_processes_hide(recorded: Recorded, tmp_path: Path) -> None:
    """Of 1 s of writing, 0.8 s drain while the application goes on: it sees 5 times the speed."""

    def change(document: dict[str, Any]) -> None:
        for sample in document["samples"]:
            drain = {"min": 0.8, "mean": 0.8, "max": 0.8}
            sample["write"].update(seconds=1.0, bandwidth=100.0)
            sample["write"]["phases"]["drain"] = drain
            direct = {"seconds": 0.5, "bandwidth": 200.0, "library_calls": 1, "phases": {}}
            sample["direct"] = direct
        document["summary"].update(apparent_bw=500.0, apparent_speedup=2.5, overlap=-1.0)

    recorded.edit_document(MPIIO, "mpich", change)
    recorded.edit_case(MPIIO, "mpich", lambda c: c.update(perfvalues={}))
    ingest(recorded.report, tmp_path / "store")
    found = store.rows(
        store.connect(tmp_path / "store"),
        "SELECT quantity, median(value) AS value FROM records WHERE quantity IN "
        "('apparent_bw', 'apparent_seconds', 'apparent_speedup', 'overlap') GROUP BY ALL",
    )
    assert {row["quantity"]: round(row["value"], 9) for row in found} == {
        "apparent_bw": 500, "apparent_seconds": 0.2, "apparent_speedup": 2.5, "overlap": -1,
    }  # fmt: skip


@pytest.mark.slow
def test_ingests_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    """Eight processes, each its own session, and all of them one that they share."""
    sessions = [Recorded(tmp_path / str(number)) for number in range(8)]
    for session in sessions[1:]:
        session.edit(lambda data: data["session_info"].update(uuid=str(uuid.uuid4())))
    folder = tmp_path / "store"

    def one(session: Recorded) -> int:
        done = run_analysis("store", "add", session.report, sessions[0].report, "--store", folder)
        return done.returncode

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(one, sessions)) == {0}
    count = "SELECT count(DISTINCT session), count(*) FROM records"
    assert store.connect(folder).execute(count).fetchone() == (8, 8 * RECORDS)
    assert not list(folder.rglob(".*"))


def _nan(session: Recorded) -> None:
    path = session.document(MPIIO, "openmpi")
    text = path.read_text()
    value = json.loads(text)["samples"][0]["write"]["bandwidth"]
    path.write_text(text.replace(f'"bandwidth": {value!r}', '"bandwidth": NaN', 1))
    if "NaN" not in path.read_text():  # the kernel prints more digits than Python
        data = json.loads(text)
        data["samples"][0]["write"]["bandwidth"] = float("nan")
        path.write_text(json.dumps(data))


def _document(**change: Any) -> Callable[[Recorded], None]:
    return lambda session: session.edit_document(MPIIO, "openmpi", lambda d: d.update(change))


def _zero(session: Recorded) -> None:
    session.edit_document(MPIIO, "openmpi", lambda d: d["samples"][1]["read"].update(bandwidth=0))


def _units(session: Recorded) -> None:
    def change(case: dict[str, Any]) -> None:
        case["perfvalues"]["local:host:write_bw"][4] = "MB/s"

    session.edit_case(MPIIO, "openmpi", change)


def _cut(path_of: Callable[[Recorded], Path]) -> Callable[[Recorded], None]:
    def cut(session: Recorded) -> None:
        path = path_of(session)
        path.write_text(path.read_text()[:700])

    return cut


BAD: dict[str, tuple[Callable[[Recorded], object], str]] = {
    "missing report": (lambda s: s.report.unlink(), "expected ReFrame's report, found no file"),
    "truncated report": (_cut(lambda s: s.report), "expected a complete JSON document"),
    "truncated document": (
        _cut(lambda s: s.document(MPIIO, "openmpi")),
        "result.json: not JSON: expected a complete JSON document",
    ),
    "empty session": (lambda s: s.edit(lambda d: d.update(runs=[])), "found an empty session"),
    "other report version": (
        lambda s: s.edit(lambda d: d["session_info"].update(data_version="9.0")),
        "report of another ReFrame (data version '9.0', this reads 4.x)",
    ),
    "two schema versions": (
        _document(schema="iogauge.result/2"),
        "result file of a newer iogauge (schema 'iogauge.result/2', this reads 'iogauge.result/1')",
    ),
    "NaN": (_nan, "NaN: expected a number of JSON"),
    "zero": (_zero, "samples/1/read/bandwidth: 0 is less than"),
    "wrong units": (_units, "expected write_bw in MiB/s, found 'MB/s'"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_named_and_leaves_the_store_as_it_was(kind: str, tmp_path: Path) -> None:
    good, bad = Recorded(tmp_path / "good"), Recorded(tmp_path / "bad")
    run_analysis("store", "add", good.report, "--store", tmp_path / "store")
    before = files(tmp_path / "store")
    assert before
    bad.edit(lambda data: data["session_info"].update(uuid=str(uuid.uuid4())))
    spoil, said = BAD[kind]
    spoil(bad)
    done = run_analysis("store", "add", bad.report, "--store", tmp_path / "store")
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert files(tmp_path / "store") == before


def database(path: Path, sessions: list[Recorded], version: str = "1.0") -> Path:
    """As ReFrame makes it (reframe/frontend/reporting/storage.py)."""
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE sessions(uuid TEXT PRIMARY KEY, session_start_unix REAL, "
            "session_end_unix REAL, json_blob TEXT, report_file TEXT)"
        )
        connection.execute("CREATE TABLE metadata(schema_version TEXT)")
        connection.execute("INSERT INTO metadata VALUES(?)", [version])
        for session in sessions:
            info = session.read()["session_info"]
            row = (info["uuid"], info["time_start_unix"], 0, session.report.read_text(), "")
            connection.execute("INSERT INTO sessions VALUES(?, ?, ?, ?, ?)", row)
    connection.close()
    return path


def test_reframes_database_holds_the_same_sessions(recorded: Recorded, tmp_path: Path) -> None:
    path = database(recorded.folder / "results.db", [recorded])
    assert run_analysis("store", "add", path, "--store", tmp_path / "a").returncode == 0
    assert run_analysis("store", "add", recorded.report, "--store", tmp_path / "b").returncode == 0
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_a_database_of_another_version_is_refused(recorded: Recorded, tmp_path: Path) -> None:
    path = database(tmp_path / "results.db", [recorded], "7.0")
    done = run_analysis("store", "add", path, "--store", tmp_path / "store")
    assert done.returncode == 3
    assert "database of another ReFrame (schema '7.0', this reads 1.x)" in done.stderr
    assert not (tmp_path / "store").exists()


def test_one_bad_session_does_not_stop_the_others(tmp_path: Path) -> None:
    good, bad = Recorded(tmp_path / "good"), Recorded(tmp_path / "bad")
    _zero(bad)
    done = run_analysis(
        "store", "add", bad.report, good.report, "--store", tmp_path / "store", "--json"
    )
    assert done.returncode == 3
    assert [row["state"] for row in json.loads(done.stdout)] == ["new"]


def test_a_broken_report_of_a_folder_does_not_stop_the_others(
    recorded: Recorded, tmp_path: Path
) -> None:
    """Found below --output, not named; a dry run's is passed over without a word."""
    reports = recorded.report.parent
    (reports / "run-report-1.json").write_text(recorded.report.read_text()[:1000])
    dry = json.loads(recorded.report.read_text())
    dry["session_info"]["cmdline"] += " --dry-run"
    (reports / "run-report-2.json").write_text(json.dumps(dry))
    done = run_analysis(
        "store", "add", "--json", "--output", recorded.output, "--store", tmp_path / "store"
    )
    assert done.returncode == 3
    assert [entry["state"] for entry in json.loads(done.stdout)] == ["new"]
    assert "run-report-1.json: not JSON: expected a complete JSON document" in done.stderr
    assert "run-report-2.json" not in done.stderr


def test_nothing_but_dry_runs_is_said(recorded: Recorded, tmp_path: Path) -> None:
    def dry(report: dict[str, Any]) -> None:
        report["session_info"]["cmdline"] += " --dry-run"

    recorded.edit(dry)
    done = run_analysis("store", "add", "--output", recorded.output, "--store", tmp_path / "store")
    assert done.returncode == 3
    assert "found dry runs" in done.stderr
    assert not (tmp_path / "store").exists()


def test_a_store_of_another_version_is_refused_by_name(recorded: Recorded, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    ingest(recorded.report, folder)
    (folder / "store.json").write_text('{"schema": "iogauge.store/7"}')
    for command in (("store", "add", recorded.report), ("compare", "last~1", "last")):
        done = run_analysis(*command, "--store", folder)
        assert done.returncode == 3
        assert "store file of a newer iogauge (schema 'iogauge.store/7', this" in done.stderr


def test_a_session_stored_before_a_column_came_is_read(recorded: Recorded, tmp_path: Path) -> None:
    ingest(recorded.report, tmp_path)
    (path,) = tmp_path.rglob("*.parquet")
    write_parquet(path, f"SELECT * EXCLUDE ({', '.join(store.LATER)}) FROM '{path}'")
    shutil.rmtree(tmp_path / files_of_store.SUMS)  # which came later too
    found = store.connect(tmp_path).execute("SELECT count(*), count(cores) FROM records").fetchone()
    assert found == (RECORDS, 0)


def test_no_store_says_how_to_make_one(tmp_path: Path) -> None:
    done = run_analysis("compare", "last~1", "last", "--store", tmp_path / "none")
    assert done.returncode == 3
    assert "iogauge store add" in done.stderr


def test_a_moved_store_finds_its_documents(recorded: Recorded) -> None:
    """Store and results lie side by side: their paths to each other are kept."""
    ingest(recorded.report, recorded.output / "store")
    moved = recorded.output.rename(recorded.folder / "moved")
    paths = store.rows(
        store.connect(moved / "store"), "SELECT DISTINCT document FROM records WHERE document <> ''"
    )
    assert len(paths) == 22
    assert all((moved / row["document"]).exists() for row in paths)
