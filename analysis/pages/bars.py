# SPDX-License-Identifier: BSD-3-Clause
"""The overview's bars as a page draws them: how full each method makes the practical peak.

They are part of the page's own text, so they are as wide as the screen allows, and their words are
never cut. chart.py draws the same bars as a picture.
"""

from __future__ import annotations

from typing import Any

from ..session.rows import Table
from . import chart, colours
from .words import bandwidth_text, with_mark

Datum = dict[str, Any]


def figure(table: Table) -> dict[str, Any] | None:
    """Groups of panels of methods of bars; None where nothing was measured."""
    data = chart.bars(table)
    if not data:
        return None
    columns = chart.columns(data)
    titles = chart.titles(table, columns)
    series = colours.of_names(sorted({bar["series"] for bar in data}))
    groups = []
    for name in dict.fromkeys(bar["group"] for bar in data):
        mine = [bar for bar in data if bar["group"] == name]
        panels = [
            {"title": titles[column], "ways": _ways(of, series)}
            for column in columns
            if (of := [bar for bar in mine if bar["column"] == column])
        ]
        groups.append({"name": name, "panels": panels})
    return {"legend": list(series.items()), "groups": groups}


def _ways(data: list[Datum], series: dict[str, str]) -> list[tuple[str, list[Datum]]]:
    """The bars of each method; the longest mark of a panel is 100 %."""
    full = max(bar["end"] for bar in data)
    ways: dict[str, list[Datum]] = {}
    for bar in data:
        shown = {name: round(100 * bar[name] / full, 2) for name in ("median", "low", "high")}
        ways.setdefault(bar["how"], []).append({
            **shown,
            "peak": round(100 * bar["peak"] / full, 2) if bar["peak"] else None,
            "colour": series[bar["series"]],
            "number": bandwidth_text(bar["median"]),
            "share": with_mark(bar["label"], bar["why"]),
            "says": _says(bar),
        })  # fmt: skip
    return list(ways.items())


def _says(bar: Datum) -> str:
    """What one sees on pointing at a bar."""
    low, middle, high = (bandwidth_text(bar[name]) for name in ("low", "median", "high"))
    said = f"{bar['how']}, {bar['series']}: {middle} MiB/s ({low} to {high} over the repeats)"
    if bar["label"]:
        said += f"; {bar['label']} of the practical peak"
    return said + (f": {bar['why']}" if bar["why"] else "")
