# SPDX-License-Identifier: BSD-3-Clause
"""Recorded runs as a test has them in its hands, to be judged as they are or changed."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from iogauge.analysis.checks.evidence import Outside
from iogauge.analysis.checks.result_file import Wrong, load
from iogauge.analysis.checks.verdict import Expected, check_run, check_trace
from iogauge.analysis.darshan.log import Log, read_log
from iogauge.analysis.ledger.ledger import make_ledger
from iogauge.analysis.ledger.verdict import Judgement, judge

DATA = Path(__file__).parent / "data"
TRACED = sorted(path.name for path in (DATA / "darshan").iterdir())
DOCUMENTS = sorted(
    path.parent
    for name in ("session", "session-all")
    for path in (DATA / name).rglob("result.json")
)
MANY = 10.0  # times too good


@dataclass
class Run:
    """What a test has in its hands: the document, the trace where it has one, what it asked for
    and what it saw."""

    document: dict[str, Any]
    expected: Expected
    outside: Outside
    log: Log | None = None
    judgement: Judgement | None = None

    @property
    def sample(self) -> dict[str, Any]:
        sample: dict[str, Any] = self.document["samples"][0]
        return sample

    @property
    def trace(self) -> Log:
        assert self.log is not None
        return self.log


@functools.cache
def _log(name: str) -> Log:
    return read_log(DATA / "darshan" / name / "trace.darshan", segments=True)


def recorded(folder: Path, log: Log | None = None) -> Run:
    """As it was: the test asked for what was done, and the job was as long as all of it."""
    document = load(folder / "result.json")
    asked = document["asked"]
    for sample in document["samples"]:
        if sample.get("direct"):  # recorded before it was verified
            sample["direct"].setdefault("verified", document["payload"]["bytes"])
    expected = Expected(
        pattern=asked["pattern"],
        method=asked["method"],
        mode=asked["mode"],
        processes=document["system"]["processes"],
        repeats=asked["repeats"],
        payload_bytes=document["payload"]["bytes"],
        verdict=document["verification"]["verdict"],
        steps=asked["steps"],
        fsync=asked["fsync"],
        ceilings=bool(document["samples"][0]["ceilings"]),
        hints=asked["hints"],
    )
    written = datetime.strptime(document["system"]["time"], "%Y-%m-%dT%H:%M:%SZ")
    end = written.replace(tzinfo=timezone.utc).timestamp() + 60
    run = Run(document, expected, Outside(end - 120, end, 120), log)
    run.judgement = judge(make_ledger(document, log)) if log else None
    return run


def traced(name: str) -> Run:
    return recorded(DATA / "darshan" / name, _log(name))


def document_of(word: str, **like: object) -> Run:
    """The first recorded one of a method, with these in `used`, with or without ceilings."""
    for folder in DOCUMENTS:
        document = json.loads((folder / "result.json").read_text())
        used = {**document["used"], "ceilings": bool(document["samples"][0]["ceilings"])}
        if document["asked"]["method"] == word and all(used[k] == v for k, v in like.items()):
            return recorded(folder)
    raise AssertionError(f"no recorded run of {word} with {like}")


def judged(run: Run, stage: Path) -> None:
    """As the test does, with the document in a file."""
    (stage / "result.json").write_text(json.dumps(run.document))
    (stage / "exit_status").write_text("0\n")
    document = check_run(stage, run.expected, "rfm_job.err", run.outside)
    if run.judgement or run.log:
        check_trace(document, run.expected, run.judgement, run.log, run.outside)


def refusal(run: Run, stage: Path) -> str:
    with pytest.raises(Wrong) as caught:
        judged(run, stage)
    said = str(caught.value)
    assert "\n" not in said and "lacks a part" not in said
    return said
