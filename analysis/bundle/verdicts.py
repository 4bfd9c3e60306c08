# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts from a bundle's raw data: on each run, and on acceptance."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iogauge.common import progress

from ..checks import recheck
from ..judge import acceptance, references
from ..session.loader import load_session
from ..session.model import Run, Session
from ..store import database as store
from ..store.database import Where
from ..store.ingest import ingest
from . import contents

Row = dict[str, Any]


def verdicts(folder: Path) -> Row:
    """Judge the raw data in `folder`. Raises an AnalysisError if the session cannot be read."""
    session = load_session(folder / contents.REPORT)
    runs = list(_runs(session, folder))
    file = folder / contents.ACCEPTANCE
    promised = acceptance.read(file) if file.exists() else None
    rows = promised and accepted(folder / contents.REPORT, promised, session, folder)
    return {
        "schema": contents.SCHEMA,
        "session": session.uuid,
        "runs": runs,
        "wrong": [
            f"{row['run']} ({row['case']}, {row['stack']}) passed, but is wrong: {row['wrong']}"
            for row in runs
            if row["status"] == "ok" and row["wrong"]
        ],
        "accepted": promised.name if promised else "",
        "acceptance": rows
        and [{**row, "why": row["why"].replace(f"{folder}/", "")} for row in rows],
    }


def _runs(session: Session, folder: Path) -> Iterator[Row]:
    ran = [run for run in session.runs if run.status != "skipped"]
    for run in progress.steps(ran, "judge"):
        yield {
            "run": str(run.folder.relative_to(folder)) if run.folder else "",
            **{name: getattr(run, name) for name in ("case", "stack", "partition", "repeat")},
            "status": run.status,
            "reason": run.reason.replace(f"{folder}/", ""),
            "verification": run.verdict,
            **_judged(run),
            "write_bw": [sample.write for sample in run.samples],
            "read_bw": [sample.read for sample in run.samples],
        }


def _judged(run: Run) -> Row:
    if run.folder is None:
        return {"wrong": "it left no files", "ledger": "", "asked": False}
    found = recheck.judged(run.folder)
    return {"wrong": found.wrong, "ledger": found.ledger, "asked": found.asked}


def accepted(
    report: Path, promised: acceptance.Acceptance, session: Session, sites: Path = references.SITES
) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="iogauge-store-") as name:
        place = Path(name) / "store"
        ingest(report, place, strict=False)
        with store.connect(place) as db:
            chosen = Where().key("session", [session.uuid])
            return acceptance.verdicts(db, promised, chosen, sites)
