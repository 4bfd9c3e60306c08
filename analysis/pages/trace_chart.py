# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of one run: who accessed files when, in which sizes, and how evenly."""

from __future__ import annotations

from typing import Any

import altair as alt
import vl_convert

from ..darshan.log import Heat, Log
from ..ledger.ledger import Ledger
from ..session.model import DIRECTIONS
from .chart import GREYS, GRID, INK, MUTED, PAPER
from .colours import PALETTE

WIDTH = 820  # pixels
MOST_SEGMENTS = 5000  # more would be one grey block, and a page of megabytes
MOST_BINS = 200
MOST_MARKS = 50_000  # of a picture: more take minutes to draw
ROW = 14  # pixels of a process
LANES = 1.6  # a process with a line each for its writes and its reads is that much higher
MOST_HEIGHT = 420
MIB = 2**20
COLOURS = dict(zip(DIRECTIONS, PALETTE, strict=False))
TIME_AXIS = alt.Axis(tickCount=8)
DIRECTION_SCALE = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
BUCKETS = ["0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M", "1M_4M", "4M_10M", "10M_100M",
           "100M_1G", "1G_PLUS"]  # fmt: skip

Datum = dict[str, Any]


def to_svg(chart: alt.TopLevelMixin) -> str:
    """An SVG element whose greys are CSS variables, for a dark screen and for paper."""
    svg = str(vl_convert.vegalite_to_svg(_styled(chart).to_dict()))
    for name, colour in GREYS.items():
        svg = svg.replace(f'"{colour}"', f'"var(--{name}, {colour})"')
    return svg


def _styled(chart: Any) -> Any:
    return (
        chart.configure(font="sans-serif", background=PAPER, padding=4, aria=False)
        .configure_view(stroke=None)
        .configure_axis(labelColor=MUTED, titleColor=MUTED, gridColor=GRID, domain=False)
        .configure_legend(labelColor=INK, titleColor=MUTED, orient="top")
    )


def _height(ranks: int) -> int:
    return max(60, min(MOST_HEIGHT, ROW * ranks))


def _time(log: Log) -> alt.Scale:
    """The axis of time, from the first access to the last, without the start of the program."""
    spans = [
        (start, end)
        for one in log.segments
        if one.module == "POSIX"
        for _, length, start, end in (*one.writes, *one.reads)
        if length
    ]
    heat = log.heat.get("POSIX")
    if heat and not spans:
        spans = [
            (i * heat.bin_seconds, (i + 1) * heat.bin_seconds)
            for both in heat.ranks.values()
            for bins in both
            for i, value in enumerate(bins)
            if value
        ]
    first = min((start for start, _ in spans), default=0.0)
    last = max((end for _, end in spans), default=1.0)
    return alt.Scale(domain=[first, last], nice=True, zero=False)


def timeline(log: Log) -> alt.Chart | None:
    """Each access as a bar in its process's line (DXT), else each process's rate over time. Writes
    and reads have each half of the line: neither hides the other. One that moved nothing, as a
    read at the end of a file, is no work and not drawn."""
    rows: list[Datum] = [
        {"process": one.rank, "start": start, "end": end, "direction": direction}
        for one in log.segments
        if one.module == "POSIX"
        for direction, entries in (("write", one.writes), ("read", one.reads))
        for _, length, start, end in entries
        if length
    ]
    if not rows:
        return _rates(log)
    if len(rows) > MOST_SEGMENTS:
        rows.sort(key=lambda row: row["start"] - row["end"])  # the longest stay
        rows = rows[:MOST_SEGMENTS]
    ranks = len({row["process"] for row in rows})
    height = min(MOST_HEIGHT, int(LANES * _height(ranks)))
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(minBandSize=1, strokeWidth=0.5)
        .encode(
            x=alt.X("start:Q", title="seconds", axis=TIME_AXIS, scale=_time(log)),
            x2="end:Q",
            y=alt.Y("process:O", title="process", axis=alt.Axis(grid=False)),
            yOffset=alt.YOffset("direction:N", sort=list(DIRECTIONS)),
            color=_direction_colour(),
            # With an edge, an access that is shorter than a pixel is seen too.
            stroke=alt.Stroke("direction:N", title=None, scale=DIRECTION_SCALE),
        )
        .properties(width=WIDTH, height=height)
    )
    return chart


def _direction_colour() -> alt.Color:
    return alt.Color("direction:N", title=None, scale=DIRECTION_SCALE)


def _rates(log: Log) -> alt.Chart | None:
    heat = log.heat.get("POSIX")
    if heat is None:
        return None
    rows = [
        {
            "process": rank,
            "seconds": i * heat.bin_seconds,
            "rate": value / heat.bin_seconds / MIB,
            "direction": direction,
        }
        for rank, both in heat.ranks.items()
        for direction, bins in zip(("read", "write"), both, strict=True)
        for i, value in enumerate(bins)
    ]
    if not 0 < len(rows) <= MOST_MARKS:
        return None
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=1.2, clip=True)
        .encode(
            x=alt.X("seconds:Q", title="seconds", axis=TIME_AXIS, scale=_time(log)),
            y=alt.Y("rate:Q", title="MiB/s of a process"),
            color=_direction_colour(),
            detail="process:N",
        )
        .properties(width=WIDTH, height=160)
    )
    return chart


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
            color=_direction_colour(),
            column=alt.Column("layer:N", title=None, sort=layers),
        )
        .properties(width=WIDTH // max(2, len(layers)) - 60, height=170)
    )  # fmt: skip
    return chart


def heatmap(log: Log) -> alt.Chart | None:
    """Bytes that each process moved in each interval, reads and writes together."""
    heat = fine_heat(log) or log.heat.get("POSIX")
    if heat is None:
        return None
    rows = [
        {"process": rank, "from": i * heat.bin_seconds, "to": (i + 1) * heat.bin_seconds,
         "mib": (reads[i] if i < len(reads) else 0) / MIB
         + (writes[i] if i < len(writes) else 0) / MIB}
        for rank, (reads, writes) in heat.ranks.items()
        for i in range(max(len(reads), len(writes)))
    ]  # fmt: skip
    rows = [row for row in rows if row["mib"] > 0]
    if not 0 < len(rows) <= MOST_MARKS:
        return None
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rect()
        .encode(
            x=alt.X("from:Q", title="seconds", axis=TIME_AXIS, scale=_time(log)),
            x2="to:Q",
            y=alt.Y("process:O", title="process", axis=alt.Axis(grid=False)),
            color=alt.Color("mib:Q", title=f"MiB in {heat.bin_seconds:.3g} s",
                            scale=alt.Scale(scheme="viridis", reverse=True, domainMin=0)),
        )
        .properties(width=WIDTH, height=_height(len(heat.ranks)))
    )  # fmt: skip
    return chart


def fine_heat(log: Log) -> Heat | None:
    """A heat map from the accesses themselves (DXT), in finer intervals than the recorder's; the
    bytes of an access count at its end. One that moved nothing does not make them coarser."""
    own = [one for one in log.segments if one.module == "POSIX"]
    last = max((row[3] for one in own for row in (*one.writes, *one.reads) if row[1]), default=0.0)
    if last <= 0:
        return None
    width = last / MOST_BINS
    ranks: dict[int, tuple[list[int], list[int]]] = {}
    for one in own:
        both = ranks.setdefault(one.rank, ([0] * (MOST_BINS + 1), [0] * (MOST_BINS + 1)))
        for bins, entries in zip(both, (one.reads, one.writes), strict=True):
            for _, length, _, end in entries:
                if length:
                    bins[max(0, int(end / width))] += length
    return Heat(width, ranks)
