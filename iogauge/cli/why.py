# SPDX-License-Identifier: BSD-3-Clause
"""`why`: what slowed a run down, what to try, and runs that test it."""

import argparse
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path

from iogauge.analysis.errors import EXIT_OK, AnalysisError, NothingFoundError
from iogauge.analysis.judge import bottleneck, remedies
from iogauge.analysis.session import loader
from iogauge.analysis.session.peaks import Highest, Peaks
from iogauge.common.run_folder import DOCUMENT

from . import formats, options

COLUMNS = (*(field.name for field in fields(bottleneck.Cause)), "try_", "prove")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", nargs="?", type=options.in_path)
    options.add_output(parser)
    formats.add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Print what slowed the run down. Raises NothingFoundError without a run."""
    folder = args.run_folder
    options.need(folder, "a run")
    if folder is None:
        there = args.output.glob(f"*/*/*/*/*/{DOCUMENT}")
        folder = max(there, key=lambda path: path.stat().st_mtime_ns, default=None)
    if folder is None:
        raise NothingFoundError(f"{args.output}: expected a run ({DOCUMENT}), found none")
    own = folder if folder.is_dir() else folder.parent
    if not (own / DOCUMENT).exists():
        other = "; of a log alone, iogauge trace shows what there is" if folder.is_file() else ""
        raise NothingFoundError(f"{folder}: no {DOCUMENT} of a run is beside it{other}")
    folder = own
    loaded = bottleneck.load(folder)
    place = remedies.run_of(folder, loaded.document)
    found = loaded.causes(_peaks(folder.resolve()))
    if formats.for_programs(args):
        told = [(cause, remedies.remedy(place, cause)) for _, causes in found for cause in causes]
        rows = [{**asdict(cause), "try_": one.text, "prove": one.commands} for cause, one in told]
        formats.show(args, rows, COLUMNS)
    else:
        from iogauge.analysis.pages import why_text

        why_text.show(place, loaded.document, found, loaded.note)
    return EXIT_OK


def _peaks(folder: Path) -> Peaks:
    """The peaks of the run's session; none if its report is missing."""
    session = (*folder.parents, *[folder] * 4)[3]  # SESSION/system/partition/stack/test
    for report in reversed(loader.all_reports(session.parent, missing_ok=True)):
        with suppress(AnalysisError):
            data = loader.read_report(report)
            if session.name in loader.folders(data["session_info"]):
                return Highest(loader.load_session(report, data=data).runs).beside(folder)
    return {}
