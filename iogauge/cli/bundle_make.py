# SPDX-License-Identifier: BSD-3-Clause
"""`bundle make`: a session with its raw data and verdicts as one file that others can verify."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iogauge.analysis.bundle import archive, contents, manifest
from iogauge.analysis.checks import recheck
from iogauge.analysis.errors import EXIT_NOT_VERIFIED
from iogauge.analysis.judge import acceptance, references
from iogauge.analysis.session.loader import load_session
from iogauge.analysis.session.model import Run, Session
from iogauge.analysis.store import database as store
from iogauge.common import progress
from iogauge.common.files import writing_whole

from . import formats, options
from .check import exit_status, in_words
from .latest import last_report
from .store_add import ingest

EXAMPLES = """\
examples:
  iogauge bundle make                                       the last session
  iogauge bundle make --acceptance acceptance.yaml --sign ~/.ssh/id_ed25519
  iogauge bundle make output/reports/run-report-3.json --to delivery.tar
  iogauge bundle verify delivery.tar --allowed-signers signers

A bundle is a tar file: result documents, traces, job scripts, lock files, acceptance.yaml,
versions, all verdicts, and MANIFEST with the sha256 of each. Exit status: that of `check` where
bounds are given; 1 where a run that passed is not right by its own raw data.
"""

SCHEMA = "iogauge.bundle/1"
COLUMNS = ("run", "case", "stack", "status", "verification", "ledger", "wrong")
Row = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "report", nargs="?", type=options.in_file, metavar="REPORT",
        help="ReFrame's report (default: of the last session below the output folder)",
    )  # fmt: skip
    parser.add_argument(
        "--acceptance", type=options.in_file, metavar="FILE", help="bounds (see check)"
    )
    parser.add_argument(
        "--sign",
        type=options.in_file,
        metavar="KEY",
        help="sign it with this SSH key (ssh-keygen -Y sign)",
    )
    parser.add_argument(
        "--to", type=options.out_file, metavar="FILE",
        help="the bundle (default: bundle-SESSION.tar in the output folder)",
    )  # fmt: skip
    options.add_output(parser)
    formats.add_format(parser, "the verdicts on the runs")


def run(args: argparse.Namespace) -> int:
    """Write the bundle, and say what its verdicts are."""
    report = args.report or last_report(args.output)
    if args.acceptance:
        acceptance.read(args.acceptance)  # its mistakes first
    with tempfile.TemporaryDirectory(prefix="iogauge-bundle-") as name:
        folder = Path(name).resolve()
        contents.gather(report, folder, args.acceptance)
        made = verdicts(folder)
        (folder / contents.VERDICTS).write_text(json.dumps(made, indent=1) + "\n")
        names = contents.files(folder)
        manifest.write(folder, names)
        if args.sign:
            manifest.sign(folder, args.sign)
            names = [manifest.SIGNATURE, *names]
        target = args.to or args.output / f"bundle-{made['session'][:8]}.tar"
        with writing_whole(target) as file:
            archive.write(folder, [manifest.MANIFEST, *names], file)
    formats.show(args, [{name: row[name] for name in COLUMNS} for row in made["runs"]], COLUMNS)
    options.say_written(target)
    for line in [*made["wrong"], *unasked(made)]:
        options.say(line)
    rows = made["acceptance"]
    if rows is not None:
        options.say(f"{made['accepted']}: {in_words(rows)}")
    return EXIT_NOT_VERIFIED if made["wrong"] else exit_status(rows or [])


def verdicts(folder: Path) -> Row:
    """All that the raw data in `folder` say: of each run, and of the promises. Raises an
    AnalysisError where the session cannot be read at all."""
    session = load_session(folder / contents.REPORT)
    runs = list(_runs(session, folder))
    file = folder / contents.ACCEPTANCE
    promised = acceptance.read(file) if file.exists() else None
    return {
        "schema": SCHEMA,
        "session": session.uuid,
        "runs": runs,
        "wrong": [
            f"{row['run']} ({row['case']}, {row['stack']}) passed, but is wrong: {row['wrong']}"
            for row in runs
            if row["status"] == "ok" and row["wrong"]
        ],
        "accepted": promised.name if promised else "",
        "acceptance": _accepted(folder, promised, session) if promised else None,
    }


def _accepted(folder: Path, promised: acceptance.Acceptance, session: Session) -> list[Row]:
    rows = accepted(folder / contents.REPORT, promised, session, folder)
    return [{**row, "why": row["why"].replace(f"{folder}/", "")} for row in rows]


def unasked(made: Row) -> list[str]:
    """That runs lack the record of what their test asked for, and are held against less."""
    count = sum(1 for row in made["runs"] if row["status"] == "ok" and not row["asked"])
    what = "without a record of what their test asked for: their documents speak alone"
    return [f"{count} of {len(made['runs'])} runs are {what}"] if count else []


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
    report: Path,
    promised: acceptance.Acceptance,
    session: Session,
    sites: Path = references.SITES,
) -> list[Row]:
    """The verdicts on the promises, from a store that holds this session alone."""
    with tempfile.TemporaryDirectory(prefix="iogauge-store-") as name:
        place = Path(name) / "store"
        ingest(report, place, strict=False)
        with store.connect(place) as connection:
            chosen = options.where_session(session.uuid)
            return acceptance.verdicts(connection, promised, chosen, sites)
