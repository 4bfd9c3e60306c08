# SPDX-License-Identifier: BSD-3-Clause
"""What a failed test says about the commands that it ran."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from iogauge.common.paths import ROOT

FAILING = """
import subprocess, sys
from pathlib import Path

def say(word):
    code = f"import sys; print('printed', {word!r}); print('warned', {word!r}, file=sys.stderr)"
    subprocess.run([sys.executable, "-c", f"{code}; sys.exit(3)"], capture_output=True)

def test_one():
    say("before")
def test_two(tmp_path):
    say("reason")
    (tmp_path / "result.json").read_text()
"""


def test_a_failed_test_reports_its_own_commands(tmp_path: Path) -> None:
    file = tmp_path / "test_failing.py"
    file.write_text(FAILING)
    command = [sys.executable, "-m", "pytest", "-p", "tests.last_commands", "-q", "-n0", str(file)]
    # It finds no other configuration or plugin than this one.
    command += ["--rootdir", str(tmp_path), "-c", "/dev/null"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    said = done.stdout
    assert "1 failed, 1 passed" in said, said + done.stderr
    section = said[said.index("Last commands") :]
    assert "status 3\nprinted reason\nwarned reason\n" in section
    assert "before" not in section
