# SPDX-License-Identifier: BSD-3-Clause
"""What a session's stacks from Spack are made of, as the report shows it."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from iogauge.analysis.errors import EXIT_OK, MalformedReportError
from iogauge.analysis.pages import report_tables
from iogauge.analysis.pages.report_tables import Section
from iogauge.analysis.session.loader import load_session
from iogauge.analysis.session.rows import make_table
from tests.analysis_recorded import Recorded, run_analysis, s3d

TESTS = (s3d("mpiio:collective"), s3d("posix"))
PACKAGES = {
    "openmpi": {"openmpi": "4.1.6/abcdefg", "hdf5": "1.14.3/1111111"},
    "mpich": {"mpich": "4.2.1/7654321", "hdf5": "1.14.3/2222222"},
}


def made_of(packages: dict[str, str], case: dict[str, Any]) -> None:
    case["spack_packages"] = packages


@pytest.fixture
def session(tmp_path: Path) -> Recorded:
    """The recorded session, as if its stacks were Spack environments."""
    found = Recorded(tmp_path)
    for stack, packages in PACKAGES.items():
        for test in TESTS:
            found.edit_case(test, stack, partial(made_of, packages))
            found.document(test, stack).with_name("spack.lock").write_text("{}")
    return found


def section(session: Recorded) -> Section:
    return report_tables.spack(make_table(load_session(session.report)), session.output)


def test_equal_packages_stand_side_by_side(session: Recorded) -> None:
    rows = section(session).rows
    assert [(r["package"], r["stack"], r["version"], r["hash"]) for r in rows] == [
        ("hdf5", "mpich", "1.14.3", "2222222"),
        ("hdf5", "openmpi", "1.14.3", "1111111"),
        ("mpich", "mpich", "4.2.1", "7654321"),
        ("openmpi", "openmpi", "4.1.6", "abcdefg"),
    ]
    for row in rows:
        assert (session.output / row["lock"]).read_text() == "{}"


def test_the_page_leads_from_a_hash_to_the_lock_file(session: Recorded) -> None:
    where = ("--output", session.output, "--store", session.output / "store")
    done = run_analysis("report", *where, "--tables", session.folder / "tables")
    assert done.returncode == EXIT_OK, done.stderr
    page = (session.output / "report.html").read_text()
    (before,) = [line for line in page.splitlines() if ">abcdefg</a>" in line]
    link = before.split('">abcdefg</a>')[0].rsplit('href="', 1)[1]
    assert link.endswith("/spack.lock") and (session.output / unquote(link)).is_file()
    assert "2 packages of Spack" in page
    with (session.folder / "tables" / "spack.csv").open() as file:
        assert {row["hash"] for row in csv.DictReader(file)} >= {"1111111", "2222222"}


def test_a_lock_file_that_is_gone_is_no_link(session: Recorded) -> None:
    for file in session.output.rglob("spack.lock"):
        file.unlink()
    assert {row["lock"] for row in section(session).rows} == {""}


def test_without_spack_the_section_says_what_it_would_need(tmp_path: Path) -> None:
    found = section(Recorded(tmp_path))
    assert not found.rows
    assert "needs a stack from Spack" in found.note


def test_packages_that_are_no_mapping_are_refused(session: Recorded) -> None:
    session.edit_case(TESTS[0], "mpich", lambda c: c.update(spack_packages=["hdf5"]))
    with pytest.raises(MalformedReportError, match=r"spack_packages: \['hdf5'\] is not"):
        load_session(session.report)
