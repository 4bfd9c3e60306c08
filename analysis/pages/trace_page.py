# SPDX-License-Identifier: BSD-3-Clause
"""The page of one traced run: its ledger, hints and pictures in a single file."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from iogauge.common.run_folder import DOCUMENT, JOB_SCRIPT

from ..darshan.others import Others
from ..ledger.traced import Traced
from . import trace_chart, trace_text
from .page import load_template, save

TEMPLATE = "trace.html.j2"


def write(traced: Traced, others: Others, page: Path) -> None:
    """`OutputError` where the page cannot be written."""
    save(page, render(traced, others, page.parent).encode())


def render(traced: Traced, others: Others, folder: Path) -> str:
    """The page's text; links are relative to `folder`, where the page will be."""
    ledger = traced.ledger
    return load_template(TEMPLATE).render(
        title=trace_text.heading(traced),
        ledger=ledger,
        judgement=traced.judgement,
        head=trace_text.HEAD,
        sides=[(trace_text.title(side), trace_text.rows(side)) for side in ledger.sides],
        writers=trace_text.writers(ledger),
        phase_head=trace_text.PHASE_HEAD,
        phases=trace_text.phase_rows(ledger),
        phases_from=trace_text.phases_from(ledger),
        hints=trace_text.hint_rows(ledger),
        pictures=_pictures(traced),
        links=_links(traced, others, folder),
        advice=others.advice,
        command=traced.log.command,
        seconds=traced.log.seconds,
    )


def _pictures(traced: Traced) -> list[tuple[str, str, Markup]]:
    log = traced.log
    each = any(one.module == "POSIX" for one in log.segments)
    timeline = (
        "Each access at the POSIX layer, in the line of its process."
        if each
        else "What each process moved at the POSIX layer; -S dxt=true records each access."
    )
    drawn = [
        ("Time line of the processes", timeline, trace_chart.timeline(log)),
        ("Access sizes", "Calls by size; logarithmic.", trace_chart.histogram(traced.ledger)),
        ("Processes and time", "Reads and writes at the POSIX layer.", trace_chart.heatmap(log)),
    ]
    return [
        # made by the chart library from escaped text
        (name, text, Markup(trace_chart.to_svg(chart)))
        for name, text, chart in drawn
        if chart is not None
    ]


def _links(traced: Traced, others: Others, folder: Path) -> list[tuple[str, str]]:
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
