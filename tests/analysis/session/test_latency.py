# SPDX-License-Identifier: BSD-3-Clause
"""Times of single calls from the document to the answers: slow calls that no bandwidth shows."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from prometheus_client.openmetrics import parser

from iogauge.analysis.errors import UsageError
from iogauge.analysis.session.loader import load_session
from iogauge.analysis.session.model import speeds
from iogauge.analysis.session.rows import make_table
from iogauge.analysis.store.ingest import ingest
from iogauge.cli.main import main
from tests.analysis_made import session, split
from tests.analysis_recorded import Recorded, s3d

CASE = s3d("mpiio:collective")
JOBS = 12
P99 = {"mpich": 0.001, "openmpi": 0.021}  # seconds


def _add(document: dict[str, Any], p99: float) -> None:
    for sample in document["samples"]:
        more = sample["repeat"] * 1e-6
        sample["write"]["latency"] = {
            "calls": 2000, "p50": 1e-6 + more, "p90": 2e-6 + more, "p99": p99 + more,
            "p999": p99 + more, "max": 0.5 + more,
            "slowest": {"process": 1, "host": "vm", "seconds": 1.5, "p50": 1e-6, "p99": p99},
        }  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Two stacks of equal bandwidth; of one, each 50th call is 20 ms slower."""
    bandwidths = [100.0 + job % 3 for job in range(JOBS)]
    made = session(tmp_path_factory.mktemp("slow"), {(CASE, stack): bandwidths for stack in P99})
    for stack, p99 in P99.items():
        made.edit_document(CASE, stack, partial(_add, p99=p99))
    return made


@pytest.fixture(scope="module")
def store(made: Recorded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    ingest(split(made).report, folder)
    return folder


def compared(store: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    asked = ["compare", "mpich", "openmpi", "--by", "stack", "--store", str(store), "--json"]
    status = main([*asked, *words])
    return status, json.loads(capsys.readouterr().out)


def test_a_gate_on_slow_calls(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--quantity", "write_p99", "--fail-slower", "5%"]
    status, rows = compared(store, capsys, *words)
    assert status == 1, rows
    (row,) = rows
    assert (row["quantity"], row["unit"], row["gate"]) == ("write_p99", "s", "slower")
    assert row["ratio"] < 0.1
    assert compared(store, capsys, *words[2:])[0] != 1, "of the bandwidths"


def test_of_equal_calls_the_same_gate_fails_nobody(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, rows = compared(store, capsys, "--quantity", "write_max", "--fail-slower", "5%")
    assert status != 1
    assert {row["verdict"] for row in rows} == {"no difference"}


def test_the_table_the_csv_and_the_metrics_have_them(
    made: Recorded, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["summary", str(made.report), "--csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert {row["stack"]: round(float(row["write_p99_s"]), 3) for row in rows} == P99
    assert {row["read_p99_s"] for row in rows} == {""}, "not measured"
    assert main(["summary", str(made.report), "--wide"]) == 0
    text = capsys.readouterr().out
    assert all(word in text.replace("_", " ") for word in ("write p99 ms", "21", "write max ms"))
    target = tmp_path / "iogauge.prom"
    assert main(["export", "openmetrics", str(made.report), "--to", str(target)]) == 0
    families = parser.text_string_to_metric_families(  # type: ignore[no-untyped-call]
        target.read_text()
    )
    (family,) = [one for one in families if one.name == "iogauge_call_seconds"]
    values = {
        s.labels["stack"]: round(s.value, 3)
        for s in family.samples
        if (s.labels["direction"], s.labels["of_calls"]) == ("write", "p99")
    }
    assert values == P99


def test_without_a_direction_there_is_no_verdict() -> None:
    for quantity in ("ledger_write_payload", "queue_limit", "overlap", "ledger_processes"):
        with pytest.raises(UsageError, match=f"{quantity}: neither more nor less"):
            speeds(quantity, [1.0, 2.0])


def test_rates_of_small_files_are_of_all_jobs(tmp_path: Path) -> None:
    table = make_table(load_session(Recorded(tmp_path, "session-all").report))
    row = next(row for row in table.ran if row.rates)
    assert row.run.result
    for rates in ([3.0], [1.0, 100.0, 7.0], [100.0, 8.0, 2.0, 6.0]):
        found = [{"create": rate, "open": 2 * rate} for rate in rates]
        results = [replace(row.run.result, rates=one) for one in found]
        runs = tuple(replace(row.run, result=one) for one in results)
        middle = median(rates)
        assert replace(row, runs=runs).rates == {"create": middle, "open": 2 * middle}
    assert replace(row, runs=(*runs, replace(row.run, result=None))).rates["create"] == middle
