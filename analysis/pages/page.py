# SPDX-License-Identifier: BSD-3-Clause
"""The page: the session's table and one plot in a single file that opens from disk."""

from __future__ import annotations

import os
from pathlib import Path

import jinja2

from iogauge.common.files import write_whole
from iogauge.common.text import plain_lines

from ..errors import OutputError
from ..judge.share_of_peak import why_above
from ..session.model import CEILINGS, DIRECTIONS, Direction
from ..session.rows import Row, Table
from . import bars, chart, footer, reasons
from .words import (
    NOTHING,
    bandwidth_text,
    outcome_text,
    percent_text,
    range_text,
    with_mark,
)

TEMPLATE = "page.html.j2"

Numbers = dict[str, str | float]


def write(table: Table, path: Path | None, picture: Path | None) -> list[Path]:
    """Write the page to `path` and the plot to `picture`, where given; returns what was written.

    Raises OutputError where a file cannot be written, or there is nothing to draw.
    """
    written = []
    if path:
        save(path, render(table, path.parent).encode())
        written.append(path)
    if picture:
        png = chart.to_png(table)
        if png is None:
            raise OutputError(f"{picture}: expected numbers to draw, the session measured none")
        save(picture, png)
        written.append(picture)
    return written


def load_template(name: str) -> jinja2.Template:
    """A template of this folder; what it asks for and does not get is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_plain,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _plain(value: object) -> object:
    """What each expression of a template gives, before it is escaped where it is no Markup."""
    return type(value)(plain_lines(value)) if isinstance(value, str) else value


def render(table: Table, folder: Path, template: str = TEMPLATE, **more: object) -> str:
    """The page's text. Links to documents are relative to `folder`, where the page will be. `more`:
    what a `template` that extends the page's asks for."""
    sections = [("Measurements", table.rows), ("Peak tests", table.peak_rows)]
    return load_template(template).render(
        title=f"Parallel I/O on {', '.join(sorted({row.run.system for row in table.all_rows}))}",
        session=footer.session_text(table),
        machine=footer.machine_text(table),
        counts=table.counts(),
        good=table.all_verified(),
        interrupted=footer.interruption(table),
        verdict=footer.counts_text(table),
        repeats=footer.repeats_text(table.ran),
        scale=footer.scale_text(table),
        bars=bars.figure(table),
        reasons=reasons.lines(table),
        sections=[
            (name, _groups(rows, folder), any(row.label for row in rows))
            for name, rows in sections
            if rows
        ],
        failures=footer.failures(table),
        skips=footer.skip_reasons(table),
        peaks=_peaks(table),
        published=footer.published_lines(table),
        caches=footer.caches_lines(table),
        rates=footer.rate_lines(table),
        versions=footer.version_lines(table),
        command=table.session.command,
        **{"regressed": (), "troubles": (), **more},
    )


def save(path: Path, data: bytes) -> None:
    try:
        write_whole(path, data)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from None


def _groups(rows: tuple[Row, ...], folder: Path) -> list[list[dict[str, object]]]:
    """The rows in groups of one pattern, scale and file system."""
    groups: dict[tuple[str, ...], list[dict[str, object]]] = {}
    for row in rows:
        run = row.run
        cells: dict[str, object] = {
            "run": run,
            "label": row.label,
            "write": numbers(row, "write"),
            "read": numbers(row, "read"),
            "outcome": row.outcome,
            "shown": outcome_text(row),
            "document": link(run.document, folder),
            "job_script": link(run.job_script, folder),
        }
        groups.setdefault((run.pattern, run.scale, run.system, run.partition, run.fs), []).append(
            cells
        )
    return list(groups.values())


def numbers(row: Row, direction: Direction) -> Numbers:
    spread = row.bandwidth(direction)
    peak = row.share("fpp", direction)
    why = {ceiling: why_above(row, ceiling, direction) for ceiling in CEILINGS}
    return {
        "median": bandwidth_text(spread.median) if spread else NOTHING,
        "range": range_text(spread),
        "peak": with_mark(percent_text(peak), why["fpp"]),
        "peak_why": why["fpp"],
        "fill": min(peak.value, 1.0) if peak else 0.0,
        "shared": with_mark(percent_text(row.share("shared", direction)), why["shared"]),
        "shared_why": why["shared"],
    }


def _peaks(table: Table) -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    for group in footer.peak_groups(table):
        cells = []
        for ceiling in CEILINGS:
            for direction in DIRECTIONS:
                peak = group.peaks.get((ceiling, direction))
                spread = peak.bandwidth if peak else None
                median = bandwidth_text(spread.median) if spread else NOTHING
                cells.append((median, range_text(spread)))
        lines.append({"place": group.place, "cells": cells, "source": group.origin})
    return lines


def link(path: Path | None, folder: Path) -> str:
    """A relative link, so that the output folder can be moved or copied as a whole."""
    if path is None:
        return ""
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
