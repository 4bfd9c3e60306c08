# SPDX-License-Identifier: BSD-3-Clause
"""The report's charts of what the store says: scaling, published numbers, history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from . import history_chart
from .chart import GREYS, INK, LETTER, MUTED, PALETTE, PEAK, themed
from .report_tables import Section

Plot = dict[str, Any]
Row = dict[str, Any]

WIDTH, HEIGHT = 330, 210  # pixels of a panel
PER_LINE = 3
BAD = "#D55E00"
MOST_SERIES = 12  # of one panel; the table has all


def _call(row: Row) -> str:
    return " ".join(str(row[k]) for k in ("method", "mode", "variant") if row[k])


def _colour(names: Sequence[str]) -> alt.Color:
    domain = list(dict.fromkeys(names))
    scale = alt.Scale(domain=domain, range=[PALETTE[i % len(PALETTE)] for i in range(len(domain))])
    # A browser's letters are wider than those measured here, so long names need more room.
    legend = alt.Legend(title=None, columns=4, columnPadding=48, labelLimit=400)
    return alt.Color("call:N", scale=scale, legend=legend)


def _dash() -> alt.StrokeDash:
    """Stacks by dashes. The legend is below the plot: beside the colours' it would overlap."""
    legend = alt.Legend(title=None, symbolType="stroke", orient="bottom")
    return alt.StrokeDash("stack:N", legend=legend)


def _title(text: str | list[str]) -> alt.Title:
    return alt.Title(
        text, anchor="start", fontSize=11, fontWeight="normal", color=MUTED, frame="group"
    )


def _lines(panels: Sequence[Any]) -> Plot:
    rows = [
        alt.hconcat(*panels[start : start + PER_LINE], spacing=30)
        for start in range(0, len(panels), PER_LINE)
    ]
    return themed(alt.vconcat(*rows, spacing=26))


def _panels(rows: Sequence[Row]) -> dict[tuple[str, ...], list[Row]]:
    """By pattern, scale, file system and direction."""
    panels: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        direction = row["quantity"].removesuffix("_bw")
        panels.setdefault((row["pattern"], row["scale"], row["fs"], direction), []).append(row)
    return panels


def _values(rows: Sequence[Row], *names: str) -> alt.InlineData:
    return alt.InlineData(
        values=[
            {"call": _call(row), "stack": row["stack"], **{n: row[n] for n in names}}
            for row in rows
        ]
    )


def scaling(section: Section) -> Plot | None:
    """Bandwidth over processes, both logarithmic, with the ideal from the best start."""
    if not section.rows:
        return None
    colour = _colour([_call(row) for row in section.rows])
    panels = []
    for (pattern, scale, fs, direction), rows in _panels(section.rows).items():
        counts = sorted({row["processes"] for row in rows})
        start = max((r for r in rows if r["processes"] == counts[0]), key=lambda r: r["mib_s"])
        ideal = [{"processes": n, "mib_s": start["mib_s"] * n / counts[0]} for n in counts]
        x = alt.X("processes:Q", axis=alt.Axis(title="processes", values=counts, format="d"),
                  scale=alt.Scale(type="log", base=2))  # fmt: skip
        y = alt.Y("mib_s:Q", axis=alt.Axis(title="MiB/s", tickCount=4),
                  scale=alt.Scale(type="log"))  # fmt: skip
        base = alt.Chart(_values(rows, "processes", "mib_s", "low", "high")).encode(
            x=x, color=colour, detail="stack:N"
        )
        layers = [
            alt.Chart(alt.InlineData(values=ideal))
            .mark_line(color=PEAK, strokeDash=[2, 4])
            .encode(x=x, y=y),
            base.mark_line().encode(y=y, strokeDash=_dash()),
            base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q"), y2="high:Q"),
            base.mark_point(filled=True, size=45).encode(y=y),
        ]
        heading = _title(f"{pattern} {scale}, {fs}, {direction}; dotted: ideal")
        panels.append(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=heading))
    return _lines(panels)


def published(section: Section) -> Plot | None:
    """Ours and theirs, each as a part of its own best: shapes compare where speeds cannot."""
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in section.rows:
        if row["ours_of_best"] is not None:
            table = (row["table"], row["pattern"], row["quantity"], row["place"])
            groups.setdefault(table, []).append(row)
    panels = []
    for (_, pattern, quantity, conditions), of in groups.items():
        values = [
            {"what": f"{r['method']} {r['parameters']}", "who": who, "part": r[f"{who}_of_best"]}
            for who in ("ours", "published")
            for r in of
        ]
        order = list(dict.fromkeys(value["what"] for value in values))
        room = LETTER * max(map(len, order)) + 8  # a browser's letters may be wider than Vega's
        axis = alt.Axis(title=None, labelLimit=400, labelColor=INK, minExtent=room)
        y = alt.Y("what:N", sort=order, axis=axis)
        scale = alt.Scale(domain=["ours", "published"], range=[PALETTE[0], GREYS["peak"]])
        bars = (
            alt.Chart(alt.InlineData(values=values))
            .mark_bar()
            .encode(
                y=y,
                yOffset=alt.YOffset("who:N"),
                x=alt.X("part:Q", axis=alt.Axis(title="part of its own best", format="%")),
                color=alt.Color("who:N", scale=scale, legend=alt.Legend(title=None)),
            )
        )
        place = ", ".join(conditions.split(", ")[1:4])
        heading = _title([f"{pattern}, {quantity}", f"ours: {place}"])
        panels.append(bars.properties(width=WIDTH, height=34 * len(order), title=heading))
    if not panels:
        return None
    lines = [alt.hconcat(*panels[i : i + 2], spacing=30) for i in range(0, len(panels), 2)]
    return themed(alt.vconcat(*lines, spacing=26))


def history(section: Section) -> Plot | None:
    """Those that fell most."""
    return history_chart.chart(section.source) if section.source else None


# The chart of a section, by its name, and its caption.
CHARTS: dict[str, tuple[Callable[[Section], Plot | None], str]] = {
    "scaling": (scaling, "Points: medians. Thin lines: slowest to fastest repeat."),
    "published": (published, "Each as a part of its own fastest: the shape, not the speed."),
    "history": (
        history,
        "Points: runs. Thick lines: levels. Dashed: where one ends; red: regressed since then.",
    ),
}
