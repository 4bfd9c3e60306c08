# SPDX-License-Identifier: BSD-3-Clause
"""The style of all charts, and a chart of several panels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import altair as alt
import vl_convert

from iogauge.common.text import plain_all

from .colours import GREYS, GRID, INK, MUTED, PAPER
from .page import SVG

PER_LINE = 3  # of a picture
WIDTH = 250  # pixels of a panel; with its axis it fits a telephone
SAYS = "says"  # the role of marks whose description is a text for people
ElementTree.register_namespace("", SVG)


def themed(plot: alt.TopLevelMixin) -> dict[str, Any]:
    looked: Any = plot
    # The renderer is native code and aborts on a control character.
    return dict(
        plain_all(
            looked.configure(font="sans-serif", background=PAPER, padding=4)
            .configure_view(stroke=None)
            .configure_mark(aria=False)  # except those with a meaning
            .configure_point(opacity=1)  # paler, it would be lost on a dark page
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
                columnPadding=28,  # a browser's font may be wider than ours
            )
            .to_dict()
        )
    )


def themed_svg(plot: dict[str, Any]) -> str:
    """A Vega-Lite specification as an SVG element. A mark's description becomes its tooltip."""
    svg = _with_titles(str(vl_convert.vegalite_to_svg(plot)))
    for name, colour in GREYS.items():
        svg = svg.replace(f'"{colour}"', f'"var(--{name}, {colour})"')
    return svg


def panel_title(text: str | list[str]) -> alt.Title:
    """A small title at the panel's left edge, cut to the panel's width."""
    return alt.Title(
        text,
        anchor="start",
        fontSize=11,
        fontWeight="normal",
        color=MUTED,
        frame="group",
        limit=WIDTH,
    )


@dataclass(frozen=True)
class Panels:
    """`colours`: what the legend says. `dashes`: the same of kinds of lines, in Vega's order."""

    panels: Sequence[Any]
    colours: Mapping[str, str] = field(default_factory=dict)
    dashes: Mapping[str, str] = field(default_factory=dict)
    per_line: int = PER_LINE

    def picture(self) -> dict[str, Any]:
        lines = [
            alt.hconcat(*self.panels[start : start + self.per_line], spacing=30)
            for start in range(0, len(self.panels), self.per_line)
        ]
        return themed(alt.vconcat(*lines, spacing=26))

    def svgs(self) -> list[str]:
        """The panels without legends: the page has one for all."""
        plots = [themed(panel) for panel in self.panels]
        for plot in plots:
            plot["config"]["legend"]["disable"] = True
        return [themed_svg({**_bare(plot), "config": plot["config"]}) for plot in plots]


def _bare(plot: Any) -> Any:
    if isinstance(plot, dict):
        return {name: _bare(part) for name, part in plot.items() if name != "legend"}
    return list(map(_bare, plot)) if isinstance(plot, list) else plot


def _with_titles(svg: str) -> str:
    root = ElementTree.fromstring(svg)
    for mark in root.iter():
        if mark.get("aria-roledescription") == SAYS:
            title = ElementTree.SubElement(mark, f"{{{SVG}}}title")
            title.text = mark.get("aria-label")
    return ElementTree.tostring(root, encoding="unicode")
