# SPDX-License-Identifier: BSD-3-Clause
"""A session as JUnit XML, which CI systems show: a suite for each stack, and one of the promises.

ReFrame's `--report-junit` has its own verdicts; here the result documents have the last word, and a
skipped case says why.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from iogauge.common.text import CONTROL

from ..session.model import Session
from ..session.rows import Row, Table

Verdict = dict[str, Any]  # a row of judge/acceptance.py
_LACKING = ("not decided yet", "missing")


def xml(table: Table, acceptance: str = "", verdicts: Sequence[Verdict] = ()) -> str:
    """The document. `acceptance`: the name of the promises that `verdicts` are on."""
    root = ET.Element("testsuites")
    session = table.session
    for stack, rows in groupby(sorted(table.all_rows, key=_stack), key=_stack):
        suite = _suite(root, session, stack)
        for row in rows:
            _case(suite, row)
        _close(suite)
    if acceptance:
        suite = _suite(root, session, acceptance)
        for verdict in verdicts:
            _verdict(suite, verdict)
        _close(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _stack(row: Row) -> str:
    run = row.run
    return f"{run.system}:{run.partition} {run.stack}"


def _suite(root: ET.Element, session: Session, name: str) -> ET.Element:
    about = {
        "name": _text(name),
        "package": "iogauge",
        "id": str(len(root)),
        "hostname": _text(session.host),
        "timestamp": f"{session.started:%Y-%m-%dT%H:%M:%S}",
        "time": f"{session.seconds:.3f}",
    }
    suite = ET.SubElement(root, "testsuite", about)
    properties = ET.SubElement(suite, "properties")
    words = {"session": session.uuid, "harness": session.harness, "command": session.command}
    for key, value in words.items():
        ET.SubElement(properties, "property", {"name": key, "value": _text(value)})
    return suite


def _close(suite: ET.Element) -> None:
    """What the schema wants at its end, and the sums."""
    ET.SubElement(suite, "system-out")
    ET.SubElement(suite, "system-err")
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for word, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(word, str(sum(case.find(tag) is not None for case in cases)))


def _testcase(suite: ET.Element, name: str, of: Iterable[str], seconds: float) -> ET.Element:
    about = {
        "name": _text(name),
        "classname": _text(".".join(word for word in of if word)),
        "time": f"{seconds:.6f}",
    }
    return ET.SubElement(suite, "testcase", about)


def _case(suite: ET.Element, row: Row) -> None:
    run = row.run
    seconds = sum(
        sample.values.get(f"{side}_seconds", 0.0) for sample in row.samples
        for side in ("write", "read")
    )  # fmt: skip
    case = _testcase(suite, run.case, (run.system, run.partition, run.stack, run.test), seconds)
    if run.status == "skipped":
        ET.SubElement(case, "skipped", {"message": _text(run.reason)})
    elif row.outcome not in ("verified", "nothing moved"):
        why = run.reason or f"the bytes were not verified: {row.outcome}"
        _failure(case, "failure", row.outcome, why)


def _verdict(suite: ET.Element, verdict: Verdict) -> None:
    words = (verdict["case"], verdict.get("test_case"), verdict["stack"], verdict["bound"])
    name = " | ".join(str(word) for word in words if word)
    case = _testcase(suite, name, ("acceptance", verdict["quantity"]), 0.0)
    if verdict["verdict"] == "met":
        return
    found = f"{verdict['value']:.6g} {verdict['unit']}" if verdict["value"] is not None else ""
    why = " ".join(word for word in (verdict["verdict"], found, verdict["why"]) if word)
    # A promise that could not be judged is an error, one that is broken a failure.
    tag = "error" if verdict["verdict"] in _LACKING else "failure"
    _failure(case, tag, verdict["verdict"], why)


def _failure(case: ET.Element, tag: str, kind: str, why: str) -> None:
    ET.SubElement(case, tag, {"type": _text(kind), "message": _text(why)}).text = _text(why)


def _text(text: str) -> str:
    """XML holds no control characters, and a token no blanks at its ends."""
    return " ".join(CONTROL.sub(" ", text).split()) or "-"
