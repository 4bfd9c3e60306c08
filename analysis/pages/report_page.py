# SPDX-License-Identifier: BSD-3-Clause
"""The page of a session, with or without data from the store; its charts as pictures."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from iogauge.common.apart import apart
from iogauge.common.files import write_whole
from iogauge.common.paths import CHARTS

from ..columns import columns
from ..judge.advice import DEFAULT
from ..judge.history import KEY, History
from ..judge.share_of_peak import SOME_JOBS, why_above
from ..session.model import CEILINGS, DIRECTIONS, SHORT
from ..session.rows import Row, Table
from ..store import run_files as traced
from . import answers as first_screen
from . import bars, footer, history_table, page
from . import heat as heat_map
from .grid import KEYS
from .page import link
from .report_tables import Section
from .words import (
    BAD,
    GOOD,
    bandwidth_text,
    outcome_text,
    over_time,
    percent_text,
    range_text,
    value_text,
    with_mark,
)


class Reasons:
    """Called with a row of compare_references.PEAK: why it is above 100 %, or nothing. `root`: what
    the store's paths are relative to."""

    def __init__(self, table: Table, root: Path) -> None:
        self._root = root
        self._known = {
            (run.document.resolve(), f"{direction}_bw"): why
            for row in table.ran
            for direction in DIRECTIONS
            if (why := why_above(row, "fpp", direction))
            for run in row.runs
            if run.document
        }

    def __call__(self, row: Mapping[str, Any]) -> str:
        if row["efficiency"] is None or row["efficiency"] <= 1:
            return ""
        document = (self._root / row["document"]).resolve()
        return self._known.get((document, row["quantity"]), SOME_JOBS)


def lines(table: Table) -> list[tuple[str, str]]:
    names = dict(zip(CEILINGS, ("of the peak", "of the shared ceiling"), strict=True))
    found = []
    for row in table.ran:
        for ceiling, name in names.items():
            for direction in DIRECTIONS:
                if why := why_above(row, ceiling, direction):
                    run = row.run
                    words = (run.pattern, run.scale, run.method or run.test, run.mode, row.label)
                    where = f"on {run.stack}, {run.fs}, {direction}"
                    share = f"{percent_text(row, ceiling, direction)} % {name}"
                    found.append((f"{' '.join(filter(None, words))} {where}, {share}", why))
    return found


TEMPLATE = "report.html.j2"
# The sections of the page: this session first, published numbers last.
ORDER = (
    "history",
    "expected",
    "scaling",
    "efficiency",
    "claims",
    "ledger",
    "score_card",
    "published",
    "spack",
)
# Columns of the overview, and their heads.
_OF_BOTH = {
    "mib_s": "{} MiB/s",
    "over_time": "over time",
    "range": "min-max",
    "fraction_fpp": "% peak",
    "fraction_shared": "% shared",
}
OVERVIEW = {
    **{name: name for name in ("pattern", "scale", "method", "mode", "variant", "stack")},
    "file_system": "file system",
    "processes": "processes",
    "verdict": "verified",
    **{f"{d}_{name}": head.format(d) for d in DIRECTIONS for name, head in _OF_BOTH.items()},
    "files": "files",
}
_TITLES = {**SHORT, "fs": "file system"}
LONG = columns("long")
NARROW = ("variant", "hints", "parameters")  # may be folded
COUNTED = ("bytes", "calls", "processes")
STYLES = dict.fromkeys(BAD, "bad") | dict.fromkeys(GOOD, "good")

Cell = dict[str, Any]
Each = Callable[[Sequence[Section]], Iterable[Section]]


@dataclass(frozen=True)
class Around:
    """Data from the store about a session and its history. `answers`: of answers.rows. `cases`: of
    share_of_peak.of_cases. `histories`: of the session's cases. `root`: what the store's paths are
    relative to."""

    answers: Sequence[first_screen.Row] = ()
    cases: Sequence[first_screen.Row] = ()
    troubles: Sequence[str] = ()
    sections: Sequence[Section] = ()
    histories: Sequence[History] = ()
    root: Path = Path()


