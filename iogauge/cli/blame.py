# SPDX-License-Identifier: BSD-3-Clause
"""`blame`: which accesses of several processes raced, and which touched a wrong byte."""

import argparse
from pathlib import Path
from typing import Any

from iogauge.analysis import errors
from iogauge.analysis.blame import races
from iogauge.analysis.blame.accesses import LAYERS, Traced
from iogauge.analysis.darshan.raw import TRACES, holds_traces
from iogauge.analysis.ledger.traced import RAW
from iogauge.common import json_file
from iogauge.common.run_folder import DOCUMENT, TRACE
from iogauge.common.text import notice

from . import formats, options

ACCESS = ("process", "host", "call", "offset", "length", "start", "end")
COLUMNS = ("kind", "layer", "file", "low", "high", "a_process", "a_call", "b_process", "b_call")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("trace", type=options.in_path)
    add("--file")
    add("--byte", type=options.count)
    add("--examples", type=options.count, default=3)
    formats.add_format(parser)


def run(args: argparse.Namespace) -> int:
    if (args.file is None) != (args.byte is None):
        raise errors.UsageError("--file and --byte: use both, or neither")
    found = races.find(source(args.trace))
    if formats.for_programs(args):
        asked = found.races if args.file is None else races.at(found, args.file, args.byte).races
        formats.show(args, [row(found.traced, asked, i) for i in range(len(asked))], COLUMNS)
    else:
        from iogauge.analysis.pages import blame_text

        blame_text.show(found, _wrong(args, found), args.examples)
    if not found.whole:
        notice(f"more than {len(found.races)} races: the others were not checked")
    if len(found.certain):
        return errors.EXIT_NOT_VERIFIED
    return errors.EXIT_NO_ORDER if len(found.races) else errors.EXIT_OK


def source(given: Path) -> Path:
    """The best source of a run: the recorder's traces, else the log."""
    folders = [given, given / RAW] if given.is_dir() else []
    for folder in folders:
        if holds_traces(folder):
            return folder
    log = given / TRACE if given.is_dir() else given
    if not log.is_file():
        raise errors.NothingFoundError(f"{given}: expected {RAW}/{TRACES} or {TRACE}, found none")
    return log


def _wrong(args: argparse.Namespace, found: races.Blame) -> races.WrongByte | None:
    if args.file is not None:
        return races.at(found, args.file, args.byte)
    folder = args.trace if args.trace.is_dir() else args.trace.parent
    document = next(
        (path for path in (folder / DOCUMENT, folder.parent / DOCUMENT) if path.is_file()), None
    )
    if document is None:
        return None
    with errors.reraised(json_file.Unreadable, errors.NothingFoundError, f"{document}: "):
        return races.of_document(found, json_file.read(document))


def row(traced: Traced, one: races.Races, i: int) -> dict[str, Any]:
    """A race, for programs: times in seconds; `high` is the end of the range, exclusive."""
    rows = traced.accesses
    made: dict[str, Any] = {
        "kind": races.KINDS[one.kind[i]].partition(":")[0],
        "layer": LAYERS[rows["layer"][one.a[i]]],
        "file": traced.files[rows["file"][one.a[i]]],
        "low": int(one.low[i]),
        "high": int(one.high[i]),
    }
    for name, column in (("a", one.a), ("b", one.b), ("read", one.read)):
        cells: dict[str, Any] = dict.fromkeys(ACCESS)
        if (k := int(column[i])) >= 0:  # not every race has a read
            cells |= {cell: rows[cell][k].item() for cell in ACCESS if cell != "host"}
            cells["call"] = traced.call(k)
            cells["host"] = traced.hosts[cells["process"]]
        made |= {f"{name}_{cell}": value for cell, value in cells.items()}
    return made
