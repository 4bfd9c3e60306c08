# SPDX-License-Identifier: BSD-3-Clause
"""`certificate`: what the runs of `make certificate` say of each stack."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from iogauge.analysis.errors import EXIT_OK, NothingFoundError, OutputError
from iogauge.analysis.judge import certificate
from iogauge.common import json_file
from iogauge.common.files import write_whole
from iogauge.common.paths import output

from . import formats, options

EXAMPLES = """\
examples:
  iogauge certificate                         the runs of output/certificate
  iogauge certificate FOLDER --keep c.json --page certificate.md
  iogauge certificate references/certificate.json      one that was kept

`make certificate` makes the runs. A stack that writes wrong bytes is a result: exit status 0.
"""


COLUMNS = ("stack", "mpi", "runs", *certificate.OUTCOMES, "safe")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="?", type=Path, metavar="RUNS",
        help="folder of the runs, or a certificate (default: output/certificate)",
    )  # fmt: skip
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the certificate as JSON")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write it as a page of Markdown")
    formats.add_format(parser, "the table of stacks")


def run(args: argparse.Namespace) -> int:
    """Print what the runs say. Raises NothingFoundError."""
    from iogauge.analysis.pages import certificate_text

    found = load(args.runs or output() / "certificate")
    try:
        for path, text in ((args.keep, certificate.dump), (args.page, certificate_text.page)):
            if path:
                write_whole(path, text(found))
                options.say_written(path)
    except OSError as error:
        raise OutputError(f"{error.filename}: cannot be written: {error.strerror}") from None
    formats.show(args, [_row(stack) for stack in found.stacks], COLUMNS,
                 note=certificate_text.faults(found))  # fmt: skip
    return EXIT_OK


def _row(stack: certificate.Stack) -> dict[str, Any]:
    return {
        "stack": stack.name, "mpi": stack.versions.get("mpi"), "runs": stack.runs,
        **stack.outcomes, "safe": stack.safe or None,
    }  # fmt: skip


def load(path: Path) -> certificate.Certificate:
    """Of a folder of runs, or a file that was kept."""
    if path.is_dir():
        return certificate.judge(path)
    try:
        return certificate.parse(json_file.read(path, "certificate"))
    except json_file.Unreadable as error:
        raise NothingFoundError(f"{path}: {error}") from None
