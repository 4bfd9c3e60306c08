# SPDX-License-Identifier: BSD-3-Clause
"""The report's tables: data from the store about one session and its history."""

import functools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from iogauge.common.paths import below
from iogauge.common.text import percent

from ..columns import columns
from ..errors import NothingFoundError
from ..judge import claims, compare_published, compare_references
from ..judge.compare_runs import Question
from ..judge.history import KEY, LOW, History
from ..judge.learned import MIN_NIGHTS
from ..judge.yaml_file import YamlFile
from ..session.rows import Table
from ..store import database as store
from ..store.database import Where
from ..store.queries import query
from . import claim_text, history_table

Row = dict[str, Any]


@dataclass(frozen=True)
class Section:
    """One table of the report. `section` fills in what sections.yaml does not give. `chart`: its
    caption; empty if there is none."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[Row]
    intro: str = ""
    note: str = ""
    links: dict[str, str] = field(default_factory=dict)
    filters: tuple[str, ...] = ()
    source: Sequence[Any] = ()  # the chart's data, if not the rows
    chart: str = ""


# Columns that define a case, but for its mode.
CASE = '"system", "fs", "test", "pattern", "scale", "method", "variant", "hints", "stack", "fsync"'


@functools.cache
def _known() -> dict[str, dict[str, Any]]:
    file = Path(__file__).with_name("sections.yaml")
    return dict(YamlFile(file, file.with_suffix(".schema.json")).data)


def section(name: str, rows: Sequence[Row], columns: Sequence[str] = (), **more: Any) -> Section:
    """The table of sections.yaml. `more`: values of its placeholders, and `source`."""
    known = _known()[name]
    source = more.pop("source", ())
    intro, note = (known.get(key, "").format(**more) for key in ("intro", "note"))
    return Section(
        name,
        known["title"],
        tuple(columns or known["columns"]),
        rows,
        intro,
        note,
        known.get("links", {}),
        tuple(known["filters"]),
        source,
        known.get("chart", ""),
    )


def _current(session: str) -> Where:
    return Where().also("session = ?", session).also("NOT is_peak AND verdict <> 'nothing moved'")


def _compared(compare: Callable[..., list[Row]], db: Any, question: Question) -> list[Row]:
    with suppress(NothingFoundError):
        return compare(db, Where(), question)
    return []


def scaling(db: Any, session: str) -> Section:
    """Cases that the store has with two or more process counts, on the session's system."""
    rows = store.rows(db, query("scaling", case=CASE, good=store.GOOD), [session])
    return section("scaling", rows)


def published(db: Any, session: str) -> Section:
    system = db.execute(
        "SELECT any_value(system) FROM records WHERE session = ?", [session]
    ).fetchone()[0]
    question = Question(system, by="system")
    rows = _compared(compare_references.with_published, db, question)
    columns = [name for name in compare_published.COLUMNS if name != "verdict"]
    rows.sort(key=lambda row: (row["ratio"] is None, row["ours_of_best"] is None))
    return section("published", rows, columns)


def efficiency(db: Any, session: str) -> Section:
    rows = _compared(compare_references.with_peak, db, Question(session))
    return section("efficiency", rows, compare_references.PEAK)


def score_card(db: Any, session: str) -> Section:
    scores = list(columns("scores"))
    rows = store.rows(db, query("score_card", where=_current(session).sql), [session, scores])
    return section("score_card", rows)


def ledger(db: Any, session: str) -> Section:
    amounts = {
        f"{direction}_{name}": f"ledger_{direction}_{quantity}"
        for direction in ("write", "read")
        for name, quantity in (
            ("amplification", "amplification"),
            ("payload_bytes", "payload"),
            ("posix_bytes", "posix_bytes"),
            ("posix_calls", "posix_calls"),
            ("processes", "posix_processes"),
        )
    }
    columns = ", ".join(
        f"max(value) FILTER (quantity = '{quantity}') AS {name}"
        for name, quantity in amounts.items()
    )
    rows = store.rows(db, query("ledger", amounts=columns), [session])
    rows = [{**row, "behind": row["trace"] or row["document"]} for row in rows]
    made = section("ledger", rows)
    links = {**made.links, **dict.fromkeys(amounts, "behind")}
    return replace(made, columns=(*made.columns, *amounts), links=links)


def claim_table(db: Any, session: str) -> Section:
    system = Where().also("system IN (SELECT system FROM records WHERE session = ?)", session)
    known = claims.load()
    runs = claims.runs_for(known, db, system)
    rows = [claim_text.row(claims.judge(runs, one)) for one in known]
    return section("claims", rows)


def expected(db: Any, session: str) -> Section:
    rows = _compared(compare_references.with_reference, db, Question(session))
    return section("expected", rows, compare_references.REFERENCE, nights=MIN_NIGHTS)


def history(found: Sequence[History], db: Any, session: str) -> Section:
    current = _current(session)
    documents = store.rows(
        db,
        f"""SELECT DISTINCT {", ".join(f'"{name}"' for name in KEY)}, document
        FROM records WHERE {current.sql} AND quantity IN ('write_bw', 'read_bw')""",
        current.values,
    )
    by_case = {tuple(row[name] for name in KEY): row["document"] for row in documents}
    several = [one for one in found if len(one.values) > 1]
    rows = [
        {**row, "document": by_case.get(tuple(row[name] for name in KEY))}
        for row in history_table.rows(several, everything=True)
    ]
    columns = (*history_table.COLUMNS[:-4], "now", *history_table.COLUMNS[-4:])
    low = {"one": percent(LOW[0]), "several": percent(LOW[-1])}
    return section("history", rows, columns, source=several, **low)


LOCK = "spack.lock"  # the tests keep it beside each result


def lock_files(table: Table) -> dict[str, Path]:
    """One lock file of each stack from Spack, by the stack's name; missing files are left
    out."""
    found: dict[str, Path] = {}
    for row in table.all_rows:
        for run in row.runs:
            if run.packages and run.folder and (run.folder / LOCK).is_file():
                found.setdefault(run.stack, run.folder / LOCK)
    return found


def spack(table: Table, root: Path) -> Section:
    """A row for each package of each stack, equal packages side by side; their hashes lead to the
    lock file. `root`: what its path is relative to, where it lies below."""
    locks = lock_files(table)
    found = {
        (name, run.stack, text)
        for row in table.all_rows
        for run in row.runs
        for name, text in run.packages.items()
    }
    rows = []
    for name, stack, text in sorted(found):
        version, _, digest = text.rpartition("/")
        cells = {"package": name, "stack": stack, "version": version, "hash": digest}
        lock = str(below(root, locks[stack].resolve())) if stack in locks else ""
        rows.append({**cells, "lock": lock})
    return section("spack", rows, lock=LOCK)


TABLES: tuple[Callable[[Any, str], Section], ...] = (
    scaling,
    published,
    efficiency,
    score_card,
    ledger,
    claim_table,
    expected,
)
