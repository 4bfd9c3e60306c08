# SPDX-License-Identifier: BSD-3-Clause
"""The causes that `why` found, as text for the terminal."""

import statistics
from collections.abc import Sequence
from typing import Any

from rich.padding import Padding

from iogauge.common.text import duration, percent, three

from ..judge.bottleneck import LEAST, Cause, Facts
from ..judge.remedies import Run, remedy
from ..ledger.calls import QUANTILES, TITLES
from ..session.model import RATES
from ..session.peaks import too_short
from . import screen
from .screen import shown

Found = Sequence[tuple[Facts, Sequence[Cause]]]


def show(place: Run, document: dict[str, Any], found: Found, note: str) -> None:
    """A paragraph for each cause. Each command has its line, easy to copy."""
    console = screen.console(10_000)  # a pipe gets each command in one line
    processes = document["system"]["processes"]
    words = (place.pattern, place.call, place.fs, place.scale, place.stack)
    console.print(shown(f"{' '.join(filter(None, words))}, {processes} processes", "bold"))
    if note:
        console.print(shown(note, "yellow"))

    def line(indent: int, text: str) -> None:
        console.print(Padding(shown(text), (0, 0, 0, indent), expand=False))

    for one, causes in found:
        console.print(shown(heading(one)))
        if one.latencies:
            line(2, single_calls(one))
        short = too_short(one.shortest)
        if short or not causes:
            line(2, short or f"no cause explains {percent(LEAST)} of it")
        for number, cause in enumerate(causes, 1):
            told = remedy(place, cause)
            share = f"up to {percent(cause.share)} of the time"
            line(2, f"{number}. {cause.kind}, {share}: {cause.says}")
            if where := located(cause):
                line(5, where)
            line(5, f"try: {told.text}")
            line(5, "prove it:")
            for command in told.commands:
                console.print(shown(f"       {command}", "dim"), soft_wrap=True)


def heading(one: Facts) -> str:
    """`write: 43.1 MiB/s, 5 % of the peak; create 38 %, write 22 %, close 40 %`."""
    rate = one.document.get("summary", {}).get(RATES[one.direction].removeprefix("series_"))
    speed = f"{three(rate)} files/s" if rate else f"{three(one.bandwidth)} MiB/s"
    ceiling = f", {percent(one.of_ceiling)} of the peak" if one.of_ceiling is not None else ""
    phases = ", ".join(f"{name} {percent(one.part(name))}" for name in one.phases)
    return f"{one.direction}: {speed}{ceiling}; {phases}"


def single_calls(one: Facts) -> str:
    """Medians over the repeats, and the slowest of all."""
    took = {name: statistics.median(each[name] for each in one.latencies) for name in QUANTILES}
    took["max"] = max(each["max"] for each in one.latencies)
    of = (f"{TITLES[name]} {duration(value)}" for name, value in took.items())
    return f"single calls: {', '.join(of)}"


def located(cause: Cause) -> str:
    known = {
        "phase": cause.phase,
        "layer": cause.layer,
        "process": "" if cause.process is None else f"rank {cause.process} was the slowest",
        "calls": cause.calls,
    }
    return "; ".join(f"{name}: {value}" for name, value in known.items() if value)
