# SPDX-License-Identifier: BSD-3-Clause
"""`replay plan`: a schedule of a trace, for `iokernel replay`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from iogauge.analysis.errors import EXIT_OK
from iogauge.analysis.replay import phases, plan, trace, what_if

from . import formats, options

EXAMPLES = """\
examples:
  iogauge replay plan app.darshan -o app.schedule
  iogauge replay plan trace/ -o app.schedule --only /scratch/me
  iogauge replay plan app.darshan -o app.schedule --what-if app.extents
  mpiexec -n 64 iokernel replay --schedule app.schedule --dir /scratch/me --json result.json

The trace needs each access: Darshan's DXT, or the traces of the embedded recorder. What is inferred
or missing is printed, and stands in the schedule. --what-if: what was written, as arrays and who
owns which part of them, for `iokernel extents --extents FILE --method METHOD` with any method.
"""


def add_reading(parser: argparse.ArgumentParser) -> None:
    """The trace, and what of it is taken."""
    parser.add_argument(
        "trace",
        type=options.in_path,
        help="a Darshan log with DXT, the recorder's folder of raw traces, or Recorder's of text",
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="FOLDER",
        help="files below this folder alone; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--gap", type=float, default=phases.GAP, metavar="S",
        help="a pause of all processes of this many seconds divides phases (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--posix", action="store_true", help="POSIX calls, also where the log has MPI-IO's"
    )
    parser.add_argument(
        "--synthesise", action="store_true",
        help="of a log with counters only: accesses made up from them",
    )  # fmt: skip


def planned(args: argparse.Namespace, out: Path) -> plan.Plan:
    """By the options of `add_reading`."""
    if not 0 < args.gap < float("inf"):
        raise trace.CannotReplayError(f"--gap {args.gap}: right is a number of seconds above 0")
    choice = trace.Choice(only=args.only, posix=args.posix, synthesise=args.synthesise)
    return plan.make(trace.load(args.trace, choice), out, args.gap)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_reading(parser)
    parser.add_argument(
        "-o", "--out", type=options.out_file, required=True, metavar="FILE", help="the schedule"
    )
    parser.add_argument(
        "--what-if", type=options.out_file, metavar="FILE",
        help="also: what was written, as arrays, for other methods",
    )  # fmt: skip
    formats.add_format(parser, "what the schedule holds")


def run(args: argparse.Namespace) -> int:
    made = planned(args, args.out)
    found = {
        "processes": made.trace.processes,
        "files": len(made.trace.files),
        "accesses": sum(len(rows) for rows in made.trace.accesses),
        "acts": made.runs,
        "phases": len(made.phases),
        "bytes_made_beforehand": made.prepared,
        "bytes_undefined": made.undefined,
    }
    other = what_if.make(made.trace, args.what_if) if args.what_if else None
    if other:
        found |= {
            "arrays": len(other.arrays),
            "block_decompositions": other.blocks,
            "dumps": other.steps,
        }
    said = [*made.said, *(other.lines() if other else [])]
    if args.json:
        json.dump({**found, "said": said, "conflicts": made.conflicts}, sys.stdout, indent=1)
        print()
    elif args.csv:
        formats.write_csv([found], ())
    else:
        print(", ".join(f"{value} {name.replace('_', ' ')}" for name, value in found.items()))
        for line in (*said, *made.conflicts):
            print(f"  {line}")
    for path in (args.out, args.what_if):
        if path:
            options.say_written(path)
    return EXIT_OK
