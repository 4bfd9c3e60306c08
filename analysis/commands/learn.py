# SPDX-License-Identifier: BSD-3-Clause
"""`learn`: what a system's own history lets one expect, as references/sites/SYSTEM.yaml."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..errors import EXIT_OK, OutputError, TooFewSamplesError
from ..judge import references
from ..store import database as store
from . import formats, options

EXAMPLES = """\
examples:
  python -m analysis learn local                       writes references/sites/local.yaml
  python -m analysis learn dawn --where stack=openmpi  of one stack's history
  python -m analysis learn local --csv                 what it would write, as a table

A sample is a run (the median of its repeats), and a case needs 8. The bounds are the 5 % and the
95 % quantile of its runs, and 5 % of the median beyond (--margin). Tests of `make run` then have
them as ReFrame's `reference`: a run below its bound fails.
"""

MIN_RUNS = 8
NAMED = 5  # refused cases that are named one by one
QUANTITIES = {"write_bw": "MiB/s", "read_bw": "MiB/s"}
CASE = ("partition", "stack", "test", "processes", "fsync", "hints")
COLUMNS = (
    "partition", "stack", "test", "processes", "quantity", "value", "low", "high", "unit",
    "samples",
)  # fmt: skip

Row = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM", help="ReFrame's name of the system")
    options.add_where(parser)
    parser.add_argument("--margin", type=float, default=0.05, help="part of the median (0.05)")
    parser.add_argument("--references", type=Path, default=references.SITES, metavar="DIR",
                        help="folder of the reference files (default: IOGAUGE_REFERENCES, or "
                        "references)")  # fmt: skip
    options.add_store(parser)
    formats.add_format(parser, "what was learned, and write no file,")


def run(args: argparse.Namespace) -> int:
    """Write the site file. Raises TooFewSamplesError where no case has samples enough."""
    connection = store.connect(args.store)
    where = options.where(args).key("system", [args.system])
    learned, refused = learn(connection, where, args.margin)
    for row in refused[:NAMED]:
        print(f"refused: {_name(row)} has {row['samples']} of {MIN_RUNS} runs", file=sys.stderr)
    if len(refused) > NAMED:
        print(f"refused: {len(refused) - NAMED} more", file=sys.stderr)
    if not learned:
        most = max((row["samples"] for row in refused), default=0)
        raise TooFewSamplesError(
            f"{args.system}: no case has {MIN_RUNS} runs; {len(refused)} cases have at most {most}"
        )
    formats.show(args, learned, COLUMNS)
    if not formats.for_programs(args):
        path = references.site_file(args.system, args.references)
        write(path, args.system, learned)
        options.say_written(path)
    return EXIT_OK


def _name(row: Row) -> str:
    return f"{row['test']} on {row['stack']}, {row['processes']} processes, {row['quantity']}"


def learn(connection: Any, where: store.Where, margin: float) -> tuple[list[Row], list[Row]]:
    """What can be expected of each case, and the cases that have too few runs."""
    marks = ", ".join("?" for _ in QUANTITIES)
    found = store.rows(
        connection,
        f"""SELECT partition, stack, "case" AS test, processes, fsync, hints, quantity,
            list(middle) AS runs
        FROM (SELECT partition, stack, "case", processes, fsync, hints, quantity,
                median(value) AS middle
              FROM records
              WHERE {where.sql} AND verdict = 'verified' AND quantity IN ({marks})
              GROUP BY partition, stack, "case", processes, fsync, hints, quantity, session, run)
        GROUP BY ALL ORDER BY ALL""",
        [*where.values, *QUANTITIES],
    )
    learned, refused = [], []
    for row in found:
        runs = row.pop("runs")
        row["samples"] = len(runs)
        if len(runs) < MIN_RUNS:
            refused.append(row)
            continue
        learned.append({**row, **bounds(runs, margin), "unit": QUANTITIES[row["quantity"]]})
    return learned, refused


def bounds(runs: list[float], margin: float) -> dict[str, float]:
    """Median, and quantiles with a margin beyond; never below a thousandth of the median."""
    middle = statistics.median(runs)
    cuts = statistics.quantiles(runs, n=20, method="inclusive")
    low, high = cuts[0] - margin * middle, cuts[-1] + margin * middle
    return {"value": middle, "low": max(low, middle / 1000), "high": high}


def write(path: Path, system: str, learned: list[Row]) -> None:
    """The site file, by one rename. Raises OutputError where it cannot be written."""
    import yaml

    by_case: dict[tuple[Any, ...], Row] = {}
    for row in learned:
        case = {name: row[name] for name in CASE}
        entry = by_case.setdefault(tuple(case.values()), {"case": case, "values": {}})
        entry["values"][row["quantity"]] = _rounded(row)
    today = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    data = {
        "schema": "iogauge.site/1",
        "system": system,
        "learned": today,
        "references": list(by_case.values()),
    }
    text = "# Written by `python -m analysis learn`: what this system's own history expects.\n"
    text += yaml.safe_dump(data, sort_keys=False, width=100)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}")
        part.write_text(text)
        part.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None


def _rounded(row: Mapping[str, Any]) -> Row:
    """Four digits are more than the numbers hold."""
    numbers = {name: float(f"{row[name]:.4g}") for name in ("low", "value", "high")}
    numbers["low"] = min(numbers["low"], numbers["value"])
    numbers["high"] = max(numbers["high"], numbers["value"])
    return {**numbers, "unit": row["unit"], "samples": row["samples"]}
