# SPDX-License-Identifier: BSD-3-Clause
"""`certify`: which stacks write correct data, by many small verified runs."""

import argparse
import signal
from pathlib import Path
from typing import Any

from iogauge.analysis.errors import (
    EXIT_NOT_VERIFIED,
    EXIT_OK,
    NothingFoundError,
    UsageError,
    reraised,
)
from iogauge.analysis.judge import certificate
from iogauge.analysis.pages import certificate_text
from iogauge.common import json_file
from iogauge.common.files import write_whole
from iogauge.common.paths import output
from iogauge.common.text import notice, unknown

from . import formats, options

COLUMNS = ("stack", "mpi", "runs", *certificate.OUTCOMES, "safe")
MINUTES = 60.0
FS = ("ram", "disk")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--show", nargs="?", type=options.in_path, const=Path())
    add("--keep", type=options.out_file)
    add("--page", type=options.out_file)
    formats.add_format(parser)
    add("--stack", type=options.names, default=["openmpi", "mpich"])
    # nargs: until 0.4 blanks separate, too
    add("--patterns", nargs="+", type=options.names, default=[])
    add("--minutes", type=float, default=MINUTES)
    add("--runs", type=options.count)
    add("--seed", type=int, default=1)
    add("--fs", nargs="+", type=options.names, default=[list(FS)])
    add("--jobs", type=options.count, default=1)
    add("--out", type=options.out_folder)
    add("--restart", action="store_true")
    add("--kernels", default="")
    add("--check", type=options.in_file)


def run(args: argparse.Namespace) -> int:
    if args.show is not None:
        return _show(args)
    options.need_checkout("certify")
    patterns, fs = (_joined(option, getattr(args, option)) for option in ("patterns", "fs"))
    for one in fs:
        if one not in FS:
            raise UsageError(f"--fs {unknown(one, FS)}")
    from iogauge.measure.certify import recorded  # here: these need ReFrame and a checkout

    from .run import use

    known = load(args.check) if args.check else None
    folder = args.out or output() / "certificate"
    if not args.kernels:
        use(args.stack)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    names = ("minutes", "runs", "jobs", "seed", "kernels", "restart")
    wanted = recorded.Wanted(
        args.stack, patterns, fs, **{name: getattr(args, name) for name in names}
    )
    runs = recorded.make(wanted, folder)
    if known is None:
        print(certificate_text.short(certificate.judge(folder)))
        return EXIT_OK
    news = certificate.news(certificate.judge(folder), known)
    for line in (*news.notes, *(f"NEW: {line}" for line in news.new)):
        print(line)
    print(f"{len(runs)} runs; wrong and not in {args.check}: {len(news.new)}")
    return EXIT_NOT_VERIFIED if news.new or not runs else EXIT_OK


def _joined(option: str, given: list[list[str]]) -> list[str]:
    found = [name for names in given for name in names]
    if len(given) > 1:
        notice(f"iogauge: names are separated by commas now: --{option} {','.join(found)}")
    return found


def _show(args: argparse.Namespace) -> int:
    found = load(args.show if args.show != Path() else output() / "certificate")
    for path, text in ((args.keep, certificate.dump), (args.page, certificate_text.page)):
        if path:
            write_whole(path, text(found))
            options.say_written(path)
    formats.show(
        args, [_row(stack) for stack in found.stacks], COLUMNS, note=certificate_text.faults(found)
    )
    return EXIT_OK


def _row(stack: certificate.StackRuns) -> dict[str, Any]:
    return {
        "stack": stack.name,
        "mpi": certificate_text.version(stack) if "mpi" in stack.versions else None,
        "runs": stack.runs,
        **stack.outcomes,
        "safe": stack.safe or None,
    }


def load(path: Path) -> certificate.Certificate:
    options.need(path, "the runs of `iogauge certify`, or a certificate that it kept")
    if path.is_dir():
        return certificate.judge(path)
    with reraised((json_file.Unreadable, ValueError), NothingFoundError, f"{path}: "):
        return certificate.parse(json_file.read(path, "certificate"))
