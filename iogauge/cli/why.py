# SPDX-License-Identifier: BSD-3-Clause
"""`why`: what held a run up, in words, with what to try and the runs that would prove it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from iogauge.analysis.errors import EXIT_OK, NothingFoundError
from iogauge.analysis.judge import bottleneck, remedies
from iogauge.common.run_folder import DOCUMENT

from . import formats, options

EXAMPLES = """\
examples:
  iogauge why                                   the run that was measured last
  iogauge why output/SESSION/local/host/mpich/S3d_0d1a48dc
  iogauge why --json FOLDER | jq '.[0] | {kind, share, says}'

A traced run says more: without a trace, layers and calls are unknown. Shares are of the time from
opening to closing, and overlap. The printed commands measure and compare the pair of runs that
proves a cause, or shows that it was none.
"""

COLUMNS = ("direction", "kind", "share", "phase", "process", "layer", "calls", "says", "try_",
           "prove")  # fmt: skip
Row = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run_folder", nargs="?", type=options.in_path, metavar="RUN",
        help=f"folder of a run, with its {DOCUMENT} (default: the last one)",
    )  # fmt: skip
    options.add_output(parser)
    formats.add_format(parser, "the causes")


def run(args: argparse.Namespace) -> int:
    """Print what held the run up. Raises NothingFoundError where there is no run."""
    folder = args.run_folder or _last(args.output)
    folder = folder if folder.is_dir() else folder.parent
    loaded = bottleneck.load(folder)
    place = remedies.run_of(folder, loaded.document)
    found = loaded.causes()
    rows = [_row(place, cause) for _, causes in found for cause in causes]
    if formats.for_programs(args):
        formats.show(args, rows, COLUMNS)
    else:
        from iogauge.analysis.pages import why_text

        why_text.show(place, loaded.document, found, loaded.note)
    return EXIT_OK


def _last(output: Path) -> Path:
    found = sorted(output.glob(f"*/*/*/*/*/{DOCUMENT}"), key=lambda path: path.stat().st_mtime_ns)
    if not found:
        raise NothingFoundError(f"{output}: expected a run ({DOCUMENT}), found none")
    return found[-1].parent


def _row(place: remedies.Run, cause: bottleneck.Cause) -> Row:
    remedy = remedies.remedy(place, cause)
    return {**asdict(cause), "try_": remedy.text, "prove": remedy.commands}
