# SPDX-License-Identifier: BSD-3-Clause
"""A chart of several panels: side by side in a picture, and as wide as the screen on a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from . import chart

PER_LINE = 3  # of a picture
WIDTH = 250  # pixels of a panel; with its axis it fits a telephone


def panel_title(text: str | list[str]) -> alt.Title:
    """Small, above the panel's left edge, and cut where the panel ends."""
    return alt.Title(
        text, anchor="start", fontSize=11, fontWeight="normal", color=chart.MUTED, frame="group",
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
        return chart.themed(alt.vconcat(*lines, spacing=26))

    def svgs(self) -> list[str]:
        """Each panel as an SVG element of its own, without legend."""
        plots = [chart.themed(panel) for panel in self.panels]
        for plot in plots:
            plot["config"]["legend"]["disable"] = True
        return [chart.themed_svg(plot) for plot in plots]
