# SPDX-License-Identifier: BSD-3-Clause
"""`bundle verify`: recomputes what a bundle says from the raw data in it."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from iogauge.analysis.bundle import archive, contents, manifest
from iogauge.analysis.checks.recheck import differences
from iogauge.analysis.errors import EXIT_NOT_VERIFIED, EXIT_OK, UsageError
from iogauge.common import json_file

from . import formats, options
from .bundle_make import unasked, verdicts
from .check import in_words

EXAMPLES = """\
examples:
  iogauge bundle verify delivery.tar
  iogauge bundle verify delivery.tar --allowed-signers signers

Every sha256, the arithmetic and evidence of every result document, the ledger of every trace, and
every verdict are computed anew. Nothing of the machine where the bundle was made is needed. The
file of allowed signers has lines `name ssh-ed25519 AAAA...` (man ssh-keygen, ALLOWED SIGNERS).

Exit status: 0 it is as it says (which may be: not accepted); 1 something differs; 3 no bundle.
"""

COLUMNS = ("differs",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=options.in_file, metavar="BUNDLE")
    parser.add_argument(
        "--allowed-signers", type=options.in_file, metavar="FILE",
        help="it must be signed by one of these",
    )  # fmt: skip
    formats.add_format(parser, "what differs")


def run(args: argparse.Namespace) -> int:
    """Say what differs; nothing is what one hopes for."""
    if args.allowed_signers and not args.allowed_signers.is_file():
        raise UsageError(f"--allowed-signers {args.allowed_signers}: expected a file, found none")
    with tempfile.TemporaryDirectory(prefix="iogauge-bundle-") as name:
        folder = Path(name).resolve()
        names = archive.extract(args.bundle, folder)
        wrong = manifest.problems(folder, names) + _unsigned(args, folder)
        # A session whose files were exchanged may be one that nobody can read.
        if not wrong:
            wrong = _recomputed(folder)
    if wrong or formats.for_programs(args):
        formats.show(args, [{"differs": line} for line in wrong], COLUMNS)
    end = "differs from what it says" if wrong else f"{len(names)} files, all as it says"
    options.say(f"{args.bundle}: {end}")
    return EXIT_NOT_VERIFIED if wrong else EXIT_OK


def _unsigned(args: argparse.Namespace, folder: Path) -> list[str]:
    if not args.allowed_signers:
        if (folder / manifest.SIGNATURE).exists():
            options.say("it is signed; nobody has asked by whom (--allowed-signers)")
        return []
    who, why = manifest.signer(folder, args.allowed_signers)
    if who:
        options.say(f"signed by {who}")
    return [f"{manifest.SIGNATURE}: {why}"] if why else []


def _recomputed(folder: Path) -> list[str]:
    contents.check_places(folder)
    claimed = contents.said(folder)
    found = verdicts(folder)
    _say_versions(folder)
    for line in unasked(found):
        options.say(line)
    rows: list[dict[str, Any]] | None = found["acceptance"]
    if rows is not None:
        options.say(f"{found['accepted']}: {in_words(rows)}")
    return list(found["wrong"]) + differences(claimed, found, contents.VERDICTS)


def _say_versions(folder: Path) -> None:
    """Of what it was made with, where that was another."""
    try:
        made = json_file.read(folder / contents.VERSIONS, contents.VERSIONS)
    except json_file.Unreadable as problem:
        options.say(f"{contents.VERSIONS}: {problem}")
        return
    if made != contents.versions():
        options.say(f"it was made with other versions: {made}")
