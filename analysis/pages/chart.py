# SPDX-License-Identifier: BSD-3-Clause
"""The plot: how full each method makes the file system's practical peak.

Every line of a panel is one method. The pale track behind a bar reaches to the practical peak that
the same job measured, so the filled part is the fraction of the peak, and the number says it; the
thin line is the range over the repeats. A column is a file system and a direction, with a scale
of its own: one compares methods on it, and not memory with disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair as alt
import vl_convert

from iogauge.common.text import one_line, plain_all

from ..errors import OutputError
from ..judge.share_of_peak import why_above
from ..session.model import DIRECTIONS, Direction
from ..session.rows import Row, Table
from . import colours
from .page import save
from .words import percent_text, with_mark

GREYS = {
    "ink": "#1b1f24",
    "muted": "#57606a",
    "track": "#dde1e6",
    "peak": "#7d8690",
    "grid": "#eceef1",
    "paper": "#ffffff",
}
INK, MUTED, TRACK, PEAK, GRID, PAPER = GREYS.values()

PANEL_WIDTH = 205  # pixels
SPACE = 26  # pixels between panels
BAR, GAP = 10, 7  # pixels of one bar, and between methods
LETTER = 6.6  # pixels of a letter of a method's name, on average
LONGEST = 120  # letters of a name that is drawn
LABEL_ROOM = 1.26  # of the longest track: the number stands behind it
COLUMNS_PER_LINE = 4  # two file systems side by side; more of them continue below
PNG_SCALE = 2.0
PER_LINE = 3  # of a picture
WIDTH = 250  # pixels of a panel; with its axis it fits a telephone
SVG = "http://www.w3.org/2000/svg"
SAYS = "says"  # the role of marks whose description is a text for people
ElementTree.register_namespace("", SVG)

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
        count = f"{run.processes} process" + ("" if run.processes == 1 else "es")
        extra = f", {count}" if many and doubled else ""
        for direction in DIRECTIONS:
            spread = row.bandwidth(direction)
            if spread is None:
                continue
            share = row.share("fpp", direction)
            # Where the repeats differ, the median of their fractions is not the fraction of the
            # medians. The track shows the fraction that the number and the table say.
            peak = spread.median / share.value if share else None
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
                    "label": f"{percent_text(share)} %" if share else "",
                    "why": why_above(row, "fpp", direction),
                }
            )
    return data


def chart(table: Table, title: alt.Title | None = None) -> dict[str, Any] | None:
    """The whole plot as a Vega-Lite specification; None where nothing was measured."""
    data = bars(table)
    if not data:
        return None
    of = columns(data)
    heads = titles(table, of)
    series = sorted({bar["series"] for bar in data})
    room = LETTER * max(len(bar["how"]) for bar in data) + 8  # so that all groups start alike
    lines = []
    for group in dict.fromkeys(bar["group"] for bar in data):
        mine = [bar for bar in data if bar["group"] == group]
        own = [column for column in of if any(bar["column"] == column for bar in mine)]
        for start in range(0, len(own), COLUMNS_PER_LINE):
            panels = [
                _panel(mine, column, heads[column], _limit(mine, column), series, 0 if i else room)
                for i, column in enumerate(own[start : start + COLUMNS_PER_LINE])
            ]
            heading = alt.Title(group, anchor="start", fontSize=14, color=INK, offset=8)
            lines.append(alt.hconcat(*panels, spacing=SPACE, title=heading, bounds="flush"))
    return themed(alt.vconcat(*lines, spacing=26, title=title or alt.Undefined))


def themed(plot: alt.TopLevelMixin) -> dict[str, Any]:
    """The specification of a plot, in the look of all plots."""
    looked: Any = plot
    # The renderer, which is no Python, aborts on a control character.
    return dict(
        plain_all(
            looked.configure(font="sans-serif", background=PAPER, padding=4)
            .configure_view(stroke=None)
            .configure_mark(aria=False)  # but for those that say something
            .configure_axis(
                labelColor=MUTED,
                gridColor=GRID,
                domain=False,
                ticks=False,
                labelPadding=5,
                titleColor=MUTED,
                titleFontWeight="normal",
            )
            .configure_header(labelColor=INK, title=None)
            .configure_legend(
                labelColor=INK,
                titleColor=MUTED,
                labelFontSize=12,
                symbolType="square",
                orient="top",
                columnPadding=28,  # a browser's letters may be wider than those measured here
            )
            .to_dict()
        )
    )


def themed_svg(plot: dict[str, Any]) -> str:
    """A Vega-Lite specification as an SVG element whose greys the page sets. What describes a mark
    is shown when one points at it."""
    svg = _with_titles(str(vl_convert.vegalite_to_svg(plot)))
    for name, colour in GREYS.items():
        svg = svg.replace(f'"{colour}"', f'"var(--{name}, {colour})"')
    return svg


def panel_title(text: str | list[str]) -> alt.Title:
    """Small, above the panel's left edge, and cut where the panel ends."""
    return alt.Title(
        text, anchor="start", fontSize=11, fontWeight="normal", color=MUTED, frame="group",
        limit=WIDTH,
    )  # fmt: skip