def write(
    table: Table, pages: Iterable[Path], around: Around = Around(), each: Each = iter
) -> list[Path]:
    """Write the page to each of `pages`; returns them. `each` wraps the sections, to show
    progress."""
    full = [section for section in _ordered(around) if section.rows]
    charts = apart("charts", _charts, full, each)  # without the renderer's memory
    written = list(dict.fromkeys(path.absolute() for path in pages))
    for path in written:
        write_whole(path, render(table, path.parent, around, charts))
    return written


def _ordered(around: Around) -> list[Section]:
    return sorted(around.sections, key=lambda section: ORDER.index(section.name))


def render(
    table: Table, folder: Path, around: Around = Around(), charts: Sequence[Cell] = ()
) -> str:
    """The page's text. Links are relative to `folder`, where the page will be. `charts`: of the
    sections that have rows."""
    why = Reasons(table, around.root)
    full = [section for section in _ordered(around) if section.rows]
    return page.load_template(TEMPLATE).render(
        title=f"Parallel I/O on {', '.join(sorted({row.run.system for row in table.all_rows}))}",
        session=footer.session_text(table),
        machine=footer.machine_text(table),
        good=table.all_verified(),
        interrupted=footer.interruption(table),
        verdict=footer.counts_text(table),
        repeats=footer.repeats_text(table.ran),
        scale=footer.scale_text(table),
        regressed=history_table.bad_lines(around.histories),
        troubles=around.troubles,
        failures=footer.failures(table),
        skips=footer.skip_reasons(table),
        answers=first_screen.shown(around.answers, why, folder),
        default=DEFAULT,
        heat=heat_map.maps(around.cases, why),
        bars=bars.figure(table),
        reasons=lines(table),
        peaks=footer.peak_lines(table),
        published=footer.published_lines(table),
        overview=_overview(table, around.histories, folder),
        more_sections=[
            {**_cells(section, around.root, folder, why), **drawn}
            for section, drawn in zip(full, charts, strict=True)
        ],
        lacking=[section for section in _ordered(around) if not section.rows],
        caches=footer.caches_lines(table),
        rates=footer.rate_lines(table),
        versions=footer.version_lines(table),
        command=table.session.command,
    )


def pictures(table: Table, sections: Sequence[Section]) -> dict[str, bytes]:
    import vl_convert

    from . import report_charts

    found = {"overview": bars.to_png(table)}
    for section in sections:
        if section.chart:
            plot = getattr(report_charts, section.name)(section)
            found[section.name] = (
                vl_convert.vegalite_to_png(plot.picture(), scale=page.PNG_SCALE) if plot else None
            )
    return {name: data for name, data in found.items() if data}


def _charts(sections: Sequence[Section], each: Each) -> list[dict[str, Any]]:
    made: Any = None
    with suppress(ModuleNotFoundError):
        from . import report_charts

        made = report_charts
    return [_chart(section, made) for section in each(sections)]


def _chart(section: Section, made: Any) -> dict[str, Any]:
    """`made`: the module with the charts, None without the extra."""
    no_charts = f"For a chart here: {CHARTS}"
    panels = getattr(made, section.name)(section) if section.chart and made else None
    return {
        # made by the chart library from escaped text
        "panels": [Markup(svg) for svg in panels.svgs()] if panels else [],
        "legend": list(panels.colours.items()) if panels else [],
        "dashes": list(panels.dashes.items()) if panels else [],
        "caption": section.chart if panels else no_charts if section.chart and not made else "",
    }


def _cells(section: Section, root: Path, folder: Path, why: Reasons) -> dict[str, Any]:
    """A section as the template takes it. `root`: what the store's paths are relative to."""
    rows = []
    for row in section.rows:
        cells = []
        for name in section.columns:
            cell = _cell(name, row[name])
            target = row.get(section.links.get(name, "")) or ""
            cell["link"] = link(root / target, folder) if target else ""
            if name == "efficiency" and (reason := why(row)):
                cell.update(text=with_mark(cell["text"], reason), says=reason, style="n above")
            cells.append(cell)
        rows.append(cells)
    return _shown(section.name, section.title, section.columns, rows, section.filters) | {
        "intro": section.intro,
        "counts": _counts(section),
    }


