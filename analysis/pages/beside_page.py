# SPDX-License-Identifier: BSD-3-Clause
"""The page of a replay: whether it matches its log, and the charts of both side by side."""

from pathlib import Path

from iogauge.common.files import write_whole
from iogauge.common.text import duration

from ..replay import check, trace
from ..replay.check import Comparison
from ..replay.trace import Trace
from . import access_chart, grid, trace_text
from .page import load_template

TEMPLATE = "beside.html.j2"
SUMS = ("", "calls, log", "replay", "bytes, log", "replay")
PHASES = ("phase", "calls", "bytes", "log", "replay", "replay / log")


def write(page: Path, found: Comparison, log: Trace, replay: Trace, command: str) -> None:
    both = (log, replay)
    drawn = [access_chart.timeline(both), access_chart.places(both)]
    text = load_template(TEMPLATE).render(
        title=f"{trace_text.heading_of_log(log.log)}: the log, and its replay",
        found=found,
        verdict=_verdict(found),
        wrong=found.wrong[: check.SHOWN],
        sums=sums(found),
        phases=phases(found),
        full=max((max(phase.log, phase.replay) for phase in found.phases), default=0) or 1,
        left_out=len(found.phases) - len(found.shown),
        heads=[
            (name, str(one.path), one.log.recorder)
            for name, one in zip(("The log", "The replay"), both, strict=True)
        ],
        colours=list(access_chart.legend(both)),
        pictures=[picture for picture in drawn if picture],
        level=" and ".join(sorted({trace.MODULE_OF[one.level] for one in log.files})),
        command=command,
    )
    write_whole(page, text)


def sums(found: Comparison) -> grid.Texts:
    rows = []
    for word, direction in (("read", trace.READ), ("written", trace.WRITE)):
        log, replay = found.log[direction], found.replay[direction]
        numbers = (log.calls, replay.calls, log.bytes, replay.bytes)
        rows.append((word, *(f"{number:,}" for number in numbers)))
    return grid.Texts("", SUMS, rows, (0,))


def _verdict(found: Comparison) -> str:
    if found.wrong:
        return f"not the same: {found.exact} of {found.processes} processes did what is in the log"
    return f"the same: calls, bytes, sizes, offsets and order of all {found.processes} processes"


def phases(found: Comparison) -> grid.Texts:
    """Time of the slowest process in calls that move data; at the end, of all phases."""
    both = found.log.values()
    calls, moved = sum(one.calls for one in both), sum(one.bytes for one in both)
    rows = [(str(p.number), p.calls, p.bytes, p.log, p.replay) for p in found.shown]
    log, replay = sum(p.log for p in found.phases), sum(p.replay for p in found.phases)
    rows.append(("all", calls, moved, log, replay))
    texts = [
        (name, f"{calls:,}", f"{moved:,}", *map(duration, took), _ratio(*took))
        for name, calls, moved, *took in rows
    ]
    return grid.Texts("", PHASES, texts, (0,))


def _ratio(log: float, replay: float) -> str:
    return f"{replay / log:.2f}" if log > 0 else "-"
