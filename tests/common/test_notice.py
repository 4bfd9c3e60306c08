# SPDX-License-Identifier: BSD-3-Clause
"""Messages hold names of files, hosts and tests: none of them may steer the user's terminal."""

from __future__ import annotations

import pytest

from iogauge.common.text import notice
from tests.reframe_session import ROOT

# `notice` itself, and a pipe's end that no terminal reads.
OTHERS = {"iogauge/common/text.py", "analysis/darshan/child.py"}


def test_it_does_not_steer_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    notice("not stored: \x1b[2Jx\rok\u202e\nsecond line")
    assert capsys.readouterr().err == "not stored: ?[2Jx ok?\nsecond line\n"


def test_nothing_else_prints_on_stderr() -> None:
    sources = {
        str(path.relative_to(ROOT)): path.read_text()
        for folder in ("analysis", "iogauge")
        for path in (ROOT / folder).rglob("*.py")
    }
    found = {
        name
        for name, text in sources.items()
        if "file=sys.stderr" in text or "stderr.write" in text
    }
    assert found == OTHERS
