# SPDX-License-Identifier: BSD-3-Clause
"""Pages whose every name is a script, in a real browser: none of them runs."""

from __future__ import annotations

import html
import itertools
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from iogauge.analysis.darshan.others import SUMMARY, ask_others
from iogauge.analysis.ledger.traced import load
from iogauge.analysis.pages import compare_page, trace_page
from iogauge.cli.main import main
from iogauge.common.document import BadDocument, check_whole
from iogauge.common.run_folder import TRACE
from tests.analysis.pages.test_analysis_page import CHROMIUM
from tests.analysis_recorded import DATA, Json, Recorded, s3d
from tests.fuzz.cases import places

MARK = "ran-in-the-page"
CODE = f"document.documentElement.className='{MARK}'"
SCRIPTS = (
    f"<script>{CODE}</script>",
    f'"><script>{CODE}</script>',
    f"'><img src=x onerror={html.escape(CODE)}>",
    f"<svg onload={CODE}>",
    f"</text></svg><script>{CODE}</script>",
    f"</script><script>{CODE}</script>",
    f"</style><script>{CODE}</script>",
    f"javascript:{CODE}",
    f'{{{{ self }}}}<iframe srcdoc="<script>parent.{CODE}</script>">',
    f'<a href="javascript:{CODE}" autofocus onfocus={CODE}>',
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


def runs(page: Path, folder: Path) -> bool:
    """Whether a script among the names of a page has run."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", f"--user-data-dir={folder / 'profile'}",
         "--virtual-time-budget=3000", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    assert "</html>" in done.stdout
    return f'class="{MARK}"' in done.stdout.partition("<head>")[0]


def test_a_script_that_runs_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><html><head></head><body>{SCRIPTS[0]}</body></html>")
    assert runs(page, tmp_path)


def hostile(data: Json, keep: tuple[str, ...], takes: Callable[[Json], bool] | None = None) -> None:
    """Each text is a script, but those that decide whether the session can be read at all, and
    those that `takes`, a schema, wants to be something else."""
    scripts = itertools.cycle(SCRIPTS)
    for way in list(places(data)):
        inner = data
        for key in way[:-1]:
            inner = inner[key]
        before = inner[way[-1]]
        if isinstance(before, str) and not set(way) & set(keep):
            inner[way[-1]] = next(scripts)
            if takes and not takes(data):
                inner[way[-1]] = before


def only(report: Json, names: list[str]) -> None:
    """A picture for each name takes long."""
    (run,) = report["runs"]
    run["testcases"] = [case for case in run["testcases"] if case["display_name"] in names]


OF_REPORT = ("data_version", "result", "outputdir", "stagedir", "workdir", "uuid", "system",
             "environ", "prefix_output",
             "perfvalues", "pattern", "method")  # fmt: skip
OF_DOCUMENT = ("schema", "status", "verdict", "caches", "pattern", "method")


def is_whole(data: Json) -> bool:
    try:
        check_whole(data)
    except BadDocument:
        return False
    return True


def test_no_name_in_a_page_runs(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    names = [s3d("mpiio:collective"), s3d("posix")]
    for name in names:
        recorded.edit_document(name, "openmpi", lambda data: hostile(data, OF_DOCUMENT, is_whole))
    recorded.edit(lambda data: only(data, names))
    recorded.edit(lambda data: hostile(data, OF_REPORT))
    report, store = str(recorded.report), str(tmp_path / "store")
    assert main(["summary", report, "--html", str(tmp_path / "page.html")]) in (0, 1)
    recorded.edit(lambda data: [case.update(environ=script) for script, case in zip(
        itertools.cycle(SCRIPTS), data["runs"][0]["testcases"])])  # fmt: skip
    assert main(["report", report, "--store", store, "--html", str(tmp_path / "report.html")]) == 0
    pages = [tmp_path / "page.html", tmp_path / "report.html"]
    for page in pages:
        assert MARK in page.read_text()
        assert not runs(page, tmp_path)


def test_no_name_in_a_comparison_runs(tmp_path: Path) -> None:
    scripts = itertools.cycle(SCRIPTS)
    numbers = {"a": 1.0, "b": 2.0, "ratio": 2.0, "low": 1.5, "high": 2.5}
    names = (*compare_page.CASE, "unit", "samples", "verdict", "gate", "lacks", "a_document",
             "b_document")  # fmt: skip
    rows = [{**{name: next(scripts) for name in names}, **numbers} for _ in SCRIPTS]
    page = tmp_path / "compare.html"
    words = {"command": SCRIPTS[0], "gate": SCRIPTS[1]}
    compare_page.write(page, rows, SCRIPTS[2], words, tmp_path)
    assert MARK in page.read_text()
    assert not runs(page, tmp_path)


def test_no_name_in_a_log_runs(tmp_path: Path) -> None:
    """The command of a job, as its log has it: in our page, and PyDarshan's is left out."""
    run = DATA / "darshan" / "mpich-pnetcdf"
    copied = tmp_path / "run"
    copied.mkdir()
    for path in run.iterdir():
        (copied / path.name).write_bytes(path.read_bytes())
    traced = load(copied)
    object.__setattr__(traced.log, "command", " ".join(SCRIPTS))
    object.__setattr__(traced.ledger, "recorder", SCRIPTS[0])
    others = ask_others(traced.log, copied / SUMMARY)
    assert others.summary is None
    assert f"{copied / TRACE}: PyDarshan's summary is left out" in others.problems[0]
    assert not (copied / SUMMARY).exists()
    trace_page.write(traced, others, tmp_path / "trace.html")
    assert MARK in (tmp_path / "trace.html").read_text()
    assert not runs(tmp_path / "trace.html", tmp_path)
