# SPDX-License-Identifier: BSD-3-Clause
"""`report`: one page with all that the store says around a session."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import EXIT_OK
from ..pages import spack_stacks
from ..pages.report_tables import TABLES, Section
from ..session.loader import last_report, load_session
from ..session.model import DIRECTIONS
from ..session.rows import Row, Table, make_table
from ..store import database as store
from ..store import run_files as traced
from . import formats, options, progress
from .ingest import ingest

EXAMPLES = """\
examples:
  python -m analysis report                          the last session: output/report.html
  python -m analysis report --html acceptance.html --png slides --tables tables
  python -m analysis report output/reports/run-report-3.json --html third.html
  python -m analysis report --json | jq '.claims[] | {claim, verdict}'

The page is one file that opens from disk and loads nothing. --png writes a picture of each chart,
--tables a CSV of each table. --csv prints the overview, --json all tables; neither writes a page.
"""

TEMPLATE = "report.html.j2"
# Columns of the overview and what they are called.
OVERVIEW = {
    "pattern": "pattern", "scale": "scale", "method": "method", "mode": "mode",
    "variant": "variant", "stack": "stack", "file_system": "file system", "processes": "procs",
    "write_mib_s": "write MiB/s", "write_range": "min-max", "write_fraction_fpp": "% peak",
    "write_fraction_shared": "% shared", "read_mib_s": "read MiB/s", "read_range": "min-max",
    "read_fraction_fpp": "% peak", "read_fraction_shared": "% shared", "verdict": "verified",
    "files": "files",
}  # fmt: skip
_TITLES = {"mib_s": "MiB/s", "fs": "file system"}
LONG = ("says", "ledger", "measured", "published", "missing", "command", "our_conditions",
        "published_conditions", "unlike", "source")  # fmt: skip
NARROW = ("variant", "hints", "parameters")  # may be folded
STYLES = {"regression": "bad", "contradicted": "bad", "slower": "bad", "mismatch": "bad",
          "reproduced": "good", "faster": "good", "verified": "good"}  # fmt: skip

Cell = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "report", nargs="?", type=Path, metavar="REPORT",
        help="ReFrame's report of a session (default: the last one below the output folder)",
    )  # fmt: skip
    options.add_output(parser)
    parser.add_argument("--html", type=Path, metavar="FILE",
                        help="the page (default: report.html in the output folder)")  # fmt: skip
    parser.add_argument("--png", type=Path, metavar="DIR", help="write the charts as pictures")
    parser.add_argument("--tables", type=Path, metavar="DIR", help="write each table as CSV")
    options.add_store(parser)
    formats.add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Store the session, and write its page."""
    report = args.report or last_report(args.output)
    ingest(report, args.store)  # idempotent: most often it is there
    table = make_table(load_session(report))
    connection = store.connect(args.store)
    sections = [make(connection, table.session.uuid) for make in progress.steps(TABLES, "tables")]
    sections.append(spack_stacks.section(table, args.store.resolve().parent))
    if args.csv:
        formats.write_csv([row.cells() for row in table.all_rows], list(OVERVIEW))
    elif args.json:
        _print_json(table, sections)
    written = [] if formats.for_programs(args) and not args.html else [_page(args, table, sections)]
    written += _tables(args.tables, table, sections) if args.tables else []
    written += _pictures(args.png, table, sections) if args.png else []
    for path in written:
        options.say_written(path)
    return EXIT_OK


def _page(args: argparse.Namespace, table: Table, sections: Sequence[Section]) -> Path:
    """Write the page."""
    from markupsafe import Markup

    from ..pages import chart, page
    from ..pages.report_charts import CHARTS

    path: Path = args.html or args.output / "report.html"
    root = args.store.resolve().parent
    shown = []
    for section in progress.steps(sections, "charts"):
        make, caption = CHARTS.get(section.name, (None, ""))
        plot = make(section) if make else None
        svg = Markup(chart.themed_svg(plot)) if plot else ""
        cells = _cells(section, root, path.parent)
        shown.append({**cells, "svg": svg, "caption": caption})
    text = page.render(
        table, chart.to_svg(table), path.parent, TEMPLATE,
        overview=_overview(table, path.parent), more_sections=shown,
    )  # fmt: skip
    page.save(path, text.encode())
    return path


def _cells(section: Section, root: Path, folder: Path) -> dict[str, Any]:
    """A section as the template shows it. `root`: what the store's paths are relative to."""
    from ..pages.page import link

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
    text = f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "strftime") else formats.text(value)
    if name in ("measured", "missing", "unlike"):
        text = text.replace("; ", "\n")
    folded = "long" if name in LONG else "narrow" if name in NARROW else ""
    style = "n" if number else folded or STYLES.get(str(value), "")
    return {"text": text, "sort": value if number else None, "style": style, "link": "", "more": []}


def _overview(table: Table, folder: Path) -> dict[str, Any]:
    """All rows that ran, with links to document, job script and trace."""
    rows = [_overview_row(row, folder) for row in table.ran]
    filters = ("pattern", "method", "mode", "stack", "file_system", "verdict")
    return _shown("overview", "Overview", list(OVERVIEW), rows, filters, OVERVIEW)


def _overview_row(row: Row, folder: Path) -> list[Cell]:
    from ..pages.page import link
    from ..pages.words import bandwidth_text, outcome_text, percent_text, range_text

    values: Mapping[str, Any] = row.cells()
    cells = {name: _cell(name, values.get(name)) for name in OVERVIEW}
    run = row.run
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


def _print_json(table: Table, sections: Sequence[Section]) -> None:
    data = {
        "session": table.session.uuid,
        "overview": [row.cells() for row in table.all_rows],
        **{section.name: list(section.rows) for section in sections},
    }
    json.dump(data, sys.stdout, indent=1, allow_nan=False, default=str)
    print()


def _tables(folder: Path, table: Table, sections: Sequence[Section]) -> list[Path]:
    """A CSV of each table that has rows."""
    from ..pages.page import save

    tables = {"overview": [row.cells() for row in table.all_rows]}
    tables |= {section.name: [dict(row) for row in section.rows] for section in sections}
    written = []
    for name, rows in tables.items():
        if not rows:
            continue
        text = io.StringIO()
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        written.append(folder / f"{name}.csv")
        save(written[-1], text.getvalue().encode())
    return written


def _pictures(folder: Path, table: Table, sections: Sequence[Section]) -> list[Path]:
    """A picture of each chart that has marks."""
    import vl_convert

    from ..pages import chart
    from ..pages.page import save
    from ..pages.report_charts import CHARTS

    pictures = {"overview": chart.to_png(table)}
    for section in sections:
        if section.name in CHARTS:
            plot = CHARTS[section.name][0](section)
            picture = vl_convert.vegalite_to_png(plot, scale=chart.PNG_SCALE) if plot else None
            pictures[section.name] = picture
    written = []
    for name, data in pictures.items():
        if data:
            written.append(folder / f"{name}.png")
            save(written[-1], data)
    return written
