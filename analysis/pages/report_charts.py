# SPDX-License-Identifier: BSD-3-Clause
"""The report's charts of data from the store. A function draws the section of its name, if that
has a `chart` in sections.yaml."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from iogauge.common.text import percent, plain_all

from . import colours, history_chart
from .chart import SAYS, WIDTH, Panels, panel_title
from .colours import GREYS, INK, PEAK
from .report_tables import Section
from .words import bandwidth_text

Row = dict[str, Any]

HEIGHT = 190  # pixels of a panel
DASHES = ([1, 0], [5, 3], [2, 2], [8, 3, 2, 3])  # of stacks


def _call(row: Row) -> str:
    return " ".join(str(row[k]) for k in ("method", "mode", "variant") if row[k])


def _scale(names: Mapping[str, Any]) -> alt.Scale:
    return alt.Scale(domain=list(names), range=list(names.values()))


def _panels(rows: Sequence[Row]) -> dict[tuple[str, ...], list[Row]]:
    panels: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        direction = row["quantity"].removesuffix("_bw")
        panels.setdefault((row["test"], row["scale"], row["fs"], direction), []).append(row)
    return panels


def _values(rows: Sequence[Row]) -> alt.InlineData:
    names = ("stack", "processes", "mib_s", "low", "high")
    return alt.InlineData(
        values=[
            {"call": _call(row), "says": _says(row), **{name: row[name] for name in names}}
            for row in rows
        ]
    )


def _says(row: Row) -> str:
    low, middle, high = (bandwidth_text(row[name]) for name in ("low", "mib_s", "high"))
    return (
        f"{_call(row)}, {row['stack']}, {row['processes']} processes: {middle} MiB/s "
        f"({low} to {high} over {row['samples']} repeats), {row['speed_up']:.2f} times as fast, "
        f"ideal {row['ideal']:.2f}"
    )


def scaling(section: Section) -> Panels | None:
    """Bandwidth over process count, log-log, with ideal scaling from the best first point."""
    if not section.rows:
        return None
    shades = colours.of_names(plain_all([_call(row) for row in section.rows]))
    stacks = sorted({row["stack"] for row in section.rows})
    dashes = {name: DASHES[i % len(DASHES)] for i, name in enumerate(plain_all(stacks))}
    # A browser's font is wider than ours: long names need more room.
    legend = alt.Legend(title=None, columns=4, columnPadding=48, labelLimit=400)
    colour = alt.Color("call:N", scale=_scale(shades), legend=legend)
    # At the side it would overlap.
    below = alt.Legend(title=None, symbolType="stroke", orient="bottom")
    dash = alt.StrokeDash("stack:N", legend=below, scale=_scale(dashes))
    panels = []
    for (test, scale, fs, direction), rows in _panels(section.rows).items():
        counts = sorted({row["processes"] for row in rows})
        start = max((r for r in rows if r["processes"] == counts[0]), key=lambda r: r["mib_s"])
        ideal = [{"processes": n, "mib_s": start["mib_s"] * n / counts[0]} for n in counts]
        x = alt.X(
            "processes:Q",
            axis=alt.Axis(title="processes", values=counts, format="d"),
            scale=alt.Scale(type="log", base=2),
        )
        y = alt.Y(
            "mib_s:Q",
            axis=alt.Axis(title="MiB/s", tickCount=4, minExtent=28),
            scale=alt.Scale(type="log"),
        )
        base = alt.Chart(_values(rows)).encode(x=x, color=colour, detail="stack:N")
        layers = [
            alt.Chart(alt.InlineData(values=ideal))
            .mark_line(color=PEAK, strokeDash=[2, 4])
            .encode(x=x, y=y),
            base.mark_line().encode(y=y, strokeDash=dash),
            base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q"), y2="high:Q"),
            base.mark_point(filled=True, size=45, aria=True, ariaRoleDescription=SAYS).encode(
                y=y, description=alt.Description("says:N")
            ),
        ]
        heading = panel_title(f"{test} {scale}, {fs}, {direction}; dotted: ideal")
        panels.append(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=heading))
    shown = {name: " ".join(map(str, dash)) for name, dash in dashes.items()}
    return Panels(panels, shades, shown if len(shown) > 1 else {})


def published(section: Section) -> Panels | None:
    """Measured and published, each as a share of its best: compares shapes, not speeds."""
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in section.rows:
        if row["ours_of_best"] is not None:
            table = (row["table"], row["pattern"], row["quantity"], row["place"])
            groups.setdefault(table, []).append(row)
    shades = {"ours": colours.PALETTE[0], "published": GREYS["peak"]}
    scale = _scale(shades)
    panels = []
    for (_, pattern, quantity, conditions), of in groups.items():
        values = [
            {
                "what": f"{r['method']} {r['parameters']}",
                "who": who,
                "part": 100 * r[f"{who}_of_best"],
                "says": f"{r['method']} {r['parameters']}, {who}: {percent(r[f'{who}_of_best'])} "
                "of the best in its table",
            }
            for who in shades
            for r in of
        ]
        order = list(dict.fromkeys(value["what"] for value in values))
        # Names are above their bars, so a panel fits a phone.
        axis = alt.Axis(
            title=None,
            labelLimit=WIDTH,
            labelColor=INK,
            labelAlign="left",
            labelPadding=-4,
            labelOffset=-20,
        )
        y = alt.Y(
            "what:N", sort=order, axis=axis, scale=alt.Scale(paddingInner=0.5, paddingOuter=0.4)
        )
        bars = (
            alt.Chart(alt.InlineData(values=values))
            .mark_bar(aria=True, ariaRoleDescription=SAYS)
            .encode(
                y=y,
                yOffset=alt.YOffset("who:N", sort=list(shades)),
                x=alt.X("part:Q", axis=alt.Axis(title="% of each machine's best")),
                color=alt.Color("who:N", scale=scale, legend=alt.Legend(title=None)),
                description=alt.Description("says:N"),
            )
        )
        place = ", ".join(conditions.split(", ")[1:4])
        heading = panel_title([f"{pattern}, {quantity}", f"ours: {place}"])
        panels.append(bars.properties(width=WIDTH, height=46 * len(order), title=heading))
    return Panels(panels, shades, per_line=2) if panels else None


def history(section: Section) -> Panels | None:
    return history_chart.panels(section.source) if section.source else None
