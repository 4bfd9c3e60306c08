# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of one run: in which sizes files were accessed, and how evenly. When each access was:
access_chart.py."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

import altair as alt

from ..darshan.log import Log
from ..ledger.ledger import Ledger
from ..session.model import DIRECTIONS
from .colours import PALETTE

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
    """How many accesses of which size, at each layer and in each direction."""
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
    """Bytes that each process moved in each interval, reads and writes together."""
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
