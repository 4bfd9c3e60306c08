# SPDX-License-Identifier: BSD-3-Clause
"""tests/cut_session.py: recorded data stays small, and holds no place or person."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.common.paths import ROOT
from tests import cut_session

DATA = ROOT / "tests" / "data"
SESSIONS = sorted(path.parent for path in DATA.glob("*/results"))


@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: path.name)
def test_what_is_recorded_is_what_the_tool_makes(session: Path, tmp_path: Path) -> None:
    """So it was cut by it, and nothing else lies there."""
    scripts = {path.parent.name for path in session.rglob("rfm_job.sh")}
    written = cut_session.cut(session / "results", tmp_path, next(iter(scripts), ""))
    assert len(scripts) <= 1
    kept = [path for path in (session / "results").rglob("*") if path.is_file()]
    assert len(kept) == len(written)
    for path in kept:
        assert (tmp_path / path.relative_to(session / "results")).read_text() == path.read_text()


def test_recorded_data_stays_small() -> None:
    files = [path for path in DATA.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 640 * 1024


def test_a_place_and_a_person_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "somebody")
    reports = tmp_path / "output" / "reports"
    reports.mkdir(parents=True)
    (reports / "run-report-0.json").write_text(
        f'{{"runs": [{{"testcases": [{{"outputdir": "{ROOT}/output/x", "descr": "",\n'
        '"job_stdout": "rfm_job.out", "name": "S3d"}]}], "session_info": {"user": "somebody"}}'
    )
    (written,) = cut_session.cut(tmp_path / "output", tmp_path / "small", "")
    assert written.read_text() == (
        '{"runs":[{"testcases":[{"outputdir":"/checkout/output/x","name":"S3d"}]}],'
        '"session_info":{"user":"user"}}\n'
    )
