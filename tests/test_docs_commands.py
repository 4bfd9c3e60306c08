# SPDX-License-Identifier: BSD-3-Clause
"""Each `make run` and `make ab` of the pages selects a test: else a reader measures nothing."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.reframe_session import ROOT, reframe

COMMAND = re.compile(
    r"make (?:run|ab) (?:[A-Z]+=\S+ |[A-Z]+=\"[^\"]*\" )*ARGS=('[^']*'|\"[^\"]*\")"
)


def asked() -> dict[str, str]:
    """The words that ReFrame gets, and the page that says them."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {
        found[1:-1]: str(page.relative_to(ROOT))
        for page in pages
        for found in COMMAND.findall(page.read_text())
    }


def test_pages_have_such_commands() -> None:
    assert {"-n S3d", "-n 'S3d.*fs=ram'"} <= asked().keys()


@pytest.mark.parametrize("words", asked())
def test_a_command_selects_a_test(words: str, tmp_path: Path) -> None:
    here = tmp_path / "given"  # in place of a reader's own file
    here.write_text("")
    given = [re.sub(r"(\.(?:log|file))=.*", rf"\1={here}", word) for word in shlex.split(words)]
    session = reframe(tmp_path, "--system", "local", "-t", "quick", "-l", *given)
    assert session.status == 0, session.text
    assert session.listed, f"{asked()[words]}: no test of make run fits {words}"
