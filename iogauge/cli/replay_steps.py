# SPDX-License-Identifier: BSD-3-Clause
"""`replay plan`, `check` and `like`: the input of `iokernel replay` and `file`, and a check."""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from iogauge.analysis.errors import EXIT_NOT_VERIFIED, EXIT_OK
from iogauge.analysis.file_import import document, files, maps
from iogauge.analysis.pages import beside_page, grid, screen
from iogauge.analysis.replay import check, phases, plan, schedule, trace, what_if
from iogauge.analysis.replay.check import Comparison
from iogauge.analysis.replay.trace import Trace
from iogauge.common.text import plain

from . import formats, options


def add_reading(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("trace", type=options.in_path)
    add("--only", action="append", default=[])
    add("--gap", type=float, default=phases.GAP)
    add("--posix", action="store_true")
    add("--synthesise", action="store_true")


def loaded(args: argparse.Namespace) -> Trace:
    if not 0 < args.gap < float("inf"):
        raise trace.CannotReplayError(f"--gap {args.gap}: expected a number of seconds above 0")
    choice = trace.Choice(only=args.only, posix=args.posix, synthesise=args.synthesise)
    return trace.load(args.trace, choice)


def add_plan(parser: argparse.ArgumentParser) -> None:
    add_reading(parser)
    add = parser.add_argument
    add("-o", "--out", type=options.out_file, required=True)
    add("--what-if", type=options.out_file)
    formats.add_format(parser)


def run_plan(args: argparse.Namespace) -> int:
    made = plan.make(loaded(args), args.out, args.gap)
    found = {
        "processes": made.trace.processes,
        "files": len(made.trace.files),
        "accesses": sum(len(rows) for rows in made.trace.accesses),
        "acts": made.runs,
        "phases": len(made.phases),
        "bytes_made_beforehand": made.prepared,
        "bytes_undefined": made.undefined,
    }
    notes = list(made.notes)
    if args.what_if:
        other = what_if.make(made.trace, args.what_if)
        found |= {
            "arrays": len(other.arrays),
            "block_decompositions": other.blocks,
            "dumps": other.steps,
        }
        notes += other.lines()
    formats.show_facts(args, found, notes, conflicts=made.conflicts)
    for path in filter(None, (args.out, args.what_if)):
        options.say_written(path)
    return EXIT_OK


def add_check(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("schedule", type=options.in_file)
    add("log", type=options.in_path)
    add("replay", type=options.in_path)
    add("--page", type=options.out_file)
    formats.add_format(parser)


def run_check(args: argparse.Namespace) -> int:
    gap = float(schedule.read_header(args.schedule)["gap"])
    log, replay = check.load(args.schedule, args.log, args.replay)
    found = check.compare(log, replay, gap)
    if args.json:
        formats.write_json(asdict(found))
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
    console = screen.console()
    console.print(grid.of_texts(beside_page.sums(found)))
    print(f"sizes, offsets and order: exact for {found.exact} of {found.processes} processes")
    for line in (*found.notes, *found.wrong[: check.SHOWN]):
        print(f"  {plain(line)}")
    if len(found.wrong) > check.SHOWN:
        print(f"  and {len(found.wrong) - check.SHOWN} more")
    if found.phases:
        console.print(grid.of_texts(beside_page.phases(found)))


def add_like(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("file", type=options.in_file)
    add("-o", "--out", type=options.out_file, required=True)
    for name in ("--length", "--only", "--skip", "--list"):
        add(name, action="append", default=[])
    add("--contiguous", action="store_true")
    formats.add_format(parser)


def _pairs(option: str, words: Sequence[str], expected: str) -> dict[str, str]:
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name or not value:
            raise document.CannotLikeError(f"{option} {word}: expected {expected}")
        found[name] = value
    return found


def _lengths(words: list[str]) -> dict[str, int]:
    found = _pairs("--length", words, "a dimension and a number above 0, such as time=1")
    for name, value in found.items():
        if not value.isdecimal() or not int(value):
            raise document.CannotLikeError(
                f"--length {name}={value}: expected a whole number above 0, such as {name}=1"
            )
    return {name: int(value) for name, value in found.items()}


def run_like(args: argparse.Namespace) -> int:
    like = files.load(args.file)
    document.narrow(like, args.only, args.skip)
    document.resize(like, _lengths(args.length))
    lists = _pairs("--list", args.list, "a dimension and a file, such as ncol=piodecomp16.dat")
    maps.take(like, lists)
    document.check(like)
    for one in like.variables if args.contiguous else ():
        one.chunk, one.filters = None, []
    document.write(like, args.out)
    found: dict[str, Any] = {
        "variables": len(like.variables),
        "dimensions": len(like.dimensions),
        "attributes": len(like.attributes) + sum(len(v.attributes) for v in like.variables),
        "bytes": like.bytes(),
    }
    formats.show_facts(args, found, like.notes)
    options.say_written(args.out)
    return EXIT_OK
