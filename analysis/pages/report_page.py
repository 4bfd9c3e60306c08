# SPDX-License-Identifier: BSD-3-Clause
"""The page of a session with all that the store says around it, and its charts as pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import vl_convert
from markupsafe import Markup

from ..judge.history import KEY, History
from ..session.model import DIRECTIONS
from ..session.rows import Row, Table
from ..store import run_files as traced
from . import chart, history_table, page
from .page import link
from .report_charts import CHARTS
from .report_tables import Section
from .words import bandwidth_text, outcome_text, over_time, percent_text, range_text, value_text

TEMPLATE = "report.html.j2"
# Columns of the overview and what they are called.
OVERVIEW = {
    "pattern": "pattern", "scale": "scale", "method": "method", "mode": "mode",
    "variant": "variant", "stack": "stack", "file_system": "file system", "processes": "procs",
    "write_mib_s": "write MiB/s", "write_over_time": "over time", "write_range": "min-max",
    "write_fraction_fpp": "% peak", "write_fraction_shared": "% shared",
    "read_mib_s": "read MiB/s", "read_over_time": "over time", "read_range": "min-max",
    "read_fraction_fpp": "% peak", "read_fraction_shared": "% shared", "verdict": "verified",
    "files": "files",
}  # fmt: skip
_TITLES = {"mib_s": "MiB/s", "fs": "file system"}
LONG = ("says", "ledger", "measured", "published", "missing", "command", "our_conditions",
        "published_conditions", "unlike", "source")  # fmt: skip
NARROW = ("variant", "hints", "parameters")  # may be folded
STYLES = {
    **dict.fromkeys(("regressed", "last run low", "contradicted", "slower", "mismatch"), "bad"),
    **dict.fromkeys(("recovered", "reproduced", "faster", "verified"), "good"),
}  # fmt: skip

Cell = dict[str, Any]
Each = Callable[[Sequence[Section]], Iterable[Section]]


def write(
    table: Table,
    sections: Sequence[Section],
    histories: Sequence[History],
    root: Path,
    pages: Iterable[Path],
    each: Each = iter,
) -> list[Path]:
    """Write the page to each of `pages`; returns them. `histories`: of the session's cases. `root`:
    what the store's paths are relative to. `each` wraps the sections, to show progress. Raises
    OutputError."""
    plot = chart.to_svg(table)
    charts = [_chart(section) for section in each(sections)]
    written = list(dict.fromkeys(path.absolute() for path in pages))
    for path in written:
        folder = path.parent
        shown = [
            {**_cells(section, root, folder), **drawn}
            for section, drawn in zip(sections, charts, strict=True)
        ]
        text = page.render(
            table, plot, folder, TEMPLATE, overview=_overview(table, histories, folder),
            more_sections=shown, regressed=history_table.bad_lines(histories),
        )  # fmt: skip
        page.save(path, text.encode())
    return written


def pictures(table: Table, sections: Sequence[Section]) -> dict[str, bytes]:
    """A picture of each chart that has marks, by the section's name."""
    found = {"overview": chart.to_png(table)}
    for section in sections:
        if section.name in CHARTS:
            plot = CHARTS[section.name][0](section)
            picture = vl_convert.vegalite_to_png(plot, scale=chart.PNG_SCALE) if plot else None
            found[section.name] = picture
    return {name: data for name, data in found.items() if data}


def _chart(section: Section) -> dict[str, Any]:
    make, caption = CHARTS.get(section.name, (None, ""))
    plot = make(section) if make else None
    # made by the chart library from escaped text
    return {"svg": Markup(chart.themed_svg(plot)) if plot else "", "caption": caption}


def _cells(section: Section, root: Path, folder: Path) -> dict[str, Any]:
    """A section as the template shows it. `root`: what the store's paths are relative to."""
    rows = []
    for row in section.rows:
        cells = []
        for name in section.columns:
            cell = _cell(name, row[name])
            target = row.get(section.links.get(name, "")) or ""
            cell["link"] = link(root / target, folder) if target else ""
            cells.append(cell)
        rows.append(cells)
    return _shown(section.name, section.title, section.columns, rows, section.filters) | {
        "intro": section.intro,
        "note": section.note,
    }


def _shown(
    name: str,
    title: str,
    columns: Sequence[str],
    rows: list[list[Cell]],
    filters: Sequence[str],
    titles: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The columns that say something, with their cells."""
    used = [i for i, _ in enumerate(columns) if any(row[i]["text"] != "-" for row in rows)]
    return {
        "name": name,
        "title": title,
        "columns": [
            {
                "name": columns[i],
                "title": (titles or _TITLES).get(columns[i], columns[i].replace("_", " ")),
                "number": any(row[i]["sort"] is not None for row in rows),
            }
            for i in used
        ],
        "rows": [[row[i] for i in used] for row in rows],
        "filters": filters,
    }


def _cell(name: str, value: Any) -> Cell:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "strftime") else value_text(value)
    folded = "long" if name in LONG else "narrow" if name in NARROW else ""
    style = "n" if number else folded or STYLES.get(str(value), "")
    return {"text": text, "sort": value if number else None, "style": style, "link": "", "more": []}


def _overview(table: Table, histories: Sequence[History], folder: Path) -> dict[str, Any]:
    """All rows that ran, with links to document, job script and trace."""
    lines = {
        tuple(one.case[name] for name in KEY): over_time(one.values)
        for one in histories
        if len(one.values) > 1
    }
    rows = [_overview_row(row, lines, folder) for row in table.ran]
    filters = ("pattern", "method", "mode", "stack", "file_system", "verdict")
    return _shown("overview", "Overview", list(OVERVIEW), rows, filters, OVERVIEW)


def _overview_row(row: Row, lines: Mapping[tuple[Any, ...], str], folder: Path) -> list[Cell]:
    values: Mapping[str, Any] = row.cells()
    run = row.run
    case = (run.system, run.partition, run.fs, run.stack, run.case, run.processes)
    over = {f"{way}_over_time": lines.get((*case, f"{way}_bw"), "") for way in DIRECTIONS}
    cells = {name: _cell(name, {**values, **over}.get(name)) for name in OVERVIEW}
    for direction in DIRECTIONS:
        spread = row.bandwidth(direction)
        cells[f"{direction}_range"].update(text=range_text(spread), style="range")
        if spread:
            cells[f"{direction}_mib_s"]["text"] = bandwidth_text(spread.median)
        cells[f"{direction}_mib_s"]["link"] = link(run.document, folder)
        cells[f"{direction}_fraction_fpp"]["text"] = percent_text(row.share("fpp", direction))
        cells[f"{direction}_fraction_shared"]["text"] = percent_text(row.share("shared", direction))
    style = row.outcome.replace(" ", "-")
    cells["verdict"] = {**cells["verdict"], "text": outcome_text(row), "style": style}
    files = {"result": run.document, "job": run.job_script, **_traces(row)}
    more = [(name, link(path, folder)) for name, path in files.items() if path]
    cells["files"] = {**cells["files"], "text": "", "more": more, "style": "files"}
    return list(cells.values())


def _traces(row: Row) -> dict[str, Path | None]:
    """The trace of a run and what was made of it."""
    return {"trace": traced.log(row.run.folder), "ledger": traced.ledger(row.run.folder)}
