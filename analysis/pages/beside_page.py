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


def write(page: Path, found: Comparison, log: Trace, replay: Trace, command: str) -> None:
    both = (log, replay)
    drawn = [access_chart.timeline(both), access_chart.places(both)]
    text = load_template(TEMPLATE).render(
        title=f"{trace_text.heading_of_log(log.log)}: the log, and its replay",
        found=found,
        verdict=_verdict(found),
        wrong=found.wrong[: check.SHOWN],
        sums=grid.Texts("", SUMS, _sums(found), (0,)),
        phases=_phases(found),
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


def _sums(found: Comparison) -> list[tuple[str, ...]]:
    rows = []
    for word, way in (("read", trace.READ), ("written", trace.WRITE)):
        log, replay = found.log[way], found.replay[way]
        numbers = (log.calls, replay.calls, log.bytes, replay.bytes)
        rows.append((word, *(f"{number:,}" for number in numbers)))
    return rows


def _verdict(found: Comparison) -> str:
    if found.wrong:
        return f"not the same: {found.exact} of {found.processes} processes did what is in the log"
    return f"the same: calls, bytes, sizes, offsets and order of all {found.processes} processes"


def _phases(found: Comparison) -> list[dict[str, object]]:
    """Rows of the table of seconds. `fill`: percent of the longest, for the bar."""
    most = max((max(phase.log, phase.replay) for phase in found.phases), default=0) or 1
    rows = [(str(p.number), p.calls, p.bytes, p.log, p.replay, 100 / most) for p in found.shown]
    if found.phases:
        sums = found.log.values()
        calls, moved = sum(one.calls for one in sums), sum(one.bytes for one in sums)
        rows.append(("all", calls, moved, found.log_seconds, found.replay_seconds, 0))
    return [
        {
            "name": name,
            "calls": calls,
            "bytes": moved,
            "seconds": [(duration(s), f"{s * part:.0f}") for s in (log, replay)],
            "ratio": f"{replay / log:.2f}" if log > 0 else "-",
        }
        for name, calls, moved, log, replay, part in rows
    ]
