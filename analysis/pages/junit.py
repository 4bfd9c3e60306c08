# SPDX-License-Identifier: BSD-3-Clause
"""A session as JUnit XML: a suite for each stack, and one for acceptance criteria. Unlike with
ReFrame's `--report-junit` the result documents decide."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from iogauge.common.text import CONTROL

from ..session.rows import Row, Table
from .page import load_template

Verdict = dict[str, Any]  # a row of judge/acceptance.py
_LACKING = ("not decided yet", "missing")


class TestCase(NamedTuple):
    """`of`: parts of its class name. `tag`: failure, error or skipped; empty where it is good."""

    name: str
    of: Sequence[str]
    seconds: float = 0.0
    tag: str = ""
    kind: str = ""
    why: str = ""


def xml(table: Table, acceptance: str = "", verdicts: Sequence[Verdict] = ()) -> str:
    """The document. `acceptance`: the name of the promises that `verdicts` are on."""
    by_stack = groupby(sorted(table.all_rows, key=_stack), key=_stack)
    suites = [(stack, list(map(_case, rows))) for stack, rows in by_stack]
    if acceptance:
        suites.append((acceptance, list(map(_verdict, verdicts))))
    page = load_template("junit.xml.j2")
    return page.render(session=table.session, suites=suites, text=_text) + "\n"


def _stack(row: Row) -> str:
    run = row.run
    return f"{run.system}:{run.partition} {run.stack}"


def _case(row: Row) -> TestCase:
    run = row.run
    seconds = sum(
        sample.values.get(f"{side}_seconds", 0.0)
        for sample in row.samples
        for side in ("write", "read")
    )
    case = TestCase(run.case, (run.system, run.partition, run.stack, run.test), seconds)
    if run.status == "skipped":
        return case._replace(tag="skipped", why=run.reason)
    if row.outcome in ("verified", "nothing moved"):
        return case
    why = run.reason or f"the bytes were not verified: {row.outcome}"
    return case._replace(tag="failure", kind=row.outcome, why=why)


def _verdict(verdict: Verdict) -> TestCase:
    words = (verdict["case"], verdict.get("test_case"), verdict["stack"], verdict["bound"])
    name = " | ".join(str(word) for word in words if word)
    case = TestCase(name, ("acceptance", verdict["quantity"]))
    if verdict["verdict"] == "met":
        return case
    found = f"{verdict['value']:.6g} {verdict['unit']}" if verdict["value"] is not None else ""
    why = " ".join(word for word in (verdict["verdict"], found, verdict["why"]) if word)
    # An undecided criterion is an error, a missed one a failure.
    tag = "error" if verdict["verdict"] in _LACKING else "failure"
    return case._replace(tag=tag, kind=verdict["verdict"], why=why)


def _text(text: str) -> str:
    """Remove control characters, which XML forbids, and blanks at the ends."""
    return " ".join(CONTROL.sub(" ", text).split()) or "-"
