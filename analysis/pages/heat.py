# SPDX-License-Identifier: BSD-3-Clause
"""The heat map: pattern x method x stack x file system; each cell is a share of the peak."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from iogauge.common import tables
from iogauge.common.text import percent

from ..judge import share_of_peak
from ..session.rows import rank
from .words import ABOVE

Row = dict[str, Any]


def maps(rows: Sequence[Row], reasons: Callable[[Row], str]) -> list[dict[str, Any]]:
    """One map for each direction. `rows`: of share_of_peak.of_cases. `reasons`: why above 100 %."""
    best = share_of_peak.best(rows)
    found = []
    for quantity, name in (("write_bw", "write"), ("read_bw", "read")):
        mine = {key[:-1]: row for key, row in best.items() if key[-1] == quantity}
        if not mine:
            continue
        methods = _in_order("methods", (key[3] for key in mine))
        patterns = _in_order("patterns", (key[0] for key in mine))
        found.append(
            {
                "name": name,
                "methods": methods,
                "patterns": [
                    (pattern, _lines(pattern, mine, methods, reasons)) for pattern in patterns
                ],
            }
        )
    return found


def _in_order(what: str, names: Iterable[str]) -> list[str]:
    return sorted(set(names), key=lambda name: rank(name, tables.names(what)))


def _lines(
    pattern: str,
    best: Mapping[tuple[Any, ...], Row],
    methods: Sequence[str],
    reasons: Callable[[Row], str],
) -> list[tuple[str, list[dict[str, Any] | None]]]:
    places = sorted({key[1:3] for key in best if key[0] == pattern})
    return [
        (f"{fs}, {stack}", [_cell(best.get((pattern, fs, stack, m)), reasons) for m in methods])
        for fs, stack in places
    ]


def _cell(row: Row | None, reasons: Callable[[Row], str]) -> dict[str, Any] | None:
    if row is None:
        return None
    value = row["efficiency"]
    why = reasons(row)
    return {
        "text": (f"{100 * value:.0f}" if value >= 0.01 else "<1") + (ABOVE if why else ""),
        "value": value,
        "full": round(100 * min(value, 1)),
        "beyond": round(100 * min(max(value - 1, 0), 1)),  # 200 % and more
        "above": bool(why),
        "says": _says(row) + (f"; {why}" if why else ""),
    }


def _says(row: Row) -> str:
    call = ":".join(filter(None, (row["method"], row["mode"])))
    words = (row["pattern"], row["scale"], call, row["variant"], row["hints"])
    sure = (
        f"95 %: {percent(row['low'])} to {percent(row['high'])}"
        if row["low"] is not None
        else f"{row['samples']}: no interval"
    )
    of = f"; the most of {row['cases']} cases" if row["cases"] > 1 else ""
    return (
        f"{' '.join(filter(None, words))} on {row['stack']}, {row['fs']}, {row['processes']} "
        f"processes: {percent(row['efficiency'])} of the peak ({sure}){of}"
    )
