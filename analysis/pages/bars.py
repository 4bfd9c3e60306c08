# SPDX-License-Identifier: BSD-3-Clause
"""Bandwidth as a share of the practical peak: a bar for each method, on the page and as a picture.

A panel is one file system and direction with its own scale: it compares methods, not memory with
disk.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import escape

from iogauge.common.files import write_whole
from iogauge.common.text import counted, one_line

from ..errors import UsageError
from ..judge.share_of_peak import why_above
from ..session.model import DIRECTIONS, Direction
from ..session.rows import Row, Table
from . import colours
from .page import PNG_SCALE, SVG, load_template
from .words import bandwidth_text, percent_text, with_mark

LONGEST = 120  # letters of a name; the rest is cut
PER_LINE = 4  # panels of a picture: two file systems side by side
PANEL, BAR = 300, 170  # pixels of a panel with its space, of its longest bar
LETTER, MARGIN = 7, 10  # pixels of a letter, on average
SUBTITLE = (
    "Bar: median bandwidth, MiB/s. Thin line: slowest to fastest repeat. Pale track: the practical "
    "peak (a file per process, the session's highest)."
)

Datum = dict[str, Any]
Column = tuple[str, Direction]


def bars(table: Table) -> list[Datum]:
    """One entry per bar: the write or the read of a row, in MiB/s.

    Left out are rows without numbers or with wrong bytes, `null` (it moves nothing), the peak tests
    (they are the track), and rows of many small files, whose bytes are not the point.
    """
    rows = [
        row
        for row in table.rows
        if row.run.method != "null" and row.outcome != "failed" and not row.rates
    ]
    many = len({row.run.processes for row in rows}) > 1
    same = Counter((_group(row), _how(row), row.run.stack, row.run.fs) for row in rows)
    data: list[Datum] = []
    for row in rows:
        run = row.run
        doubled = same[_group(row), _how(row), run.stack, run.fs] > 1
        extra = f", {counted(run.processes or 0, 'process')}" if many and doubled else ""
        for direction in DIRECTIONS:
            spread = row.bandwidth(direction)
            if spread is None:
                continue
            share = row.share("fpp", direction)
            peak = share.peak if share else None
            data.append(
                {
                    "group": _group(row),
                    "how": _how(row),
                    "series": run.stack + extra,
                    "column": (run.fs, direction),
                    "median": spread.median,
                    "low": spread.low,
                    "high": spread.high,
                    "peak": peak,
                    "end": max(spread.high, peak or 0.0),
                    "label": f"{percent_text(row, 'fpp', direction)} %" if share else "",
                    "why": why_above(row, "fpp", direction),
                }
            )
    return data


def figure(table: Table) -> dict[str, Any] | None:
    data = bars(table)
    if not data:
        return None
    columns = sorted({bar["column"] for bar in data}, key=lambda c: (c[0], DIRECTIONS.index(c[1])))
    titles = _titles(table, columns)
    series = colours.of_names(sorted({bar["series"] for bar in data}))
    groups = []
    for name in dict.fromkeys(bar["group"] for bar in data):
        mine = [bar for bar in data if bar["group"] == name]
        panels = [
            {"title": titles[column], "methods": _methods(of, series)}
            for column in columns
            if (of := [bar for bar in mine if bar["column"] == column])
        ]
        groups.append({"name": name, "panels": panels})
    return {"legend": list(series.items()), "groups": groups}


def _methods(data: list[Datum], series: dict[str, str]) -> list[tuple[str, list[Datum]]]:
    """The bars of each method; the longest mark of a panel is 100 %."""
    full = max(bar["end"] for bar in data)
    methods: dict[str, list[Datum]] = {}
    for bar in data:
        shown = {name: round(100 * bar[name] / full, 2) for name in ("median", "low", "high")}
        methods.setdefault(bar["how"], []).append(
            {
                **shown,
                "peak": round(100 * bar["peak"] / full, 2) if bar["peak"] else None,
                "colour": series[bar["series"]],
                "number": bandwidth_text(bar["median"]),
                "share": with_mark(bar["label"], bar["why"]),
                "says": _says(bar),
            }
        )
    return list(methods.items())


def _says(bar: Datum) -> str:
    """The tooltip of a bar."""
    low, middle, high = (bandwidth_text(bar[name]) for name in ("low", "median", "high"))
    text = f"{bar['how']}, {bar['series']}: {middle} MiB/s ({low} to {high} over the repeats)"
    if bar["label"]:
        text += f"; {bar['label']} of the practical peak"
    return text + (f": {bar['why']}" if bar["why"] else "")


def picture(table: Table) -> str | None:
    found = figure(table)
    if found is None:
        return None
    systems = ", ".join(sorted({row.run.system for row in table.rows}))
    what = (
        f"Bandwidth as a share of the practical peak, {systems}, {table.session.started:%Y-%m-%d}"
    )
    drawn = [_text(0, 18, what, 15, weight="bold"), _text(0, 36, SUBTITLE, 11, "muted")]
    x, y = 0, 60
    for name, colour in found["legend"]:
        drawn.append(f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{colour}"/>')
        drawn.append(_text(x + 18, y, name, 12))
        x += 40 + LETTER * len(name)
    for group in found["groups"]:
        y += 34
        drawn.append(_text(0, y, group["name"], 14, weight="bold"))
        for start in range(0, len(group["panels"]), PER_LINE):
            line = group["panels"][start : start + PER_LINE]
            made = [_panel(panel, i * PANEL, y + 20) for i, panel in enumerate(line)]
            drawn += [text for texts, _ in made for text in texts]
            y = max(end for _, end in made) + 8
    texts = re.sub(r"var\(--(\w+)\)", lambda name: colours.GREYS[name[1]], "".join(drawn))
    wide, high = PER_LINE * PANEL + 2 * MARGIN, y + 2 * MARGIN
    size = f'width="{wide}" height="{high}" viewBox="-{MARGIN} -{MARGIN} {wide} {high}"'
    paper = (
        f'<rect x="-{MARGIN}" y="-{MARGIN}" width="{wide}" height="{high}" fill="{colours.PAPER}"/>'
    )
    return f'<svg xmlns="{SVG}" {size} font-family="sans-serif">{paper}{texts}</svg>'


def _panel(panel: Datum, x: int, y: int) -> tuple[list[str], int]:
    marks = load_template("parts.html.j2").module.marks  # type: ignore[attr-defined]
    drawn = [_text(x, y, panel["title"], 11, "muted")]
    for how, bars in panel["methods"]:
        y += 17
        drawn.append(_text(x, y, how, 11))
        for bar in bars:
            text = " \N{MIDDLE DOT} ".join(filter(None, (bar["number"], bar["share"])))
            box = f'x="{x}" y="{y + 3}" width="{BAR}" height="11"'
            drawn += [f"<svg {box}>{marks(bar)}</svg>", _text(x + BAR + 8, y + 12, text, 10)]
            y += 12
    return drawn, y


def _text(x: int, y: int, words: str, size: int, grey: str = "ink", weight: str = "normal") -> str:
    look = f'font-size="{size}" font-weight="{weight}" fill="{colours.GREYS[grey]}"'
    return f'<text x="{x}" y="{y}" {look}>{escape(words)}</text>'


def to_png(table: Table) -> bytes | None:
    import vl_convert

    svg = picture(table)
    return bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE)) if svg else None


def write(table: Table, path: Path) -> Path:
    png = to_png(table)
    if png is None:
        raise UsageError(f"{path}: expected numbers to draw, the session measured none")
    write_whole(path, png)
    return path


def _group(row: Row) -> str:
    scale = f", {row.run.scale}" if row.run.scale else ""
    return one_line(row.run.pattern + scale, LONGEST)


def _how(row: Row) -> str:
    """The label of a line: method and mode, and parameters if those are ambiguous."""
    words = " ".join(part for part in (row.run.method, row.run.mode, row.label) if part)
    return one_line(words, LONGEST)


def _titles(table: Table, columns: Sequence[Column]) -> dict[Column, str]:
    """Title of each column: file system, direction, and fsync or caches if they matter."""
    found = {}
    for fs, direction in columns:
        results = [row.run.result for row in table.rows if row.run.fs == fs and row.run.result]
        if direction == "write":
            flushed = {result.fsync for result in results}
            word = "write, fsync" if flushed == {True} else "write"
        else:
            caches = {result.caches for result in results} - {""}
            word = {"dropped": "cold read", "cached": "cached read"}.get("".join(caches), "read")
            word = "partly cached read" if len(caches) > 1 else word
        found[fs, direction] = f"{fs} ({results[0].fs_type}), {word}, MiB/s"
    return found
