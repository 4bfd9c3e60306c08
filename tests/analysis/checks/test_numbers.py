# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that people act on, otherwise than processes, libraries and calls themselves say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.checks import evidence, evidence_of_trace
from iogauge.analysis.checks.beside_trace import against_the_recorder
from iogauge.analysis.checks.result_file import Wrong
from iogauge.analysis.checks.verdict import check
from tests.recorded_runs import Run, document_of, traced

LATENCY = {"calls": 4, "p50": 1.0, "p90": 2.0, "p99": 2.0, "p999": 2.0, "max": 4.0}
SLOWEST = {"process": 1, "host": "n2", "seconds": 9.0, "p50": 1.0, "p99": 2.0}


def document() -> dict[str, Any]:
    """Of two processes, each on a host."""
    data = document_of("posix").document
    data["verification"]["verdict"] = "not asked"
    data["asked"]["fsync"] = False
    data["system"] |= {
        "processes": 2, "io_processes": 0, "nodes": 2, "hosts": ["n1", "n2"],
        "processes_per_node": 1,
    }  # fmt: skip
    data["libraries"] = {"mpi": "MPI v4.1", "hdf5": "1.10.8", "cgns": "4.3"}
    side = {**data["samples"][0]["write"], "latency": {**LATENCY, "slowest": {**SLOWEST}}}
    data["samples"] = [data["samples"][0] | {"series": None, "write": side, "read": None}]
    return data


def said(data: dict[str, Any], folder: Path, calls: str = "0 1 1000000000 3\n") -> str:
    (folder / "hints-000000-7").write_text(
        "host\t1\thost\tn1\nlibrary\t1\tmpi\tMPI v4.1, package: x\nlibrary\t1\thdf5\t1.10.8\n"
    )
    (folder / "hints-000001-8").write_text("host\t1\thost\tn2\n")
    (folder / "durations-000000-7").write_text(calls)
    return "; ".join(against_the_recorder(data, folder))


def test_what_is_right_passes(tmp_path: Path) -> None:
    assert not said(document(), tmp_path)
    assert not said(document_of("posix").document | document(), tmp_path, "1 0 9000000000 99\n")


LIES: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "nodes": (lambda d: d["system"].update(nodes=3), "system.nodes is 3, but processes ran on"),
    "hosts": (lambda d: d["system"].update(hosts=["n1", "n3"]), "system.hosts is ['n1', 'n3']"),
    "a node's processes": (
        lambda d: d["system"].update(processes_per_node=2), "system.processes_per_node is 2",
    ),
    "slow host": (
        lambda d: d["samples"][0]["write"]["latency"]["slowest"].update(host="n1"),
        "write: the slowest process 1 ran on n2, not on n1",
    ),
    "MPI": (lambda d: d["libraries"].update(mpi="MPI v4"), "libraries.mpi is MPI v4, but"),
    "HDF5": (lambda d: d["libraries"].update(hdf5="1.14.8"), "libraries.hdf5 is 1.14.8, but"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_another_machine_is_refused(name: str, tmp_path: Path) -> None:
    data = document()
    change, reason = LIES[name]
    change(data)
    assert reason in said(data, tmp_path)


@pytest.mark.parametrize(("name", "size"), [("p50", 0.5), ("p90", 0.5), ("max", 3.0)])
def test_percentiles_below_the_calls(name: str, size: float, tmp_path: Path) -> None:
    """Of four calls two take 1 s at most, the third 2 s, and one 4 s."""
    data, calls = document(), "0 1 1000000000 2\n0 1 2000000000 1\n0 1 4000000000 1\n"
    assert not said(data, tmp_path, calls)
    data["samples"][0]["write"]["latency"][name] = size
    assert "write: calls took 8 s, by their percentiles" in said(data, tmp_path, calls)


def test_a_repeat_longer_than_from_its_begin_to_its_end() -> None:
    data = traced("mpich-holes").document
    assert not list(evidence.spans_and_seconds(data))
    for span in data["samples"][0]["write"]["spans"]:
        span["end"] = span["begin"] + 0.9 * (span["end"] - span["begin"])
    (found,) = evidence.spans_and_seconds(data)
    assert "but its phases were" in found


def cached() -> Run:
    run = document_of("posix", ceilings=True)
    run.document["used"]["caches"] = "cached"
    run.document["system"]["filesystem"] |= {"type": "ext4", "options": "rw"}
    run.document["summary"]["read_fraction_fpp"] = 1.0
    return run


@pytest.mark.parametrize(("own", "wrong"), [(0, True), (2**50, False)])
def test_ceilings_colder_than_the_run(own: int, wrong: bool) -> None:
    run = cached()
    cold = replace(run.outside, storage_read=own, ceilings_read=2**50)
    found = list(evidence.against_the_caches(run.document, cold))
    assert found == ["the ceilings were read from storage, and the run's files from memory"] * wrong
    warm = replace(run.outside, storage_read=own, ceilings_read=0)
    assert not list(evidence.against_the_caches(run.document, warm))


def test_ceilings_flushed_though_the_run_is_not() -> None:
    run = traced("openmpi-posix-ceilings")
    run.document["asked"]["fsync"] = False
    found = "; ".join(evidence_of_trace.against_the_trace(run.document, run.trace))
    flushed = [f for f in run.trace.files if "ceiling-fpp" in f.path and f.count("FSYNCS")]
    assert ("expected 0 fsyncs of" in found) == bool(flushed)
    for file in run.trace.files:
        if "ceiling-fpp" in file.path and file.module == "POSIX":
            file.values["FSYNCS"] = 1
    found = "; ".join(evidence_of_trace.against_the_trace(run.document, run.trace))
    assert "ceilings (fpp): expected 0 fsyncs of" in found


def test_a_given_hint_that_is_called_one_of_the_environment() -> None:
    run = traced("mpich-holes")
    check(run.document, run.expected)
    asked = run.document["asked"]
    asked["hints"] = {"cb_nodes": "2"}
    asked["hints_environment"] = {"cb_nodes": "ROMIO_HINTS"}
    with pytest.raises(Wrong, match=r"asked.hints_environment.cb_nodes is 'ROMIO_HINTS'"):
        check(run.document, replace(run.expected, hints={"cb_nodes": "2"}))
