# SPDX-License-Identifier: BSD-3-Clause
"""Checks a run again, later or on another machine, from its files alone.

case.json keeps what the test asked for and what the harness saw of the job; the rest is recomputed.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iogauge.common import json_file, schemas
from iogauge.common.run_folder import CASE, DOCUMENT, LEDGER, STDERR, TRACE

from ..errors import AnalysisError, reraised
from ..ledger import traced
from ..ledger.verdict import as_json
from . import arithmetic
from .evidence import Outside
from .result_file import Wrong, load, refuse
from .verdict import OURS, Expected, check_evidence, check_run, check_trace

SCHEMA = Path(__file__).with_name("judged_by.schema.json")
_CLOSE = 1e-9


def judged_by(expected: Expected, outside: Outside | None, *, traced: bool) -> dict[str, Any]:
    """For case.json: what `judged` needs besides the run's own files."""
    return {
        "expected": vars(expected),
        "outside": vars(outside) if outside else None,
        "traced": traced,
    }


@dataclass(frozen=True)
class Judged:
    """`wrong`: the problems of the first stage that has any, else empty. `ledger`: its verdict,
    empty without a trace. `asked`: whether it is known what the test asked for."""

    wrong: str
    ledger: str
    asked: bool


def judged(folder: Path) -> Judged:
    try:
        expected, outside, was_traced = _record(folder)
    except (json_file.Unreadable, LookupError, TypeError, ValueError) as problem:
        return Judged(f"{CASE}: {problem}", "", asked=False)
    ledger = ""
    try:
        doc = check_run(folder, expected, STDERR, outside) if expected else _alone(folder)
        if expected and not expected.ours and doc["program"]["name"] == OURS:
            raise Wrong(f"{CASE} names another program, but {OURS} ran")
        if (folder / TRACE).exists():
            run = traced.load(folder)
            ledger = run.judgement.verdict
            _same_ledger(folder, as_json(run.ledger, run.judgement))
            if expected:
                check_trace(doc, expected, run.judgement, run.log, outside)
        elif was_traced:
            raise Wrong(f"it was traced, but {TRACE} is missing")
        wrong = ""
    except (Wrong, AnalysisError) as problem:
        wrong = str(problem).replace(f"{folder}/", "")
    except (KeyError, TypeError, ValueError, LookupError) as problem:
        wrong = f"{DOCUMENT} lacks a part: {problem!r}"
    return Judged(wrong, ledger, asked=expected is not None)


def _alone(folder: Path) -> dict[str, Any]:
    """Check a document whose test did not record its request."""
    doc = load(folder / DOCUMENT)
    if doc["status"] != "ok":
        raise Wrong(f"status {doc['status']!r}: {doc.get('error')}")
    refuse(arithmetic.complaints(doc))
    check_evidence(doc, None)
    return doc


def _record(folder: Path) -> tuple[Expected | None, Outside | None, bool]:
    """The test's record in case.json. Raises ValueError and similar if that is unusable."""
    if not (folder / CASE).exists():
        return None, None, False
    found = json_file.read(folder / CASE, CASE)["case"].get("judged_by")
    if not found:
        return None, None, False
    if wrong := schemas.problem(found, SCHEMA):
        raise ValueError(wrong)
    expected = {**found["expected"], "directions": tuple(found["expected"]["directions"])}
    outside = found["outside"] and Outside(**found["outside"])
    return Expected(**expected), outside, found["traced"]


def _same_ledger(folder: Path, made: dict[str, Any]) -> None:
    if not (folder / LEDGER).exists():
        return
    with reraised(json_file.Unreadable, Wrong, f"{LEDGER}: "):
        stated = json_file.read(folder / LEDGER, LEDGER)
    different = differences(stated, json_file.parse(json.dumps(made)), LEDGER)
    if different:
        raise Wrong(f"not what the trace says: {different[0]}")


def differences(stated: Any, found: Any, place: str) -> list[str]:
    """The differences between two JSON values, one per line, ignoring the last digits of
    numbers."""
    if isinstance(stated, dict) and isinstance(found, dict):
        return [
            line
            for key in stated | found
            for line in differences(stated.get(key), found.get(key), f"{place}: {key}")
        ]
    if isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        return [
            line
            for i, (a, b) in enumerate(zip(stated, found, strict=True))
            for line in differences(a, b, f"{place}[{i}]")
        ]
    numbers = isinstance(stated, int | float) and isinstance(found, int | float)
    if stated == found or (numbers and math.isclose(stated, found, rel_tol=_CLOSE, abs_tol=_CLOSE)):
        return []
    return [f"{place}: {stated!r:.120} is stated, {found!r:.120} is found"]
