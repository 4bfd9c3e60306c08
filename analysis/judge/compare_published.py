# SPDX-License-Identifier: BSD-3-Clause
"""Published numbers beside runs: the conditions of both, and how they differ. Never a verdict, and
a ratio only at the published size. The shape of a table compares at any size."""

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..columns import columns
from ..store import database as store
from ..store.database import Where
from . import references
from .references import Published

Row = dict[str, Any]

COLUMNS = columns("published")

UNLIKE = "unlike conditions"

# Parameters of published tables that our tests have too; they select the runs.
_CHOOSING = ("layout", "hint_set", "send", "io_processes", "size")
# What defines the published size; and what else may differ, with its name.
_SIZE = {"scale": "scale", "processes": "processes"}
_LIKE = {**_SIZE, "fs_type": "file system"}


def published(db: Any, chosen: Where) -> list[Row]:
    """Each selected run beside the numbers of its pattern and method (any, if the publication does
    not name one): of its size, or else the one with the nearest number of processes."""
    found: dict[tuple[Any, ...], list[tuple[Published, Row]]] = defaultdict(list)
    for number in references.published():
        if "pattern" in number.run:
            for ours in _ours(db, chosen, number):
                if ours["unit"] == "bytes" and not _of_size(number, ours):
                    continue  # a file's size is comparable only at the same size
                case = tuple(ours[name] for name in _CASE)
                which = tuple(str(number.parameters.get(name)) for name in _CHOOSING)
                method = number.run.get("method")
                found[number.id, number.quantity, which, method, case].append((number, ours))
    rows = [_row(number, ours) for of in found.values() for number, ours in _nearest(of)]
    _add_parts(rows)
    return rows


_CASE = columns("published_case")


def _ours(db: Any, chosen: Where, number: Published) -> list[Row]:
    keys = {"pattern": number.run["pattern"], "quantity": number.quantity}
    keys |= {"method": number.run.get("method", "")}
    keys |= {name: str(number.parameters.get(name, "")) for name in _CHOOSING}
    where = chosen.key("test", number.run["test"].split()) if "test" in number.run else chosen
    for name, word in keys.items():
        where = where.key(name, [word]) if word else where
    return store.rows(
        db,
        f"""SELECT {", ".join(_CASE)}, list(value) AS found, any_value(unit) AS unit,
            any_value(document) AS document
        FROM records WHERE {where.sql} GROUP BY ALL ORDER BY ALL""",
        where.values,
    )


def _of_size(number: Published, ours: Row) -> bool:
    """A file's size depends only on what is printed with it."""
    names = [name for name in _SIZE if ours["unit"] != "bytes" or name in number.run]
    return all(number.run.get(name) == ours[name] for name in names)


def _nearest(pairs: Sequence[tuple[Published, Row]]) -> Sequence[tuple[Published, Row]]:
    """The rows of one table to show beside a run: rows of its size, or else the one with the
    nearest number of processes."""

    def distance(pair: tuple[Published, Row]) -> float:
        theirs = pair[0].run.get("processes")
        return abs(math.log(theirs / pair[1]["processes"])) if theirs else math.inf

    return [pair for pair in pairs if _of_size(*pair)] or [min(pairs, key=distance)]


def _unlike(number: Published, ours: Row) -> tuple[str, ...]:
    """What differs: `file system ext4 (gpfs)` is ours, then theirs."""
    parts = ["the machine"]
    if "method" not in number.run:
        parts.append(f"method {ours['method']} (not stated)")
    for name, words in _LIKE.items():
        theirs = number.run.get(name)
        if theirs is None and name in _SIZE:
            parts.append(f"{words} {ours[name]} (not stated)")
        elif theirs is not None and theirs != ours[name]:
            parts.append(f"{words} {ours[name]} ({theirs})")
    return tuple(parts)


def _row(number: Published, ours: Row) -> Row:
    values = ours["found"]
    middle = statistics.median(values)
    theirs = number.in_unit(ours["unit"])
    faster = theirs / middle if ours["unit"] == "s" else middle / theirs
    our_text = (
        f"{ours['system']}, {ours['fs']} ({ours['fs_type']}), {ours['stack']}, "
        f"{ours['processes']} processes, {ours['scale']}, {ours['payload_bytes'] / 2**30:.3g} GiB, "
        f"n={len(values)}"
    )
    processes = number.run.get("processes")
    their_text = f"{number.system}, {f'{processes} processes, ' if processes else ''}"
    return {
        "pattern": number.run["pattern"],
        "method": number.run.get("method")
        or ":".join(filter(None, (ours["method"], ours["mode"]))),
        "parameters": ", ".join(f"{k}={v}" for k, v in number.parameters.items()),
        "quantity": number.quantity,
        "ours": middle,
        "published": theirs,
        "unit": ours["unit"],
        "ratio": faster if _of_size(number, ours) else None,
        "ours_of_best": None,
        "published_of_best": None,
        "our_conditions": our_text,
        "published_conditions": their_text + number.conditions,
        "unlike": _unlike(number, ours),
        "source": number.source,
        "tag": number.tag,
        "verdict": UNLIKE,
        "samples": len(values),
        "document": ours["document"],
        "place": our_text.rpartition(", n=")[0],
        "table": number.id,
    }


def _add_parts(rows: Sequence[Row]) -> None:
    """Add each number relative to its table's best: ours to ours, theirs to theirs. Only for tables
    where at least two rows have runs of ours, each a different one."""
    tables: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row["parameters"]:
            tables[row["table"], row["quantity"], row["place"]].append(row)
    for of in tables.values():
        shown = {(row["method"], row["parameters"]) for row in of}
        documents = {row["document"] for row in of}
        if len(of) < 2 or not len(shown) == len(documents) == len(of):
            continue
        for who in ("ours", "published"):
            speeds = [1 / r[who] if r["unit"] == "s" else r[who] for r in of]
            for row, speed in zip(of, speeds, strict=True):
                row[f"{who}_of_best"] = speed / max(speeds)
