# SPDX-License-Identifier: BSD-3-Clause
"""`advise`: the fastest method, mode and hints that were seen for a pattern, ready to use."""

import argparse
from pathlib import Path
from typing import Any

from iogauge.analysis.columns import columns
from iogauge.analysis.errors import EXIT_OK, NothingFoundError, UsageError
from iogauge.analysis.judge import acceptance, advice
from iogauge.analysis.session.model import BANDWIDTHS, RATES, SHORT
from iogauge.analysis.session.peaks import too_short
from iogauge.common import tables
from iogauge.common.files import write_whole
from iogauge.common.text import ratio, three

from . import formats, options

COLUMNS = columns("advise")
TOP = 5

Row = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--pattern", required=True)
    add("--system", required=True)
    add("--for", dest="direction", choices=("write", "read"), default="write")
    add("--default", default=advice.DEFAULT)
    add("--kind", choices=tuple(tables.KINDS))
    add("--top", type=options.count, default=TOP)
    add("--write", type=options.out_folder)
    options.add_where(parser)
    options.add_store(parser)
    formats.add_format(parser)


def run(args: argparse.Namespace) -> int:
    if not args.top:
        raise UsageError("--top 0: expected 1 or more")
    db = options.connect(args)
    where = options.where(args, db)
    where = where.key("pattern", [args.pattern]).key("system", [args.system])
    if args.kind:
        where = where.key("method", tables.methods_of_kind(args.kind))
    found, unit = advice.candidates(db, where, RATES[args.direction]), "files_s"
    if not found:
        found, unit = advice.candidates(db, where, BANDWIDTHS[args.direction]), "mib_s"
    if not found:
        what = f"verified {args.direction}s of pattern {args.pattern} on {args.system}"
        raise NothingFoundError(f"the store has no {what}")
    if args.write and len(found) > 1:
        keys = "fs={} scale={} processes={} fsync={}"
        which = "; ".join(keys.format(*map(acceptance.text, group)) for group in found)
        raise UsageError(f"--write: expected one of these, selected by --where: {which}")
    rows: list[Row] = []
    lines = [""]
    for group in found.values():
        top = advice.rank(group, args.default, unit)[: args.top]
        rows += top
        lines += [_in_words(top[0], args, unit)]
        lines += [f"  {advice.of_kind(one)}" for one in advice.by_kind(group, args.default)]
    formats.show(args, rows, [name.format(unit) for name in COLUMNS], note="\n".join(lines))
    if args.write:
        for path in write_files(args.write, rows[0]):
            options.say_written(path)
    return EXIT_OK


def _in_words(row: Row, args: argparse.Namespace, unit: str) -> str:
    hints = f" with {row['hints']}" if row["hints"] else ", no hints"
    variant = f" ({row['variant']})" if row["variant"] else ""
    interval = f" ({row['low']:.0f} to {row['high']:.0f})" if row["low"] else ""
    gain = ""
    if row["verdict"] == "is the default":
        gain = ", the default"
    elif row["over_default"]:
        low, high = row["gain_low"], row["gain_high"]
        value = ratio(row["over_default"], row["verdict"])
        ends = f"{three(low)} to {three(high)}" if low else row["lacks"] or "no interval"
        gain = f", {value} times as fast as {args.default} on the same stack ({ends})"
    synced = "" if row["fsync"] else ", no fsync"
    text = (
        f"{row['fs']}, {row['scale']}, {row['processes']} processes{synced}: {row['call']} on "
        f"{row['stack']}{variant}{hints}: {row[unit]:.0f} {SHORT[unit]}{interval}{gain}"
    )
    return "; ".join(filter(None, (text, too_short(row["shortest"]))))


def write_files(folder: Path, row: Row) -> list[Path]:
    hints = dict(word.split("=", 1) for word in row["hints"].split())
    files = advice.settings(hints, row["mpi_io"] or "", folder.resolve())
    undecided = row["lacks"] and f"not decided yet whether it is faster: {row['lacks']}"
    if why := too_short(row["shortest"]) or undecided:
        files["environment.sh"] = f"# {why}\n{files['environment.sh']}"
    for name, text in files.items():
        write_whole(folder / name, text)
    return [folder / name for name in files]
