# SPDX-License-Identifier: BSD-3-Clause
"""Histories as a picture: the runs, their levels, and where the level changed."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from iogauge.common.files import write_whole

from ..errors import UsageError
from ..judge.history import LOW, History
from .chart import SAYS, WIDTH, Panels, panel_title, themed_svg
from .colours import BAD, INK, MUTED, PALETTE
from .history_table import change_text
from .page import PNG_SCALE
from .words import stretches, value_text

HEIGHT = 110  # pixels of a panel
MOST = 24  # histories in one picture, the largest drops first
POINTS = 250  # of a panel


def write(path: Path, found: Sequence[History]) -> None:
    """Write a PNG, or an SVG if the name ends so. Raises UsageError."""
    plot = panels(found).picture()
    if path.suffix == ".svg":
        write_whole(path, themed_svg(plot))
    elif path.suffix == ".png":
        write_whole(path, bytes(vl_convert.vegalite_to_png(plot, scale=PNG_SCALE)))
    else:
        raise UsageError(f"{path}: expected a name that ends in .png or .svg")


def panels(found: Sequence[History]) -> Panels:
    return Panels([_panel(one) for one in sorted(found, key=lambda one: one.of_best)[:MOST]])


def _stamp(one: History, run: int) -> str:
    return f"{one.at[run].isoformat()}Z"


def _point(one: History, first: int, end: int) -> dict[str, Any]:
    value = statistics.median(one.values[first:end])
    when = f"{one.at[first]:%Y-%m-%d %H:%M}"
    if end - first > 1:
        when = f"median of {end - first} runs, {when[:10]} to {one.at[end - 1]:%Y-%m-%d}"
    says = f"{when}: {value_text(value)} {one.case['unit']}"
    return {"at": _stamp(one, (first + end) // 2), "value": value, "says": says}


def _panel(one: History) -> alt.LayerChart:
    count = len(one.values)
    before = max(0, count - len(LOW))  # the last runs are judged singly
    parts = stretches(before, POINTS - len(LOW)) if before else []
    runs = [_point(one, *part) for part in (*parts, *((i, i + 1) for i in range(before, count)))]
    levels = [
        {"from": _stamp(one, first), "to": _stamp(one, last - 1), "level": middle}
        for first, last, middle in one.levels
    ]
    marks = [
        {
            "at": _stamp(one, change.index),
            "label": f"{change_text(change).partition(' (')[0]} {change.date:%d %b %Y}",
            "right": 2 * change.index > len(one.values),
            "says": f"{change.date:%Y-%m-%d}: {change_text(change)}, {change.state}",
            "bad": change.state == "regressed",
        }
        for change in one.changes
    ]
    names = ("method", "mode", "variant", "stack", "fs", "quantity")
    title = [
        " ".join(filter(None, (one.case["pattern"], one.case["scale"]))),
        " ".join(str(one.case[name]) for name in names if one.case[name]),
    ]
    time = alt.Axis(title=None, tickCount=4)
    x = alt.X("at:T", axis=time, scale=alt.Scale(type="utc"))
    y = alt.Y(
        "value:Q",
        axis=alt.Axis(title=one.case["unit"], tickCount=4, minExtent=28),
        scale=alt.Scale(zero=True, nice=4),  # as many ticks
    )
    colour = alt.condition("datum.bad", alt.value(BAD), alt.value(MUTED))
    layers = [  # the runs above the line of their level, which would cover them
        alt.Chart(alt.InlineData(values=levels))
        .mark_rule(color=INK, strokeWidth=2)
        .encode(x=alt.X("from:T"), x2="to:T", y=alt.Y("level:Q")),
        alt.Chart(alt.InlineData(values=runs))
        .mark_point(filled=True, size=14, color=PALETTE[0], aria=True, ariaRoleDescription=SAYS)
        .encode(x=x, y=y, description=alt.Description("says:N")),
    ]
    if marks:
        base = alt.Chart(alt.InlineData(values=marks)).encode(x=alt.X("at:T"))
        layers += [
            base.mark_rule(strokeDash=[4, 3], aria=True, ariaRoleDescription=SAYS).encode(
                color=colour, description=alt.Description("says:N")
            ),
            *(
                base.transform_filter("datum.right" if right else "!datum.right")
                .mark_text(align="right" if right else "left", dx=-3 if right else 3, fontSize=10)
                .encode(y=alt.value(HEIGHT - 10), text="label:N", color=colour)
                for right in (False, True)
            ),
        ]
    panel: alt.LayerChart
    panel = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=panel_title(title))
    return panel