@dataclass(frozen=True)
class Panels:
    """`colours`: what the legend says; the panels' own legends are for pictures. `dashes`: the
    same of kinds of lines, in Vega's order."""

    panels: Sequence[Any]
    colours: Mapping[str, str] = field(default_factory=dict)
    dashes: Mapping[str, str] = field(default_factory=dict)
    per_line: int = PER_LINE

    def picture(self) -> dict[str, Any]:
        """All panels as one specification."""
        lines = [
            alt.hconcat(*self.panels[start : start + self.per_line], spacing=30)
            for start in range(0, len(self.panels), self.per_line)
        ]
        return themed(alt.vconcat(*lines, spacing=26))

    def svgs(self) -> list[str]:
        """Each panel as an SVG element of its own, without legend."""
        plots = [themed(panel) for panel in self.panels]
        for plot in plots:
            plot["config"]["legend"]["disable"] = True
        return [themed_svg(plot) for plot in plots]


def _with_titles(svg: str) -> str:
    root = ElementTree.fromstring(svg)
    for mark in root.iter():
        if mark.get("aria-roledescription") == SAYS:
            title = ElementTree.SubElement(mark, f"{{{SVG}}}title")
            title.text = mark.get("aria-label")
    return ElementTree.tostring(root, encoding="unicode")


def to_png(table: Table) -> bytes | None:
    """The plot as a picture for slides; None where nothing was measured."""
    session = table.session
    systems = ", ".join(sorted({row.run.system for row in table.rows}))
    title = alt.Title(
        f"Bandwidth as a share of the practical peak, {systems}, {session.started:%Y-%m-%d}",
        subtitle="Bar: median bandwidth. Thin line: slowest to fastest repeat. Pale track: the "
        "practical peak (a file per process, same job).",
        anchor="start", color=INK, subtitleColor=MUTED, fontSize=15, offset=12,
    )  # fmt: skip
    plot = chart(table, title)
    return bytes(vl_convert.vegalite_to_png(plot, scale=PNG_SCALE)) if plot else None


def write(table: Table, path: Path) -> Path:
    """The plot as a PNG; OutputError if there is nothing to draw, or it cannot be written."""
    png = to_png(table)
    if png is None:
        raise OutputError(f"{path}: expected numbers to draw, the session measured none")
    save(path, png)
    return path


def _group(row: Row) -> str:
    scale = f", {row.run.scale}" if row.run.scale else ""
    return one_line(row.run.pattern + scale, LONGEST)


def _how(row: Row) -> str:
    """The name of a line of the plot: method, mode, and parameters where those are not enough."""
    words = " ".join(part for part in (row.run.method, row.run.mode, row.label) if part)
    return one_line(words, LONGEST)


def columns(data: Sequence[Datum]) -> list[Column]:
    """The file systems and directions of bars; writing stands before reading."""
    return sorted({bar["column"] for bar in data}, key=lambda c: (c[0], DIRECTIONS.index(c[1])))


def titles(table: Table, columns: Sequence[Column]) -> dict[Column, str]:
    """The title of each column: file system, direction, and whether fsync or caches play a part."""
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


def _limit(data: list[Datum], column: Column) -> float:
    return LABEL_ROOM * max(float(bar["end"]) for bar in data if bar["column"] == column)


def _panel(
    data: list[Datum], column: Column, title: str, limit: float, series: list[str], room: float
) -> alt.LayerChart | alt.FacetChart:
    """One file system and direction of one group, with `room` pixels for the methods' names.

    All panels of a line list the same methods, and only the first one names them.
    """
    methods = list(dict.fromkeys(bar["how"] for bar in data))
    values = [
        {key: value for key, value in bar.items() if key not in ("group", "column", "why")}
        | {"label": with_mark(bar["label"], bar["why"])}
        for bar in data
        if bar["column"] == column
    ]
    axis = alt.Axis(
        title=None, grid=False, labels=room > 0, labelLimit=1000, labelFontSize=12, labelColor=INK,
        minExtent=room, maxExtent=room,
    )  # fmt: skip
    y = alt.Y("how:N", sort=methods, axis=axis, scale=alt.Scale(domain=methods, padding=0.12))
    offset = alt.YOffset("series:N", sort=series, scale=alt.Scale(domain=series))
    scale = alt.Scale(domain=[0, limit], nice=False)
    ticks = alt.Axis(title=None, tickCount=4, labelFontSize=10)
    shades = alt.Scale(domain=series, range=list(colours.of_names(series).values()))
    base = alt.Chart(alt.InlineData(values=values)).encode(y=y, yOffset=offset)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=scale, axis=ticks)

    layers = [
        base.transform_filter("datum.peak != null").mark_bar(color=TRACK).encode(x=x("peak")),
        base.transform_filter("datum.peak != null")
        .mark_tick(color=PEAK, thickness=2, size=BAR)
        .encode(x=x("peak")),
        base.mark_bar().encode(
            x=x("median"), color=alt.Color("series:N", scale=shades, legend=alt.Legend(title=None))
        ),
        # An edge in the colour of the paper keeps the range visible on every bar.
        base.mark_rule(color=PAPER, strokeWidth=4).encode(x=x("low"), x2="high:Q"),
        base.mark_rule(color=INK, strokeWidth=1.5).encode(x=x("low"), x2="high:Q"),
        base.mark_text(align="left", dx=5, fontSize=10, color=INK).encode(
            x=x("end"), text="label:N"
        ),
    ]
    height = len(methods) * (len(series) * BAR + GAP)
    heading = alt.Title(
        title, anchor="start", fontSize=11, fontWeight="normal", color=MUTED, frame="group"
    )
    panel: alt.LayerChart | alt.FacetChart
    panel = alt.layer(*layers).properties(width=PANEL_WIDTH, height=height, title=heading)
    return panel