def _counts(section: Section) -> str:
    name = next((name for name in ("verdict", "state") if name in section.columns), "")
    counts = Counter(str(row[name]) for row in section.rows) if name else Counter[str]()
    return ", ".join(f"{count} {word}" for word, count in counts.most_common())


def _shown(
    name: str,
    title: str,
    columns: Sequence[str],
    rows: list[list[Cell]],
    filters: Sequence[str],
    titles: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The columns that hold anything, with their cells. Values shared by all rows are given
    once."""
    titles = titles or _TITLES
    names = [titles.get(column, column.replace("_", " ")) for column in columns]
    texts = [{row[i]["text"] for row in rows} for i in range(len(columns))]
    same = [i for i, of in enumerate(texts) if len(of) == 1 < len(rows) and columns[i] in KEYS]
    used = [i for i, of in enumerate(texts) if of != {"-"} and i not in same]
    numbers = {i for i in used if any(row[i]["sort"] is not None for row in rows)}
    for cell in (row[i] for row in rows for i in numbers):
        cell["style"] = cell["style"] or "n"
    return {
        "name": name,
        "title": title,
        "columns": [{"name": columns[i], "title": names[i], "number": i in numbers} for i in used],
        "same": ", ".join(f"{names[i]} {rows[0][i]['text']}" for i in same if texts[i] != {"-"}),
        "rows": [[row[i] for i in used] for row in rows],
        "filters": filters,
    }


def _cell(name: str, value: Any) -> Cell:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "strftime") else value_text(value)
    if number and name.endswith(COUNTED) and float(value).is_integer():
        text = f"{int(value):,}"
    folded = "long" if name in LONG else "narrow" if name in NARROW else ""
    style = "n" if number else folded or STYLES.get(str(value), "")
    return {
        "text": text,
        "sort": value if number else None,
        "style": style,
        "link": "",
        "more": [],
        "says": "",
    }


def _overview(table: Table, histories: Sequence[History], folder: Path) -> dict[str, Any]:
    lines = {
        tuple(one.case[name] for name in KEY): over_time(one.values)
        for one in histories
        if len(one.values) > 1
    }
    moved = [row for row in table.ran if row.outcome != "nothing moved"]
    rows = [_overview_row(row, lines, folder) for row in moved]
    filters = ("pattern", "method", "mode", "stack", "file_system", "verdict")
    return _shown("overview", "Overview", list(OVERVIEW), rows, filters, OVERVIEW)


def _overview_row(row: Row, lines: Mapping[tuple[Any, ...], str], folder: Path) -> list[Cell]:
    values: Mapping[str, Any] = row.cells()
    run = row.run
    fsync = run.result and run.result.fsync
    case = (run.system, run.partition, run.fs, run.stack, run.case, run.processes, fsync)
    over = {f"{d}_over_time": lines.get((*case, f"{d}_bw"), "") for d in DIRECTIONS}
    cells = {name: _cell(name, {**values, **over}.get(name)) for name in OVERVIEW}
    for direction in DIRECTIONS:
        spread = row.bandwidth(direction)
        cells[f"{direction}_range"].update(text=range_text(spread), style="range")
        if spread:
            cells[f"{direction}_mib_s"]["text"] = bandwidth_text(spread.median)
        cells[f"{direction}_mib_s"]["link"] = link(run.document, folder)
        for ceiling in CEILINGS:
            cell = cells[f"{direction}_fraction_{ceiling}"]
            why = why_above(row, ceiling, direction)
            text = with_mark(percent_text(row, ceiling, direction), why)
            also = " above" if why else " range" if row.disturbed(direction) else ""
            cell.update(text=text, says=why, style=cell["style"] + also)
    style = row.outcome.replace(" ", "-")
    cells["verdict"] = {**cells["verdict"], "text": outcome_text(row), "style": style}
    files = {"result": run.document, "job": run.job_script}
    files |= {"trace": traced.log(run.folder), "ledger": traced.ledger(run.folder)}
    more = [(name, link(path, folder)) for name, path in files.items() if path]
    cells["files"] = {**cells["files"], "text": "", "more": more, "style": "files"}
    return list(cells.values())
