# SPDX-License-Identifier: BSD-3-Clause
"""`replay check`: a replay's own trace held against the log that it replays."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path

from iogauge.analysis.errors import EXIT_NOT_VERIFIED, EXIT_OK
from iogauge.analysis.pages import beside_page
from iogauge.analysis.replay import check, schedule, trace
from iogauge.analysis.replay.check import Comparison
from iogauge.analysis.replay.trace import Trace

from . import formats, options

EXAMPLES = """\
examples:
  iogauge replay check app.schedule app.darshan replay/trace.darshan
  iogauge replay check app.schedule trace/ replay-trace/ --page replay.html
  iogauge replay check app.schedule trace/ replay-trace/ --json | jq .wrong

Bytes, calls, sizes and the order of each process must be the same. Exit code 1: they are not.
Times are shown, and judged by nobody: they are those of two runs.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("schedule", type=options.in_file, help="what `replay plan` made of the log")
    parser.add_argument("log", type=options.in_path, help="the log, or the folder of raw traces")
    parser.add_argument(
        "replay", type=options.in_path, help="the replay's own, each access recorded"
    )
    parser.add_argument(
        "--page", type=options.out_file, metavar="FILE",
        help="also write a page: the comparison, and pictures of log and replay beside each other",
    )  # fmt: skip
    formats.add_format(parser, "the comparison (CSV: of the phases)")


def run(args: argparse.Namespace) -> int:
    gap = float(schedule.read_header(args.schedule)["gap"])
    log, replay = check.load(args.schedule, args.log, args.replay)
    found = check.compare(log, replay, gap)
    if args.json:
        json.dump(asdict(found), sys.stdout, indent=1)
        print()
    elif args.csv:
        formats.write_csv([asdict(phase) for phase in found.phases], ())
    else:
        show(found)
    if args.page:
        write_page(args.page, found, (args.schedule, args.log, args.replay), (log, replay))
    return EXIT_NOT_VERIFIED if found.wrong else EXIT_OK


def write_page(
    page: Path, found: Comparison, files: tuple[Path, Path, Path], traces: tuple[Trace, Trace]
) -> None:
    """`files`: schedule, log, and the replay's trace; `traces`: the last two, loaded."""
    words = ("replay", "check", *files, "--page", page)
    beside_page.write(page, found, *traces, shlex.join(map(str, words)))
    options.say_written(page)


def show(found: Comparison) -> None:
    print(f"{'':8} {'calls':>12} {'replay':>12} {'bytes':>16} {'replay':>16}")
    for word, way in (("read", trace.READ), ("written", trace.WRITE)):
        a, b = found.log[way], found.replay[way]
        print(f"{word:8} {a.calls:12} {b.calls:12} {a.bytes:16} {b.bytes:16}")
    print(f"sizes, places and order: exact for {found.exact} of {found.processes} processes")
    for line in (*found.said, *found.wrong[: check.SHOWN]):
        print(f"  {line}")
    if len(found.wrong) > check.SHOWN:
        print(f"  and {len(found.wrong) - check.SHOWN} more")
    if not found.phases:
        return
    print(f"{'phase':>8} {'calls':>12} {'bytes':>16} {'log s':>12} {'replay s':>12} {'ratio':>8}")
    for phase in found.shown:
        _row(str(phase.number), phase.calls, phase.bytes, phase.log, phase.replay)
    moved = [sum(sums.bytes for sums in found.log.values())]
    calls = sum(sums.calls for sums in found.log.values())
    _row("all", calls, moved[0], found.log_seconds, found.replay_seconds)


def _row(name: str, calls: int, moved: int, log: float, replay: float) -> None:
    ratio = f"{replay / log:8.2f}" if log > 0 else f"{'-':>8}"
    print(f"{name:>8} {calls:12} {moved:16} {log:12.6f} {replay:12.6f} {ratio}")
