# SPDX-License-Identifier: BSD-3-Clause
"""`stack list` and `stack add`: the library stacks of this machine."""

from __future__ import annotations

import argparse

from iogauge.analysis.errors import EXIT_OK
from iogauge.measure import stacks

from . import formats, options

EXAMPLES = """\
examples:
  iogauge stack list
  iogauge stack add trixie              Debian 13's openmpi and mpich: trixie-openmpi, trixie-mpich
  iogauge stack add wheel:mpich==5.0.2 abi:mpich==5.0.2 standard:sid-openmpi
  iogauge run --stack openmpi,trixie-openmpi --rounds 8

A release of Debian takes 5 minutes and 1.3 GB, below .local/releases. An MPI of your own needs no
installation: iogauge run --stack prefix:/opt/openmpi.
"""

COLUMNS = ("stack", "installed", "libraries", "lacks")


def add_list(parser: argparse.ArgumentParser) -> None:
    formats.add_format(parser)


def run_list(args: argparse.Namespace) -> int:
    """Those of set-up, and those that were added."""
    rows: list[dict[str, formats.Value]] = []
    for name in stacks.known():
        environ = stacks.entry(name)
        lacks = stacks.lacking(environ)
        there, missing = stacks.libraries(environ)
        rows.append({
            "stack": name, "installed": not lacks, "libraries": " ".join(there),
            "lacks": lacks or " ".join(missing),
        })  # fmt: skip
    formats.show(args, rows, COLUMNS)
    return EXIT_OK


def add_add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stacks", nargs="+", metavar="STACK", help="a Debian release, or a stack")


def run_add(args: argparse.Namespace) -> int:
    """Install them; what is in place is left alone."""
    stacks.install(args.stacks)
    options.say("ready; iogauge stack list shows all")
    return EXIT_OK
