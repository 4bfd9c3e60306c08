# SPDX-License-Identifier: BSD-3-Clause
"""The page of one traced run, or of a log alone: tables, hints and pictures in a single file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from iogauge.common.run_folder import DOCUMENT, JOB_SCRIPT

from ..darshan.log import Log
from ..darshan.others import Others
from ..ledger.traced import Traced
from ..ledger.verdict import Judgement
from . import access_chart, chart, trace_chart, trace_text
from .page import load_template, save

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
    sizes = ("Access sizes", "Calls by size; logarithmic.", trace_chart.histogram(traced.ledger))
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
    charts: Sequence[trace_chart.Picture],
    judgement: Judgement | None = None,
) -> str:
    accesses = access_chart.of_log(log)
    both = [accesses] if accesses else []
    heat = "Reads and writes at the POSIX layer; -S dxt=true records each access."
    drawn = [*charts, ("Processes and time", heat, trace_chart.heatmap(log))]
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
