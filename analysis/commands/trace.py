# SPDX-License-Identifier: BSD-3-Clause
"""`trace`: the byte ledger of one run, its hints, and a page with pictures of what it did."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..darshan.log import Log, read_log
from ..errors import EXIT_NOT_VERIFIED, EXIT_OK, AnalysisError
from ..ledger.ledger import Ledger, make_ledger
from ..ledger.verdict import Judgement, judge
from . import formats, options

EXAMPLES = """\
examples:
  python -m analysis trace                                the run that was traced last
  python -m analysis trace output/SESSION/local/host/mpich/S3d_0d1a48dc
  python -m analysis trace --json FOLDER | jq .verdict

A run that was made with -S dxt=true shows each access. Exit code 1: the ledger does not add up.
"""

LOG, DOCUMENT = "trace.darshan", "result.json"
PAGE, SUMMARY, ADVICE = "trace.html", "darshan_summary.html", "drishti.txt"
SUMMARY_SECONDS = 120.0


class NoTraceError(AnalysisError):
    """There is no traced run where one was looked for."""


@dataclass(frozen=True)
class TracedRun:
    """One run with its log. `summary`, `advice`: what PyDarshan and Drishti made of the log."""

    folder: Path
    document: dict[str, Any]
    log: Log
    ledger: Ledger
    judgement: Judgement
    summary: Path | None = None
    advice: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", type=Path, metavar="RUN",
        help=f"folder with a run's {LOG} and {DOCUMENT} (default: the last one)",
    )  # fmt: skip
    options.add_output(parser)
    formats.add_format(parser, "the ledger (and make no page)")
    parser.add_argument("--html", type=Path, metavar="FILE", help=f"in place of RUN/{PAGE}")
    parser.add_argument(
        "--no-summary", action="store_true", help="leave out PyDarshan's summary (some seconds)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the ledger of a run and write its page."""
    folder = args.folder or last_traced(args.output)
    traced = load(folder if folder.is_dir() else folder.parent)
    if args.json:
        data = {
            "verdict": traced.judgement.verdict,
            "reasons": traced.judgement.reasons,
            **traced.ledger.as_json(),
        }
        json.dump(data, sys.stdout, indent=1)
        print()
    elif args.csv:
        formats.write_csv(_layers(traced.ledger), ())
    else:
        from ..pages import trace_page, trace_text  # here: the chart library is slow to load

        trace_text.print_ledger(traced)
        page = args.html or traced.folder / PAGE
        if not args.no_summary:
            traced = with_summary(traced)
        trace_page.write(traced, page)
        options.say_written(page)
    return EXIT_NOT_VERIFIED if traced.judgement.verdict == "unbalanced" else EXIT_OK


def _layers(ledger: Ledger) -> list[formats.Record]:
    """A row for each direction and layer, payload and files among them; bytes, calls, processes."""
    found: list[formats.Record] = []
    for side in ledger.sides:
        known: list[tuple[str, int | None, int | None, int | None]] = [
            ("payload", side.payload, None, None),
            *((one.name, one.bytes, one.calls, one.processes) for one in side.layers),
            ("files", side.files, None, None),
        ]
        names = ("layer", "bytes", "calls", "processes")
        found += [
            {"direction": side.direction, **dict(zip(names, row, strict=True))} for row in known
        ]
    return found


def last_traced(output: Path) -> Path:
    """The folder of the newest log below `output`."""
    found = sorted(output.glob(f"**/{LOG}"), key=lambda path: path.stat().st_mtime_ns)
    if not found:
        raise NoTraceError(f"{output}: expected a traced run ({LOG}), found none")
    return found[-1].parent


def load(folder: Path) -> TracedRun:
    """A run's ledger with all that its log holds. AnalysisError where a part cannot be used."""
    try:
        document = json.loads((folder / DOCUMENT).read_text())
    except (OSError, ValueError) as error:
        raise NoTraceError(f"{folder / DOCUMENT}: expected a result document: {error}") from None
    log = read_log(folder / LOG, heat=True, segments=True)
    try:
        ledger = make_ledger(document, log)
    except (KeyError, TypeError) as error:
        what = f"expected the document of a run that ended well: {error!r}"
        raise NoTraceError(f"{folder / DOCUMENT}: {what}") from None
    return TracedRun(folder, document, log, ledger, judge(ledger))


def with_summary(traced: TracedRun) -> TracedRun:
    """PyDarshan's own summary, and Drishti's advice where that program is installed, made beside
    the log; without them where they fail: they crash or hang on some logs."""
    log = traced.log.path.absolute()
    page = traced.folder / SUMMARY
    command = [sys.executable, "-m", "darshan", "summary", str(log), "--output"]
    made = _quietly([*command, str(page.absolute())]) is not None and page.exists()
    drishti = Path(sys.executable).with_name("drishti")
    advice = _quietly([str(drishti), str(log)]) if drishti.exists() else None
    return TracedRun(
        traced.folder, traced.document, traced.log, traced.ledger, traced.judgement,
        page if made else None, advice or "",
    )  # fmt: skip


def _quietly(command: list[str]) -> str | None:
    """What a program prints; None, with a line on stderr, where it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SUMMARY_SECONDS, check=False,
            errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"{command[0]} took longer than {SUMMARY_SECONDS:g} s: left out", file=sys.stderr)
        return None
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
        print(f"{' '.join(command[:4])} failed, left out: {said}", file=sys.stderr)
        return None
    return done.stdout
