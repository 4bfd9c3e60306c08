# SPDX-License-Identifier: BSD-3-Clause
"""The page of one traced run, or of a log alone: tables, hints and pictures in a single file."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import altair as alt
from markupsafe import Markup

from iogauge.common.files import write_whole
from iogauge.common.run_folder import DOCUMENT, JOB_SCRIPT
from iogauge.common.text import duration

from ..darshan.log import Log
from ..darshan.others import Others
from ..ledger import calls
from ..ledger.ledger import Ledger
from ..ledger.phases import Singly
from ..ledger.traced import Traced
from ..ledger.verdict import Judgement
from ..session.model import DIRECTIONS
from . import access_chart, calls_chart, grid, trace_text
from .access_chart import COLOURS
from .calls_chart import HEIGHT
from .chart import WIDTH, Panels, panel_title
from .page import load_template

Picture = tuple[str, str, Panels | None]  # name, what it shows, the charts
SIZES = ("0", "100", "1K", "10K", "100K", "1M", "4M", "10M", "100M", "1G")  # of Darshan's buckets


def histogram(ledger: Ledger) -> Panels | None:
    """A panel of each layer."""
    names = {f"{low}_{high}": f"{low}-{high}" for low, high in pairwise(SIZES)} | {"1G_PLUS": "1G+"}
    layers: dict[str, list[dict[str, Any]]] = {}
    for side in ledger.sides:
        for layer in side.layers:
            layers.setdefault(layer.title, []).extend(
                {"size": names[bucket], "calls": count, "direction": side.direction}
                for bucket, count in layer.histogram.items()
            )
    scale = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    panels = [
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar()
        .encode(
            x=alt.X(
                "size:N",
                sort=list(names.values()),
                title="bytes of an access",
                scale=alt.Scale(domain=list(names.values())),
                axis=alt.Axis(labelAngle=-40),
            ),
            y=alt.Y(
                "calls:Q",
                title="calls",
                scale=alt.Scale(type="symlog"),
                axis=alt.Axis(tickCount=5, minExtent=28),
            ),
            xOffset=alt.XOffset("direction:N", sort=list(DIRECTIONS)),
            color=alt.Color("direction:N", title=None, scale=scale),
        )
        .properties(width=WIDTH, height=HEIGHT, title=panel_title(title))
        for title, rows in layers.items()
        if rows
    ]
    return Panels(panels, COLOURS) if panels else None


TEMPLATE = "trace.html.j2"
Link = tuple[str, str]


def write(traced: Traced, others: Others, page: Path) -> None:
    write_whole(page, render(traced, others, page.parent))


def write_log(log: Log, singly: Singly, others: Others, page: Path) -> None:
    """The page of a log alone; PyDarshan's summary is written beside it."""
    links = [("PyDarshan's summary", others.summary.name)] if others.summary else []
    title, parts = trace_text.heading_of_log(log), trace_text.of_log(log, singly)
    write_whole(page, _page(title, log, singly, parts, others, links, []))


def render(traced: Traced, others: Others, folder: Path) -> str:
    """The page's text; links are relative to `folder`, where the page will be."""
    sizes = ("Access sizes", "Calls by size; logarithmic.", histogram(traced.ledger))
    return _page(
        trace_text.heading(traced),
        traced.log,
        traced.singly,
        trace_text.of_run(traced),
        others,
        _links(traced, others, folder),
        [sizes],
        traced.judgement,
    )


def _page(
    title: str,
    log: Log,
    singly: Singly,
    parts: Sequence[trace_text.Part],
    others: Others,
    links: Sequence[Link],
    charts: Sequence[Picture],
    judgement: Judgement | None = None,
) -> str:
    accesses = access_chart.of_log(log)
    both = [accesses] if accesses else []
    drawn = [
        calls_chart.strip(singly),
        calls_chart.throughput(calls.flows(singly, log)),
        *((access_chart.timeline(both), list(access_chart.legend(both))) for _ in both),
        calls_chart.heat(log),
    ]
    curve = "How long single calls took. Both axes are logarithmic."
    charts = [("Percentiles of single calls", curve, calls_chart.percentiles(singly)), *charts]
    return load_template(TEMPLATE).render(
        title=title,
        log=log,
        took=duration(log.seconds),
        parts=[(title, map(grid.filled, of), notes) for title, of, notes in parts],
        judgement=judgement,
        links=links,
        drawn=[one for one in drawn if one],
        pictures=[
            # made by the chart library from escaped text
            (name, text, panels.colours.items(), map(Markup, panels.svgs()))
            for name, text, panels in charts
            if panels
        ],
        advice=others.advice,
    )


def _links(traced: Traced, others: Others, folder: Path) -> list[Link]:
    known = [
        ("result document", traced.folder / DOCUMENT),
        ("job script", traced.folder / JOB_SCRIPT),
        ("Darshan log", traced.log.path),
        ("PyDarshan's summary", others.summary),
    ]
    return [
        (name, Path(path).resolve().relative_to(folder.resolve()).as_posix())
        for name, path in known
        if path and path.exists() and path.resolve().is_relative_to(folder.resolve())
    ]
