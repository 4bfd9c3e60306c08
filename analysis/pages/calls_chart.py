# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of what the calls of a trace did: percentiles, which process was slow, what moved."""

import math
import statistics
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest

import altair as alt
import numpy as np
from numpy.typing import NDArray

from iogauge.common.text import duration, three

from ..darshan.log import Log
from ..ledger import calls
from ..ledger.phases import Singly
from ..session.model import DIRECTIONS
from . import access_chart
from .access_chart import COLOURS, GRID, MOST_PROCESSES, Path, Picture, Tick
from .chart import WIDTH, Panels, panel_title

MIB = 2**20
HEIGHT = 190  # pixels of a panel, and of what moved
SHADES = [
    f"color-mix(in srgb, var(--heat) {part}%, var(--paper))" for part in (20, 40, 60, 80, 100)
]
TIMES = (1.25, 2, 4, 10)  # where shades begin, relative to the median process
# As text.duration: "10m" becomes "10 ms".
DURATION = "replace(format(datum.value, '~s'), regexp('([^0-9]?)$'), ' $1s')"
DECADES = [10.0**n for n in range(-9, 6)]
Legend = list[tuple[str, str]]  # name, colour
Drawn = tuple[Picture, Legend]
Cell = tuple[int, int, int, float]  # process, from and to as parts of GRID, value


def percentiles(found: Singly) -> Panels | None:
    """The percentiles of call times, one curve per layer."""
    x = alt.X(
        "nines:Q",
        title="% of the calls",
        axis=alt.Axis(
            values=[0, math.log10(2), *range(1, 7)],
            labelExpr="format(100 - pow(10, 2 - datum.value), '.7~g')",
        ),
    )
    y = alt.Y(
        "seconds:Q",
        title="at most",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(values=DECADES, labelExpr=DURATION, minExtent=28),
    )
    scale = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    colour = alt.Color("call:N", title=None, scale=scale)
    panels = []
    for layer in dict.fromkeys(layer for layer, _ in found.calls):
        rows = [
            {"nines": nines, "seconds": max(took, 1e-9), "call": direction}
            for direction in DIRECTIONS
            for nines, took in _curve(found.of(layer, direction)["seconds"])
        ]
        line = alt.Chart(alt.InlineData(values=rows)).mark_line().encode(x=x, y=y, color=colour)
        panels.append(line.properties(width=WIDTH, height=HEIGHT, title=panel_title(layer)))
    return Panels(panels, COLOURS) if panels else None


def _curve(seconds: NDArray[np.float64]) -> list[tuple[float, float]]:
    if not len(seconds):
        return []
    nines = np.linspace(0, np.log10(len(seconds)), 80)
    shares = np.append(1 - 10 ** -nines[:-1], 1.0)
    took = np.quantile(seconds, shares, method="inverted_cdf")
    return list(zip(nines.tolist(), took.tolist(), strict=True))


def strip(found: Singly) -> Drawn | None:
    """A row per process: its median (p50) and slowest call, relative to the median process."""
    layer = calls.lowest_layer(found)
    columns: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for one in calls.times(found, "call", "process"):
        for word in ("p50", "max") if one["call"].startswith(layer) else ():
            columns[f"{one['call'].split()[-1]} {word}"].append((one["process"], one[word]))
    wide = GRID // max(len(columns), 1)
    middles = [statistics.median(took for _, took in column) or 1 for column in columns.values()]
    cells = [
        (process, i * wide, (i + 1) * wide - 9, took / middles[i])
        for i, column in enumerate(columns.values())
        for process, took in column
    ]
    text = f"Duration of {layer} calls of each process, relative to the median process"
    x = [(100 * (i + 0.5) / len(columns), name) for i, name in enumerate(columns)]
    names = [f"up to {TIMES[0]:g} times", *(f"{edge:g} times" for edge in TIMES[1:]), "more"]
    return _shaded("Slow processes", text, x, cells, TIMES, names) if cells else None


