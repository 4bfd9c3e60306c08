# SPDX-License-Identifier: BSD-3-Clause
"""The report: complete, self-contained, and right in a real browser."""

from __future__ import annotations

import csv
import html
import json
import re
import uuid
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from iogauge.analysis.judge import claims
from iogauge.analysis.pages import report_tables
from iogauge.analysis.store import database
from iogauge.analysis.store.ingest import ingest
from tests.analysis.pages.test_analysis_page import CHROMIUM, Tags, chromium
from tests.analysis_recorded import DATA, Recorded, run_analysis, s3d

MPIIO = s3d("mpiio:collective")
SECTIONS = ("scaling", "published", "efficiency", "score_card", "ledger", "claims", "expected",
            "history", "spack")  # fmt: skip
PROCESSES = (1, 2, 4)
SESSIONS = 10


def _identify(report: dict[str, Any], identity: dict[str, object]) -> None:
    report["session_info"].update(identity)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the report of the last of SESSIONS sessions, which is slow on one case; and
    sessions with other numbers of processes."""
    folder = tmp_path_factory.mktemp("report")
    for number in range(SESSIONS + len(PROCESSES)):
        session = Recorded(folder / str(number))
        processes = PROCESSES[number - SESSIONS] if number >= SESSIONS else 2
        when = 1795196599 + 86400 * (number if number < SESSIONS else number - 20)
        identity = {"uuid": str(uuid.UUID(int=when)), "time_start_unix": when}
        session.edit(partial(_identify, identity=identity))
        session.edit(lambda d: [c.update(perfvalues={}) for r in d["runs"] for c in r["testcases"]])
        for name in ("posix", "mpiio:collective"):
            for stack in ("openmpi", "mpich"):
                _rescale(session, s3d(name), stack, processes, number)
        ingest(session.report, folder / "store")
    last_report = folder / str(SESSIONS - 1) / "results" / "reports" / "run-report-0.json"
    done = run_analysis(
        "report", last_report, "--html", folder / "page.html", "--png", folder / "png",
        "--tables", folder / "csv", "--store", folder / "store",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def _rescale(session: Recorded, name: str, stack: str, processes: int, number: int) -> None:
    """Round numbers: 100 MiB/s for each process, and a tenth of that in the last session."""

    def change(document: dict[str, Any]) -> None:
        document["system"]["processes"] = processes
        slow = 0.1 if number == SESSIONS - 1 and name == MPIIO and stack == "mpich" else 1
        for sample in document["samples"]:
            for direction in ("write", "read"):
                sample[direction]["bandwidth"] = 100 * processes * slow + sample["repeat"]

    session.edit_document(name, stack, change)


def test_the_page_is_one_small_file(made: Path) -> None:
    page = made / "page.html"
    text = page.read_text()
    assert page.stat().st_size < 5 * 2**20
    assert "@import" not in text
    assert re.findall(r"url\((?!data:)", text) == []
    for tag, name, value in Tags(text).attributes:
        if name in ("src", "href", "srcset", "xlink:href", "data", "action"):
            assert not re.match(r"(?!data:)[a-z][a-z0-9+.-]*:|//", value), (tag, name, value)


def test_every_link_leads_to_a_file(made: Path) -> None:
    links = {v for t, n, v in Tags((made / "page.html").read_text()).attributes
             if (t, n) == ("a", "href")}  # fmt: skip
    files = {link for link in links if not link.startswith("#")}
    assert len(files) > 22  # this session's documents, scripts, and documents of others
    for link in files:
        assert (made / unquote(link)).is_file(), link


def test_every_section_is_there_or_says_what_it_needs(made: Path) -> None:
    text = (made / "page.html").read_text()
    for name in SECTIONS:
        if f'<h2 id="{name}">' in text:
            assert "<table" in text.split(f'<h2 id="{name}">')[1].split("<h2")[0], name
        else:
            assert "needs " in text.split(f'<li id="{name}">')[1].split("</li>")[0], name


def test_a_regression_is_marked_and_nothing_else(made: Path) -> None:
    rows = list(csv.DictReader((made / "csv" / "history.csv").open()))
    marked = [row for row in rows if row["state"] == "last run low"]
    assert {(row["case"], row["stack"], row["quantity"]) for row in marked} == {
        (MPIIO, "mpich", "write_bw"), (MPIIO, "mpich", "read_bw"),
    }  # fmt: skip
    assert {row["now"] for row in marked} == {"21.0"}
    assert {row["state"] for row in rows} == {"last run low", "steady", "too few runs"}


def test_the_banner_names_what_regressed(made: Path) -> None:
    text = (made / "page.html").read_text()
    banner = text.split('<div class="card verdict')[1].split("</div>")[0]
    assert banner.startswith(" bad")
    assert "2 histories regressed." in banner
    assert "s3d smoke mpiio collective mpich ram read_bw: the last run is far below" in banner


def test_scaling_is_over_the_smallest_number_of_processes(made: Path) -> None:
    rows = list(csv.DictReader((made / "csv" / "scaling.csv").open()))
    mine = [row for row in rows if (row["method"], row["stack"], row["quantity"], row["fs"])
            == ("posix", "openmpi", "write_bw", "ram")]  # fmt: skip
    assert [row["processes"] for row in mine] == ["1", "2", "4"]
    assert [row["ideal"] for row in mine] == ["1.0", "2.0", "4.0"]
    # 100 n + (0, 1, 2), median of the repeats: 101, 201, 401.
    assert [float(row["mib_s"]) for row in mine] == [101, 201, 401]
    assert [float(row["speed_up"]) for row in mine] == pytest.approx([1, 201 / 101, 401 / 101])


def test_speed_up_of_parallel_cgns_is_over_one_process_with_serial_calls(tmp_path: Path) -> None:
    """As in the paper of 2005. Other tests of the same pattern and scale do not count."""
    session = Recorded(tmp_path, "session-all")

    def change(document: dict[str, Any], mode: str, processes: int, bandwidth: float) -> None:
        document["asked"]["mode"] = mode
        document["system"]["processes"] = processes
        for sample in document["samples"]:
            sample["read"]["bandwidth"] = bandwidth

    made_of: dict[str, dict[str, Any]] = {
        "collective": {"mode": "serial", "processes": 1, "bandwidth": 100.0},
        "independent": {"mode": "independent", "processes": 4, "bandwidth": 150.0},
    }
    for call, values in made_of.items():
        name = f"CgnsStructured %fs=ram %call=cgns:{call} %scale=smoke"
        session.edit_document(name, "openmpi", partial(change, **values))
        session.edit_case(name, "openmpi", lambda case: case.update(perfvalues={}))
    uuid = ingest(session.report, tmp_path / "store")["session"]
    connection = database.connect(tmp_path / "store")
    rows = report_tables.scaling(connection, uuid).rows
    mine = [row for row in rows if (row["test"], row["quantity"]) == ("CgnsStructured", "read_bw")]
    found = [(row["mode"], row["processes"], row["speed_up"]) for row in mine]
    assert found == [("independent", 1, 1.0), ("independent", 4, 1.5)]


def test_the_page_of_the_last_session_is_the_latest_and_in_its_own_folder(tmp_path: Path) -> None:
    """Also the page of a session that is asked for. No other page is written."""
    session = Recorded(tmp_path)
    where = ("--output", session.output, "--store", tmp_path / "store")
    latest = session.output / "report.html"
    done = run_analysis("report", session.report, *where)
    own = session.output / "20261120T174318" / "report.html"
    assert set(session.output.rglob("*.html")) == {latest, own}
    assert all(str(page) in done.stderr for page in (latest, own))
    assert 'href="local/host/' in own.read_text()
    assert not list(session.output.rglob("*.part"))


def test_pictures_and_tables(made: Path) -> None:
    assert {p.name for p in (made / "png").iterdir()} == {"overview.png", "scaling.png",
                                                         "history.png"}  # fmt: skip
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in (made / "png").iterdir())
    assert {"overview.csv", "claims.csv", "history.csv"} <= {
        p.name for p in (made / "csv").iterdir()
    }


def test_texts_are_escaped(tmp_path: Path) -> None:
    session = Recorded(tmp_path)
    evil = "<script>alert(1)</script>&\"'"
    session.edit_case(MPIIO, "mpich", lambda c: c.update(environ=evil))
    page = tmp_path / "page.html"
    run_analysis("report", session.report, "--html", page, "--store", tmp_path / "store")
    text = page.read_text()
    assert "<script>alert" not in text
    assert html.escape("<script>alert(1)</script>") in text


# ---------------------------------------------------------------- in a browser

PROBE = f"<script>{(DATA / 'report_probe.js').read_text()}</script>"


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_the_report_in_a_browser(made: Path, tmp_path: Path) -> None:
    found = chromium(made / "page.html", tmp_path, PROBE)
    assert found["errors"] == []
    assert found["resources"] == []
    assert len(found["marks"]) == 3  # overview, scaling, history
    assert all(count > 5 for count in found["marks"])
    assert found["up"] == sorted(found["up"])
    assert found["down"] == sorted(found["up"], reverse=True)
    assert found["again"] == found["up"]
    assert found["found_rows"] == 2  # both stacks
    assert 0 < found["chosen_rows"] < len(found["up"])
    assert found["too_wide"] <= 0


def test_json_has_all_tables(made: Path) -> None:
    report = made / "0" / "results" / "reports" / "run-report-0.json"
    done = run_analysis("report", report, "--json", "--store", made / "store")
    data = json.loads(done.stdout)
    assert set(data) == {"session", "overview", *SECTIONS}
    assert len(data["claims"]) == len(claims.load())
    assert len(data["overview"]) == 24
