# SPDX-License-Identifier: BSD-3-Clause
"""Result documents, ReFrame's reports, ledgers and what killed sessions left, changed at random: an
answer or one line, and no file outside of the output folder."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from iogauge.analysis.errors import EXIT_DATA, AnalysisError
from iogauge.analysis.session.document import read_document
from iogauge.analysis.store import files, months
from iogauge.analysis.store.database import MARK
from iogauge.cli.main import main
from iogauge.common import document, text
from iogauge.common.run_folder import CASE, LEDGER
from tests.analysis_recorded import Recorded, documents, s3d
from tests.fuzz.cases import changed, damaged, fuzz

KEPT = (s3d("mpiio:collective"), s3d("posix"))
BASES = [json.loads(path.read_text()) for path in list(documents())[::9]]
LEDGERS = [json.loads(path.read_text()) for path in sorted(Path(__file__).parents[1].rglob(LEDGER))]


class Place:
    """A small session in a separate folder, and beside it a folder that nothing may touch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recorded = Recorded(folder / "in")
        self.recorded.edit(self._cut)
        self.report = self.recorded.report
        self.data = self.recorded.read()
        self.document = self.recorded.document(KEPT[0], "openmpi")
        self.original = json.loads(self.document.read_text())
        self.out = folder / "in" / "out"

    @staticmethod
    def _cut(report: dict[str, Any]) -> None:
        (run,) = report["runs"]
        run["testcases"] = [case for case in run["testcases"] if case["display_name"] in KEPT]
        assert len(run["testcases"]) == 2 * len(KEPT)

    def command(self, *words: object) -> tuple[int, str, str]:
        """What holds of all commands and all input is asserted here."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = main([str(word) for word in words])
        said = err.getvalue()
        assert status in (0, 1, 3), said
        for one in (out.getvalue(), said):
            found = text.CONTROL.search(one.replace("\n", ""))
            assert not found, f"{found!r} in {one!r:.500}"
            one.encode()
        if status == EXIT_DATA:
            assert said.count("\n") == 1, said
            assert str(self.folder) in said, said
            assert len(said) < 1500
        return status, out.getvalue(), said

    def outside(self) -> list[str]:
        return [path.name for path in self.folder.iterdir() if path.name != "in"]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="iogauge-fuzz-"))
    yield Place(folder)
    shutil.rmtree(folder)


def dumped(data: Any) -> str:
    try:
        return json.dumps(data)
    except (ValueError, RecursionError):
        return "[]"


def read_both_ways(path: Path) -> None:
    """As a test does, which refuses what the schema does not allow, and as the analysis does."""
    try:
        document.load(path)
    except document.BadDocument as problem:
        assert str(problem).isprintable()
        assert len(str(problem)) < 600
    try:
        read_document(path)
    except AnalysisError as problem:
        assert len(text.one_line(str(problem))) < 600


@pytest.mark.slow
@fuzz("documents", 0.30, 400, data=st.sampled_from(BASES).flatmap(changed))
def test_documents(place: Place, data: Any) -> None:
    path = place.folder / "in" / "one.json"
    path.write_text(dumped(data))
    read_both_ways(path)


@fuzz("documents, bytes", 0.10, 200, data=damaged(json.dumps(BASES[0]).encode()))
def test_documents_bytes(place: Place, data: bytes) -> None:
    path = place.folder / "in" / "one.json"
    path.write_bytes(data)
    read_both_ways(path)


def report_of(place: Place, data: st.DataObject) -> None:
    place.report.write_text(dumped(data.draw(changed(place.data))))
    place.document.write_text(dumped(data.draw(st.just(place.original) | changed(place.original))))


FORMS = st.sampled_from(((), ("--csv",), ("--json",)))


@pytest.mark.slow
@fuzz("reports: summary", 0.12, 150, data=st.data(), form=FORMS)
def test_reports(place: Place, data: st.DataObject, form: tuple[str, ...]) -> None:
    report_of(place, data)
    place.command("summary", place.report, *form)
    assert place.outside() == []


@fuzz("reports, bytes", 0.03, 50, data=st.data())
def test_reports_bytes(place: Place, data: st.DataObject) -> None:
    place.report.write_bytes(data.draw(damaged(json.dumps(place.data).encode())))
    place.command("summary", place.report)


PARTS_OF_STORE = {MARK, files.RECORDS, files.SUMS, files.MONTHS, months.ALONE, months.READERS}


@pytest.mark.slow
@fuzz("reports: ingest", 0.02, 30, data=st.data())
def test_ingest(place: Place, data: st.DataObject) -> None:
    report_of(place, data)
    ledger = data.draw(st.sampled_from(LEDGERS).flatmap(changed))
    (place.document.parent / LEDGER).write_text(dumped(ledger))
    store = place.out / "store"
    place.command("store", "add", place.report, "--store", store)
    found = (
        {path.relative_to(store).parts[0] for path in store.rglob("*")} if store.exists() else ()
    )
    assert set(found) <= PARTS_OF_STORE
    assert place.outside() == []
    shutil.rmtree(store, ignore_errors=True)
    (place.document.parent / LEDGER).unlink()


@pytest.mark.slow
@fuzz("pages", 0.001, 2, data=st.data())
def test_pages(place: Place, data: st.DataObject) -> None:
    report_of(place, data)
    page = place.out / "page.html"
    place.command("summary", place.report, "--html", page)
    place.command(
        "report", place.report, "--html", page.with_name("report.html"), "--store",
        place.out / "store",
    )  # fmt: skip
    for path in place.out.glob("*.html"):
        written = path.read_text()
        assert not text.CONTROL.search(written.replace("\n", "").replace("\t", ""))
        assert "<script>document" not in written
        assert "<img" not in written
    assert place.outside() == []
    shutil.rmtree(place.out, ignore_errors=True)


SESSION = "20261121T200000-999999999"


@pytest.mark.slow
@fuzz("recover", 0.01, 20, data=st.data())
def test_recover(place: Place, data: st.DataObject) -> None:
    """A killed session's case.json, and the name of its folder."""
    output = place.out / "killed"
    shutil.rmtree(place.out, ignore_errors=True)
    base = {"session": {"cmdline": "reframe", "workdir": "/checkout"}, "case": {
        **place.data["runs"][0]["testcases"][0], "ended": 1.8e9}}  # fmt: skip
    name = data.draw(st.sampled_from((SESSION, "99999999T999999", "00000000T000000-1")))
    folder = output / name / "local" / "host" / "openmpi" / "S3d_1"
    folder.mkdir(parents=True)
    (folder / CASE).write_text(dumped(data.draw(changed(base))))
    place.command("recover", "--output", output, "--store", place.out / "store")
    assert place.outside() == []
    shutil.rmtree(place.out, ignore_errors=True)
