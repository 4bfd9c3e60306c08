# SPDX-License-Identifier: BSD-3-Clause
"""`bundle make` and `bundle verify`: a session and its verdicts as one file, to be recomputed."""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from iogauge.analysis.bundle import archive, contents, manifest
from iogauge.analysis.bundle.verdicts import verdicts
from iogauge.analysis.checks import recheck
from iogauge.analysis.errors import EXIT_NOT_VERIFIED, EXIT_OK, EXIT_UNSIGNED, UsageError
from iogauge.analysis.judge import acceptance
from iogauge.common import json_file
from iogauge.common.files import writing_whole
from iogauge.common.text import notice

from . import formats, options
from .check import exit_status, in_words

COLUMNS = ("run", "case", "stack", "status", "verification", "ledger", "wrong")
Row = dict[str, Any]


def add_make(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("report", nargs="?", type=options.in_file)
    add("--acceptance", type=options.in_file)
    add("--sign", type=options.in_file)
    add("--to", type=options.out_file)
    options.add_output(parser)
    formats.add_format(parser)


def run_make(args: argparse.Namespace) -> int:
    report = options.report_of(args)
    if args.acceptance:
        acceptance.read(args.acceptance)  # report mistakes in it first
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
    for line in made["wrong"]:
        notice(line)
    _say_verdicts(made)
    return EXIT_NOT_VERIFIED if made["wrong"] else exit_status(made["acceptance"] or [])


def _say_verdicts(made: Row) -> None:
    count = sum(1 for row in made["runs"] if row["status"] == "ok" and not row["asked"])
    if count:
        notice(
            f"{count} of {len(made['runs'])} runs do not record what their test asked for: "
            "checked by their documents alone"
        )
    if made["acceptance"] is not None:
        notice(f"{made['accepted']}: {in_words(made['acceptance'])}")


def add_verify(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=options.in_file)
    parser.add_argument("--allowed-signers", type=options.in_file)
    formats.add_format(parser)


def run_verify(args: argparse.Namespace) -> int:
    if args.allowed_signers and not args.allowed_signers.is_file():
        raise UsageError(f"--allowed-signers {args.allowed_signers}: expected a file, found none")
    with tempfile.TemporaryDirectory(prefix="iogauge-bundle-") as name:
        folder = Path(name).resolve()
        names = archive.extract(args.bundle, folder)
        wrong = manifest.problems(folder, names) + _unsigned(args, folder)
        # A session with replaced files may be unreadable.
        if not wrong:
            wrong = _recomputed(folder)
    if wrong or formats.for_programs(args):
        formats.show(args, [{"differs": line} for line in wrong], ("differs",))
    end = "differs from what it says" if wrong else f"{len(names)} files, all as it says"
    notice(f"{args.bundle}: {end}")
    if wrong:
        return EXIT_NOT_VERIFIED
    return EXIT_OK if args.allowed_signers else EXIT_UNSIGNED


def _unsigned(args: argparse.Namespace, folder: Path) -> list[str]:
    if not args.allowed_signers:
        signed = (folder / manifest.SIGNATURE).exists()
        why = "SIGNATURE NOT CHECKED" if signed else "NOT SIGNED"
        what = "use --allowed-signers FILE" if signed else "ask for one of bundle make --sign KEY"
        notice(f"{why}: whoever had this bundle could have changed all of it; {what}")
        return []
    who, why = manifest.signer(folder, args.allowed_signers)
    if who:
        notice(f"signed by {who}")
    return [f"{manifest.SIGNATURE}: {why}"] if why else []


def _recomputed(folder: Path) -> list[str]:
    contents.check_places(folder)
    claimed = contents.claimed(folder)
    found = verdicts(folder)
    try:
        made = json_file.read(folder / contents.VERSIONS, contents.VERSIONS)
        if made != contents.versions():
            notice(f"made with other versions: {made}")
    except json_file.Unreadable as problem:
        notice(f"{contents.VERSIONS}: {problem}")
    _say_verdicts(found)
    return list(found["wrong"]) + recheck.differences(claimed, found, contents.VERDICTS)