def heat(log: Log) -> Drawn | None:
    """How much each process moved when."""
    known = log.heat.get("POSIX")
    moved = [
        (rank, i, sum(both) / MIB)
        for rank, directions in (known.ranks.items() if known else ())
        for i, both in enumerate(zip_longest(*directions, fillvalue=0))
        if any(both)
    ]
    if not moved or not known:
        return None
    bins, most = max(i for _, i, _ in moved) + 1, max(mib for *_, mib in moved)
    cells = [(rank, i * GRID // bins, (i + 1) * GRID // bins, mib) for rank, i, mib in moved]
    edges = [most * (i + 1) / len(SHADES) for i in range(len(SHADES))]
    x = access_chart.ticks(bins * known.bin_seconds, "s")
    text = f"POSIX bytes of each process in intervals of {duration(known.bin_seconds)}"
    text += "; not drawn: " * (len(log.heat) > 1) + ", ".join({*log.heat} - {"POSIX"})
    names = [f"up to {edge:.3g} MiB" for edge in edges]
    return _shaded("Processes and time", text, x, cells, edges[:-1], names)


def _shaded(
    name: str,
    text: str,
    x: list[Tick],
    cells: Sequence[Cell],
    edges: Sequence[float],
    names: Sequence[str],
) -> Drawn:
    """`edges`: where the next shade begins. Of many processes those with the largest values."""
    most: dict[int, float] = {}
    for process, *_, value in cells:
        most[process] = max(most.get(process, 0.0), value)
    shown = sorted(sorted(most, key=lambda one: -most[one])[:MOST_PROCESSES])
    text += f"; the {len(shown)} of {len(most)} processes with the most" * (len(most) > len(shown))
    marks: dict[int, list[str]] = defaultdict(list)
    who: dict[int, set[int]] = defaultdict(set)
    high = GRID / len(shown)
    for process, left, right, value in cells:
        if process in shown:
            shade, top = bisect_left(edges, value), round(shown.index(process) * high)
            marks[shade].append(f"M{left} {top}h{right - left}v{round(high * 0.9)}h{left - right}z")
            who[shade].add(process)
    paths = [
        Path(
            SHADES[i],
            "".join(marks[i]),
            f"{names[i]}: process {', '.join(map(str, sorted(who[i])[:8]))}"
            f"{', ...' * (len(who[i]) > 8)}",
        )
        for i in sorted(marks)
    ]
    height, labels = access_chart.lines(shown)
    legend = list(zip(names, SHADES, strict=True))
    return Picture(name, text, "process", height, x, labels, [paths]), legend


def throughput(flows: Sequence[calls.Flow]) -> Drawn | None:
    if not flows:
        return None
    bins = max(len(flow.moved) for flow in flows)
    top = max(rate for flow in flows for rate in flow.rates) / MIB
    wide, paths = GRID / bins / len(flows), []
    for number, flow in enumerate(flows):
        high = [round(GRID * moved / flow.seconds / MIB / top) for moved in flow.moved]
        title = f"{flow.direction}: {three(statistics.median(flow.rates) / MIB)} MiB/s"
        d = "".join(
            f"M{(i * len(flows) + number) * wide:.1f} {GRID - h}h{wide:.1f}v{h}h-{wide:.1f}z"
            for i, h in enumerate(high)
            if h
        )
        paths.append(Path(COLOURS[flow.direction], d, title))
    y = [(100 - at, label) for at, label in access_chart.ticks(top, "")]
    text = f"Throughput of all processes in intervals of {duration(flows[0].seconds)}"
    picture = Picture(
        "Throughput over time",
        text,
        "MiB/s",
        HEIGHT,
        access_chart.ticks(bins * flows[0].seconds, "s"),
        y,
        [paths],
    )
    return picture, [(flow.direction, COLOURS[flow.direction]) for flow in flows]
