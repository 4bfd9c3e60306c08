# SPDX-License-Identifier: BSD-3-Clause
"""What held a run up, as people read it on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.padding import Padding

from ..judge.bottleneck import LEAST, Cause, Facts
from ..judge.remedies import Run, remedy
from . import screen
from .screen import shown

Found = Sequence[tuple[Facts, Sequence[Cause]]]


def show(place: Run, document: dict[str, Any], found: Found, note: str) -> None:
    """A paragraph for each cause. Commands stand on lines of their own, to be copied."""
    console = screen.console()
    processes = document["system"]["processes"]
    words = (place.pattern, place.call, place.fs, place.scale, place.stack)
    console.print(shown(f"{' '.join(filter(None, words))}, {processes} processes", "bold"))
    if note:
        console.print(shown(note, "yellow"))
    for one, causes in found:
        console.print(shown(heading(one)))
        if not causes:
            console.print(
                Padding(shown(f"no cause explains {LEAST:.0%} of it"), (0, 0, 0, 2), expand=False)
            )
        for number, cause in enumerate(causes, 1):
            told = remedy(place, cause)
            title = f"{number}. {cause.kind}, up to {cause.share:.0%} of the time: {cause.says}"
            console.print(Padding(shown(title), (0, 0, 0, 2), expand=False))
            if where := located(cause):
                console.print(Padding(shown(where), (0, 0, 0, 5), expand=False))
            console.print(Padding(shown(f"try: {told.text}"), (0, 0, 0, 5), expand=False))
            console.print(Padding(shown("prove it:"), (0, 0, 0, 5), expand=False))
            for command in told.commands:
                console.print(shown(f"       {command}", "dim"), soft_wrap=True)


def heading(one: Facts) -> str:
    """`write: 43.1 MiB/s, 5 % of the ceiling; create 38 %, write 22 %, close 40 %`."""
    ceiling = f", {one.of_ceiling:.0%} of the ceiling" if one.of_ceiling is not None else ""
    phases = ", ".join(f"{name} {one.part(name):.0%}" for name in one.phases)
    return f"{one.direction}: {one.bandwidth:.4g} MiB/s{ceiling}; {phases}"


def located(cause: Cause) -> str:
    """Phase, process, layer and calls, where they are known."""
    known = {
        "phase": cause.phase, "layer": cause.layer,
        "process": "" if cause.process is None else f"rank {cause.process} was the slowest",
        "calls": cause.calls,
    }  # fmt: skip
    return "; ".join(f"{name}: {value}" for name, value in known.items() if value)
