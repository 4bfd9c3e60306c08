# SPDX-License-Identifier: BSD-3-Clause
"""`export`: each form is read back by an independent reader, and says what the documents say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import reframe
from lxml import etree
from prometheus_client import parser as plain_parser
from prometheus_client.openmetrics import parser

from iogauge.analysis.darshan.log import read_log
from iogauge.cli.main import main
from tests.analysis_recorded import DATA, Recorded, s3d

CASE = (s3d("mpiio:collective"), "mpich")
TRACED = sorted(path for path in (DATA / "darshan").iterdir())


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The recorded one, with a case that failed and a name that would break a careless writer."""
    made = Recorded(tmp_path_factory.mktemp("export"))

    def fail(case: dict[str, Any]) -> None:
        case.update(result="fail", fail_reason='sanity error: <b> "quoted" & \x1b[2J\nnext')

    made.edit_case(s3d("posix"), "mpich", fail)
    made.edit_case(s3d("posix"), "openmpi", lambda case: case.update(system='a"b\\c\n'))
    return made


def exported(target: Path, *words: object) -> str:
    assert main(["export", *map(str, words), "--to", str(target)]) == 0
    return target.read_text(encoding="utf-8")


def test_metrics_are_read_by_both_parsers_of_prometheus(session: Recorded, tmp_path: Path) -> None:
    text = exported(tmp_path / "iogauge.prom", "openmetrics", session.report)
    assert text.endswith("# EOF\n")
    found, plain = (
        {family.name: family for family in one.text_string_to_metric_families(text)}
        for one in (parser, plain_parser)
    )
    assert set(plain) == set(found)
    assert all(sample.timestamp is None for f in found.values() for sample in f.samples)
    document = json.loads(session.document(*CASE).read_text())
    for side in ("write", "read"):
        (value,) = [
            sample.value
            for sample in found["iogauge_bandwidth_bytes_per_second"].samples
            if (sample.labels["case"], sample.labels["stack"]) == CASE
            and sample.labels["direction"] == side
        ]
        right = median(sample[side]["bandwidth"] for sample in document["samples"]) * 2**20
        assert value == pytest.approx(right)
    failed = {
        (sample.labels["case"], sample.labels["stack"]): sample.value
        for sample in found["iogauge_verified"].samples
    }
    assert failed[CASE] == 1 and failed[s3d("posix"), "mpich"] == 0
    systems = {sample.labels["system"] for sample in found["iogauge_verified"].samples}
    assert 'a"b\\c ' in systems  # plain, and not cut


def test_junit_is_as_the_schema_says(session: Recorded, tmp_path: Path) -> None:
    """The schema is the one of ReFrame's reports. Promises are a suite."""
    file = tmp_path / "acceptance.yaml"
    file.write_text(
        "schema: iogauge.acceptance/1\nname: delivery\ncases:\n"
        "- {name: a, where: {method: mpiio, fs: ram}, quantity: write_bw, at_least: 1}\n"
        "- {name: b, where: {method: posix, fs: ram}, quantity: write_bw, at_least: 1}\n"
        "- {name: c, where: {scale: paper}, quantity: write_bw, at_least: 1}\n"
    )
    exported(tmp_path / "j.xml", "junit", session.report, "--acceptance", file)
    schema = etree.XMLSchema(etree.parse(Path(reframe.__path__[0]) / "schemas" / "junit.xsd"))
    document = etree.parse(tmp_path / "j.xml")
    for skipped in document.iter("testsuite"):
        del skipped.attrib["skipped"]  # CI systems read it; the schema is older
    schema.assertValid(document)
    cases = {
        (suite.get("name"), case.get("name")): case
        for suite in document.iter("testsuite")
        for case in suite.iter("testcase")
    }
    entries = [c for run in session.read()["runs"] for c in run["testcases"] if not c["fixture"]]
    promises = [key for key in cases if key[0] == "delivery"]
    assert len(cases) - len(promises) == len(entries)
    (failure,) = cases["local:host mpich", s3d("posix")]
    assert failure.tag == "failure" and '<b> "quoted" &' in failure.get("message")
    skipped = [case for case in cases.values() if case.find("skipped") is not None]
    assert {case.find("skipped").get("message") for case in skipped} == {
        c["skip_reason"] for c in entries if c["result"] == "skip"
    }
    words = {
        key[1].split(" | ")[0]: [cases[k][0].get("type") for k in promises if k[1][0] == key[1][0]]
        for key in promises
    }
    assert words["a"] == ["not decided yet"] * 2 and words["c"] == ["missing"]
    assert sorted(words["b"]) == ["failed", "not decided yet"]


@pytest.mark.parametrize("folder", TRACED, ids=[path.name for path in TRACED])
def test_a_timeline_holds_every_phase_and_access(folder: Path, tmp_path: Path) -> None:
    """In the form of ui.perfetto.dev: no event before the first, none that lasts less than
    nothing; rows are named; bytes are the trace's."""
    data = json.loads(exported(tmp_path / "t.json", "timeline", folder))
    events = data["traceEvents"]
    assert {event["ph"] for event in events} <= {"M", "X", "C"}
    assert all(event["dur"] >= 0 for event in events if event["ph"] == "X")
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    document = json.loads((folder / "result.json").read_text())
    phases = [event for event in events if event.get("cat") == "phase"]
    assert len(phases) == sum(
        len((sample[side] or {}).get("spans") or [])
        for sample in document["samples"]
        for side in ("write", "read")
    )
    accesses = [e for e in events if e["ph"] == "X" and e["cat"] != "phase"]
    assert bool(accesses) == folder.name.endswith("-dxt")
    assert {(e["pid"], e["tid"]) for e in accesses} <= named
    counters = [e for e in events if e["ph"] == "C"]
    assert bool(accesses) != bool(counters)
    if accesses:
        written = sum(
            e["args"]["bytes"]
            for e in accesses
            if e["cat"] == "POSIX" and e["name"].startswith("write")
        )
        assert written >= document["payload"]["bytes"] * document["asked"]["repeats"]


def test_phases_stand_where_they_were(tmp_path: Path) -> None:
    """In microseconds of the trace's time: the document's times are of day."""
    folder = Path(shutil.copytree(DATA / "darshan" / "mpich-collective-dxt", tmp_path / "run"))
    start = read_log(folder / "trace.darshan").start
    document = json.loads((folder / "result.json").read_text())
    document["samples"][0]["write"]["spans"] = [
        {"phase": "create", "begin": start + 0.5, "end": start + 0.75}
    ]
    (folder / "result.json").write_text(json.dumps(document))
    data = json.loads(exported(tmp_path / "t.json", "timeline", folder))
    (phase,) = [event for event in data["traceEvents"] if event.get("cat") == "phase"]
    assert phase["name"] == "write: create" and phase["args"] == {"repeat": 0}
    assert phase["ts"] == pytest.approx(5e5, abs=1) and phase["dur"] == pytest.approx(2.5e5, abs=1)


def test_a_file_that_cannot_be_written_is_named(
    session: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").write_text("")
    code = main(["export", "junit", str(session.report), "--to", str(tmp_path / "x" / "y")])
    assert code == 2 and "cannot be written" in capsys.readouterr().err
