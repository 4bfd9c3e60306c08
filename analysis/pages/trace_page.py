# SPDX-License-Identifier: BSD-3-Clause
"""The page of one traced run, or of a log alone: tables, hints and pictures in a single file."""

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import altair as alt
from markupsafe import Markup

from iogauge.common.run_folder import DOCUMENT, JOB_SCRIPT

from ..darshan.log import Log
from ..darshan.others import Others
from ..ledger.ledger import Ledger
from ..ledger.traced import Traced
from ..ledger.verdict import Judgement
from ..session.model import DIRECTIONS
from . import access_chart, chart, trace_text
from .colours import PALETTE
from .page import load_template, save

WIDTH = 820  # pixels
MOST_MARKS = 50_000  # of a picture: more take minutes to draw
ROW, LEAST_HEIGHT, MOST_HEIGHT = 14, 60, 420  # pixels of a process, of a picture
MIB = 2**20
COLOURS = dict(zip(DIRECTIONS, PALETTE, strict=False))
Picture = tuple[str, str, alt.Chart | None]  # name, what it shows, the chart
DIRECTION_SCALE = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
BUCKETS = ["0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M", "1M_4M", "4M_10M", "10M_100M",
           "100M_1G", "1G_PLUS"]  # fmt: skip


def histogram(ledger: Ledger) -> alt.Chart | None:
    rows = [
        {"size": bucket, "calls": count, "layer": layer.title, "direction": side.direction}
        for side in ledger.sides
        for layer in side.layers
        for bucket, count in layer.histogram.items()
    ]
    if not rows:
        return None
    layers = list(dict.fromkeys(str(row["layer"]) for row in rows))
    names = {bucket: bucket.replace("_PLUS", "+").replace("_", "-") for bucket in BUCKETS}
    for row in rows:
        row["size"] = names[str(row["size"])]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar()
        .encode(
            x=alt.X("size:N", sort=list(names.values()), title="bytes of an access",
                    scale=alt.Scale(domain=list(names.values())), axis=alt.Axis(labelAngle=-30)),
            y=alt.Y("calls:Q", title="calls", scale=alt.Scale(type="symlog")),
            xOffset=alt.XOffset("direction:N", sort=list(DIRECTIONS)),
            color=alt.Color("direction:N", title=None, scale=DIRECTION_SCALE),
            column=alt.Column("layer:N", title=None, sort=layers),
        )
        .properties(width=WIDTH // max(2, len(layers)) - 60, height=170)
    )  # fmt: skip
    return chart


def heatmap(log: Log) -> alt.Chart | None:
    heat = log.heat.get("POSIX")
    if heat is None:
        return None
    rows: list[dict[str, Any]] = [
        {"process": rank, "from": i * heat.bin_seconds, "to": (i + 1) * heat.bin_seconds,
         "mib": moved / MIB}
        for rank, both in heat.ranks.items()
        for i, moved in enumerate(map(sum, zip_longest(*both, fillvalue=0)))
        if moved > 0
    ]  # fmt: skip
    if not 0 < len(rows) <= MOST_MARKS:
        return None
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rect()
        .encode(
            x=alt.X("from:Q", title="seconds", axis=alt.Axis(tickCount=8),
                    scale=alt.Scale(zero=False)),
            x2="to:Q",
            y=alt.Y("process:O", title="process", axis=alt.Axis(grid=False)),
            color=alt.Color("mib:Q", title=f"MiB in {heat.bin_seconds:.3g} s",
                            scale=alt.Scale(scheme="viridis", reverse=True, domainMin=0)),
        )
        .properties(
            width=WIDTH, height=max(LEAST_HEIGHT, min(MOST_HEIGHT, ROW * len(heat.ranks)))
        )
    )  # fmt: skip
    return chart


TEMPLATE = "trace.html.j2"
Link = tuple[str, str]


def write(traced: Traced, others: Others, page: Path) -> None:
    """`OutputError` where the page cannot be written."""
    save(page, render(traced, others, page.parent).encode())


def write_log(log: Log, others: Others, page: Path) -> None:
    """Of a log alone; the summary of PyDarshan lies beside the page."""
    links = [("PyDarshan's summary", others.summary.name)] if others.summary else []
    title, parts = trace_text.heading_of_log(log), trace_text.of_log(log)
    save(page, _page(title, log, parts, others, links, []).encode())


def render(traced: Traced, others: Others, folder: Path) -> str:
    """The page's text; links are relative to `folder`, where the page will be."""
    sizes = ("Access sizes", "Calls by size; logarithmic.", histogram(traced.ledger))
    return _page(
        trace_text.heading(traced), traced.log, trace_text.of_run(traced.ledger), others,
        _links(traced, others, folder), [sizes], traced.judgement,
    )  # fmt: skip


def _page(
    title: str,
    log: Log,
    parts: Sequence[trace_text.Part],
    others: Others,
    links: Sequence[Link],
    charts: Sequence[Picture],
    judgement: Judgement | None = None,
) -> str:
    accesses = access_chart.of_log(log)
    both = [accesses] if accesses else []
    heat = "Reads and writes at the POSIX layer; -S dxt=true records each access."
    drawn = [*charts, ("Processes and time", heat, heatmap(log))]
    return load_template(TEMPLATE).render(
        title=title,
        log=log,
        parts=parts,
        judgement=judgement,
        links=links,
        timeline=access_chart.timeline(both) if both else None,
        colours=list(access_chart.legend(both)),
        pictures=[
            # made by the chart library from escaped text
            (name, text, Markup(chart.themed_svg(chart.themed(one))))
            for name, text, one in drawn
            if one is not None
        ],
        advice=others.advice,
    )


def _links(traced: Traced, others: Others, folder: Path) -> list[Link]:
    """Files of the run that lie beside the page, by what they are."""
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
