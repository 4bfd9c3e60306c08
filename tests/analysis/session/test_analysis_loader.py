# SPDX-License-Identifier: BSD-3-Clause
"""The loader: every test of a report becomes a row, and bad input is named."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iogauge.analysis.errors import (
    AnalysisError,
    MalformedReportError,
    NothingFoundError,
    UnknownSchemaError,
)
from iogauge.analysis.session.loader import last_report, load_session
from iogauge.analysis.session.model import Run, Session
from tests.analysis_recorded import DATA, Recorded, s3d

MPIIO = s3d("mpiio:collective")


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    return Recorded(tmp_path)


def the_run(session: Session, name: str, stack: str) -> Run:
    found = [run for run in session.runs if run.case == name and run.stack == stack]
    assert len(found) == 1
    return found[0]


def test_every_test_is_a_row(recorded: Recorded) -> None:
    session = load_session(recorded.report)
    expected = Counter((case["display_name"], case["environ"]) for case in recorded.cases())
    assert Counter((run.case, run.stack) for run in session.runs) == expected
    assert Counter(run.status for run in session.runs) == {"ok": 22, "skipped": 2}
    assert session.uuid == recorded.read()["session_info"]["uuid"]


def test_a_row_holds_what_the_document_says(recorded: Recorded) -> None:
    run = the_run(load_session(recorded.report), MPIIO, "openmpi")
    document = json.loads(recorded.document(MPIIO, "openmpi").read_text())
    assert run.result is not None
    assert (run.system, run.partition, run.stack, run.fs) == ("local", "host", "openmpi", "ram")
    assert (run.pattern, run.method, run.mode) == ("s3d", "mpiio", "collective")
    assert (run.scale, run.processes, run.variant) == ("smoke", 2, "")
    assert (run.result.fs_type, run.result.caches) == ("tmpfs", "memory")
    assert (run.status, run.verdict, run.reason) == ("ok", "verified", "")
    assert run.result.payload_bytes == document["payload"]["bytes"]
    assert run.result.libraries == document["libraries"]
    assert [s.write for s in run.samples] == [s["write"]["bandwidth"] for s in document["samples"]]
    assert [s.ceilings["shared", "read"] for s in run.samples] == [
        s["ceilings"]["shared"]["read"] for s in document["samples"]
    ]
    assert run.document == recorded.document(MPIIO, "openmpi")
    assert run.job_script is not None and "mpiexec" in run.job_script.read_text()


def test_peak_tests_are_known_by_their_tag(recorded: Recorded) -> None:
    """Whatever their file is called."""
    peaks = {run.case for run in load_session(recorded.report).runs if run.is_peak}
    assert peaks == {c["display_name"] for c in recorded.cases() if "peak" in c["tags"]} != set()
    recorded.edit_case(MPIIO, "mpich", lambda c: c.update(filename="/checkout/peak.py"))
    assert not the_run(load_session(recorded.report), MPIIO, "mpich").is_peak
    recorded.edit_case(MPIIO, "mpich", lambda c: c.update(tags=["s3d", "peak"]))
    assert the_run(load_session(recorded.report), MPIIO, "mpich").is_peak


def test_a_moved_session_reads_its_own_documents(recorded: Recorded) -> None:
    session = load_session(recorded.report)
    assert session.output.is_relative_to(recorded.folder)
    for run in session.runs:
        if run.status == "ok":
            assert run.document is not None and run.document.is_relative_to(recorded.folder)


def test_skipped_tests_say_why(recorded: Recorded) -> None:
    skipped = [run for run in load_session(recorded.report).runs if run.status == "skipped"]
    assert {(run.method, run.stack) for run in skipped} == {("pnetcdf", "mpich")}
    assert all("pnetcdf.h is missing" in run.reason for run in skipped)


def test_tests_of_a_failed_build_name_the_build(recorded: Recorded) -> None:
    def fail(data: dict[str, Any]) -> None:
        for case in data["runs"][0]["testcases"]:
            if case["environ"] == "mpich":
                built = case["fixture"]
                case |= {"result": "fail" if built else "fail_deps", "skip_reason": ""}
                case["fail_reason"] = "the compiler said no" if built else None

    recorded.edit(fail)
    runs = [run for run in load_session(recorded.report).runs if run.stack == "mpich"]
    assert Counter(run.status for run in runs) == {"failed": 11}
    assert {run.reason for run in runs} == {"the compiler said no"}


def test_a_failed_build_names_its_first_error(recorded: Recorded, tmp_path: Path) -> None:
    """Also for a test that depends on it by another fixture, which gives no reason itself."""
    (tmp_path / "rfm_build.err").write_text(
        "CMake Error at CMakeLists.txt:67 (find_libraries):\n  HDF5 is\n  serial\n\nCall Stack:\n"
    )
    reason = "build error: build job failed with exit code: 1"

    def fail(data: dict[str, Any]) -> None:
        (built,) = (
            case
            for case in data["runs"][0]["testcases"]
            if case["environ"] == "mpich" and case["fixture"]
        )
        built |= {"result": "fail", "fail_reason": reason, "stagedir": str(tmp_path)}
        between = {**built, "unique_name": "Between", "result": "fail_deps", "fail_reason": None}
        names = [built["unique_name"], f"{built['system']}:{built['partition']}", "mpich"]
        between["dependencies_actual"] = [names]
        data["runs"][0]["testcases"].append(between)
        for case in data["runs"][0]["testcases"]:
            if case["environ"] == "mpich" and not case["fixture"]:
                case |= {"result": "fail_deps", "skip_reason": "", "fail_reason": None}
                case["dependencies_actual"] = [["Between", *names[1:]], names]

    recorded.edit(fail)
    runs = [run for run in load_session(recorded.report).runs if run.stack == "mpich"]
    assert {run.reason for run in runs} == {f"{reason}: HDF5 is serial"}


def test_a_failed_test_stays_a_row(recorded: Recorded) -> None:
    recorded.edit_case(
        MPIIO, "mpich", lambda c: c.update(result="fail", fail_reason="sanity error: too slow\nx")
    )
    run = the_run(load_session(recorded.report), MPIIO, "mpich")
    assert (run.status, run.reason) == ("failed", "too slow x")
    assert run.samples, "the numbers of a failed test are kept"


def test_a_job_that_was_ended_says_what_its_document_says(recorded: Recorded) -> None:
    """ReFrame's time-out knows no reason; the document does. Where its checks came to run, they
    have said it."""
    why = "process 1 on n1: no progress for 60 s"
    recorded.edit_document(MPIIO, "mpich", lambda d: d.update(status="hung", error=why))
    ended = {"result": "fail", "fail_reason": "job error: timed out"}
    recorded.edit_case(MPIIO, "mpich", lambda c: c.update(ended))
    run = the_run(load_session(recorded.report), MPIIO, "mpich")
    assert (run.status, run.reason) == ("failed", f"{why} (job error: timed out)")
    ended["fail_reason"] = f"sanity error: status 'hung': {why}"
    recorded.edit_case(MPIIO, "mpich", lambda c: c.update(ended))
    run = the_run(load_session(recorded.report), MPIIO, "mpich")
    assert run.reason == f"status 'hung': {why}"


def test_a_run_without_document_stays_a_row(recorded: Recorded) -> None:
    recorded.document(MPIIO, "mpich").unlink()
    run = the_run(load_session(recorded.report), MPIIO, "mpich")
    assert run.status == "failed"
    assert "no result document" in run.reason
    assert (run.pattern, run.method, run.mode, run.fs) == ("s3d", "mpiio", "collective", "ram")
    assert run.processes == 2


def test_the_last_try_of_a_test_counts(recorded: Recorded) -> None:
    def retry(data: dict[str, Any]) -> None:
        first = data["runs"][0]["testcases"]
        again = json.loads(json.dumps([c for c in first if c["display_name"] == MPIIO]))
        for case in first:
            if case["display_name"] == MPIIO:
                case |= {"result": "fail", "fail_reason": "first try"}
        data["runs"].append({"run_index": 1, "testcases": again})

    recorded.edit(retry)
    session = load_session(recorded.report)
    assert len(session.runs) == 24
    assert the_run(session, MPIIO, "openmpi").status == "ok"


def test_repeated_tests_are_one_case(recorded: Recorded) -> None:
    recorded.edit_case(
        MPIIO, "mpich", lambda c: c.update(display_name=f"{c['display_name']} %.repeat_no=1")
    )
    run = the_run(load_session(recorded.report), MPIIO, "mpich")
    assert run.variant == ""


# ---------------------------------------------------------------- what the document may do


def break_sample(key: str, value: object) -> Any:
    return lambda d: d["samples"][1]["write"].update({key: value})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (break_sample("bandwidth", 0), "samples/1/write/bandwidth: 0 is less than"),
        (break_sample("bandwidth", -3.0), "samples/1/write/bandwidth: -3.0 is less than"),
        (break_sample("bandwidth", None), "samples/1/write/bandwidth: None is not of type"),
        (break_sample("bandwidth", float("nan")), "NaN: expected a number of JSON"),
        (break_sample("bandwidth", float("inf")), "Infinity: expected a number of JSON"),
        (
            lambda d: d["samples"][0]["ceilings"]["fpp"].update(read=0),
            "samples/0/ceilings/fpp/read",
        ),
        (lambda d: d.pop("verification"), "'verification' is a required property"),
        (lambda d: d["system"].update(processes=True), "system/processes: True is not of type"),
        (lambda d: d.update(samples=[7]), "samples/0: 7 is not of type"),
        (
            lambda d: d["asked"].update(method="posix"),
            "asked.method: expected 'mpiio', which the test ran, found 'posix'",
        ),
        (
            lambda d: d["asked"].update(pattern="ior"),
            "asked.pattern: expected 's3d', which the test ran, found 'ior'",
        ),
        (lambda d: d.update(status="error", error="disk full"), "disk full"),
        (lambda d: d.update(status="hung", error="no progress for 60 s"), "no progress for 60 s"),
    ],
)
def test_a_broken_document_makes_a_failed_row(recorded: Recorded, change: Any, said: str) -> None:
    recorded.edit_document(MPIIO, "openmpi", change)
    run = the_run(load_session(recorded.report), MPIIO, "openmpi")
    assert run.status == "failed"
    assert said in run.reason
    assert "\n" not in run.reason
    assert run.result is None


def test_a_document_that_is_cut_off(recorded: Recorded) -> None:
    path = recorded.document(MPIIO, "openmpi")
    path.write_text(path.read_text()[:400])
    run = the_run(load_session(recorded.report), MPIIO, "openmpi")
    assert run.status == "failed"
    assert "expected a complete JSON document" in run.reason


def test_a_mismatch_fails_the_row_even_if_the_harness_did_not_see_it(recorded: Recorded) -> None:
    first = {
        "dataset": "pressure", "index": [3, 1, 2], "file": "f.nc", "offset": 5040,
        "expected": 1.5, "found": 1.25, "process": 1, "host": "node1",
    }  # fmt: skip

    def change(document: dict[str, Any]) -> None:
        document["status"] = "failed"
        document["verification"].update(verdict="mismatch", mismatches=1, first=first)

    recorded.edit_document(MPIIO, "openmpi", change)
    run = the_run(load_session(recorded.report), MPIIO, "openmpi")
    assert (run.status, run.verdict) == ("failed", "mismatch")
    assert (
        run.reason
        == "pressure[3,1,2]: expected 1.5, found 1.25 at byte 5040 of f.nc (process 1 on node1)"
    )


def test_an_unknown_schema_is_refused_by_name(recorded: Recorded) -> None:
    recorded.edit_document(MPIIO, "openmpi", lambda d: d.update(schema="iogauge.result/2"))
    with pytest.raises(UnknownSchemaError, match=r"result\.json: .+ newer .+'iogauge\.result/2'"):
        load_session(recorded.report)


def test_a_document_of_another_session_is_not_believed(recorded: Recorded) -> None:
    def faster(document: dict[str, Any]) -> None:
        for sample in document["samples"]:
            sample["write"]["bandwidth"] *= 1.5

    recorded.edit_document(MPIIO, "openmpi", faster)
    run = the_run(load_session(recorded.report), MPIIO, "openmpi")
    assert run.status == "failed"
    assert "where the report says write" in run.reason


# ---------------------------------------------------------------- what the report may do


def test_missing_report(tmp_path: Path) -> None:
    with pytest.raises(NothingFoundError, match=r"none\.json: expected ReFrame's report"):
        load_session(tmp_path / "none.json")
    with pytest.raises(NothingFoundError, match="expected the report of a session, found none"):
        last_report(tmp_path)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", MalformedReportError, "line 1"),
        ('{"session_info": {"data_ver', MalformedReportError, "expected a complete JSON document"),
        ("[]", MalformedReportError, "found no data_version"),
        ('{"schema": "iogauge.result/1"}', MalformedReportError, "found no data_version"),
        ('{"session_info": {"data_version": "5.0"}}', MalformedReportError, "'5.0'"),
        ('{"session_info": {"data_version": "4.2"}}', MalformedReportError, "'runs'"),
        ("\udcff", MalformedReportError, "not JSON"),
    ],
)
def test_malformed_report(tmp_path: Path, text: str, error: type[AnalysisError], said: str) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(error, match=said) as caught:
        load_session(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_truncated_report(recorded: Recorded) -> None:
    text = recorded.report.read_text()
    recorded.report.write_text(text[: len(text) // 2])
    with pytest.raises(MalformedReportError, match="expected a complete JSON document"):
        last_report(recorded.output)


def test_empty_session(recorded: Recorded) -> None:
    recorded.edit(lambda data: data["runs"][0].update(testcases=[]))
    with pytest.raises(MalformedReportError, match="found an empty session"):
        load_session(recorded.report)


def test_last_report_is_the_newest_that_ran_something(recorded: Recorded) -> None:
    reports = {}
    for age, name in enumerate(["dry", "newest", "old"]):
        path = recorded.report.with_name(f"run-report-{name}.json")
        data = recorded.read()
        if name == "dry":
            data["session_info"]["cmdline"] += " --dry-run"
        path.write_text(json.dumps(data))
        os.utime(path, (2e9 - age, 2e9 - age))
        reports[name] = path
    (recorded.report.parent / "latest.json").symlink_to(reports["old"])
    assert last_report(recorded.output) == reports["newest"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=4,
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_report_makes_another_error(recorded: Recorded, data: st.DataObject) -> None:
    """Whatever one value of a report becomes, it is loaded or refused by name."""
    report = json.loads((DATA / "session/results/reports/run-report-0.json").read_text())
    report["runs"][0]["testcases"] = report["runs"][0]["testcases"][:6]
    where: Any = report
    while True:
        keys = list(where) if isinstance(where, dict) else list(range(len(where)))
        key = data.draw(st.sampled_from(keys))
        deeper = isinstance(where[key], dict | list) and len(where[key])
        if not deeper or data.draw(st.integers(0, 3)) == 0:
            break
        where = where[key]
    if data.draw(st.booleans()):
        where[key] = data.draw(JSON)
    else:
        del where[key]
    recorded.report.write_text(json.dumps(report))
    try:
        session = load_session(last_report(recorded.output))
    except AnalysisError as error:
        assert str(recorded.folder) in str(error)
    else:
        assert session.runs
