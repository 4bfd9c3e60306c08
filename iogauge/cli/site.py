# SPDX-License-Identifier: BSD-3-Clause
"""`site new`, `check` and `list`: the files that describe a machine."""

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ReframeError

from iogauge.analysis.errors import EXIT_NOT_VERIFIED, EXIT_OK, UsageError
from iogauge.analysis.judge import references
from iogauge.common.files import write_whole
from iogauge.common.paths import ROOT, is_checkout
from iogauge.common.text import notice
from iogauge.measure import sites
from iogauge.measure.new_site import schedulers
from iogauge.measure.new_site.file import site_file
from iogauge.measure.new_site.machine import Machine

from . import formats, options

COLUMNS = ("site", "systems", "stacks", "references")
add_list = formats.add_format


def add_new(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name")
    parser.add_argument("--output", type=options.out_file)


def run_new(args: argparse.Namespace) -> int:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", args.name):
        raise UsageError(f"{args.name!r}: expected a lower-case letter, then a-z 0-9 _")
    if args.output and args.output.suffix != ".py":  # --site would take it for a name
        right = f"use {args.output.with_suffix('.py')}: ReFrame needs a name that ends with .py"
        raise UsageError(f"--output {args.output}: {right}")
    own = ROOT / "site_configs" if is_checkout() else Path()
    path = args.output or own / f"{args.name}.py"
    if path.is_file():
        raise UsageError(f"{path} exists already; name another with --output")
    batch = schedulers.find(machine := Machine())
    write_whole(path, site_file(args.name, machine, batch, path))
    for line in batch.remarks:
        notice(line)
    site = args.name if is_checkout() and not args.output else shlex.quote(str(path))
    print(f"{path}: look for CHECK; then, with one of its partitions if there are several,\n")
    print(f"  iogauge site check {site}")
    print(f"  iogauge run --site {site} --dry-run -t smoke")
    return EXIT_OK


def add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("site")


def run_check(args: argparse.Namespace) -> int:
    path = sites.find(args.site)
    try:
        found = sites.load(path)
    except ReframeError as error:
        notice(f"iogauge: {path}: {error}")
        return EXIT_NOT_VERIFIED
    # As ReFrame does, which does not know where iogauge is.
    code = "import runpy, sys; sys.path = [*filter(None, sys.path)]; runpy.run_path(sys.argv[1])"
    command = [sys.executable, "-c", code, str(path)]
    alone = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    if alone.returncode:
        why = alone.stderr.strip().splitlines()[-1:]
        notice(f"iogauge: {path}: ReFrame cannot load it: {''.join(why)}")
        return EXIT_NOT_VERIFIED
    systems = ", ".join(_names(found["systems"]))
    print(f"{path}: no mistake found; systems: {systems}")
    if left := path.read_text().count("# CHECK"):
        print(f"{left} lines are still marked CHECK: correct them, and remove the word")
    return EXIT_OK


def run_list(args: argparse.Namespace) -> int:
    formats.show(args, [_row(path) for path in sites.files()], COLUMNS)
    return EXIT_OK


def _names(entries: list[dict[str, Any]]) -> list[str]:
    return [str(entry.get("name")) for entry in entries]


def _row(path: Path) -> dict[str, Any]:
    try:
        found = sites.load(path)
    except ReframeError as error:
        return {"site": path.stem, "systems": f"unusable: {error}", "stacks": "", "references": ""}
    systems, stacks = _names(found["systems"]), _names(found["environments"])
    learned = [name for name in systems if references.site_file(name, references.SITES).exists()]
    return dict(zip(COLUMNS, [path.stem, *map(" ".join, (systems, stacks, learned))], strict=True))
