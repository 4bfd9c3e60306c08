# SPDX-License-Identifier: BSD-3-Clause
"""The command line itself: commands, completion, start-up."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.cli.main import COMMANDS
from iogauge.common import progress
from tests.analysis_recorded import ROOT, Recorded, run_analysis


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    done = run_analysis(command, "--help")
    assert done.returncode == 0
    assert "examples:" in done.stdout
    assert f"iogauge {command}" in done.stdout
    if command != "export":  # it has forms of its own
        assert "--json" in done.stdout
        assert "--csv" in done.stdout


def test_help_names_every_command() -> None:
    text = run_analysis("--help").stdout
    assert all(re.search(rf"^  +{name}\s", text, re.MULTILINE) for name in COMMANDS)
    assert "exit codes:" in text


def test_help_loads_no_large_library() -> None:
    code = (
        "import sys, iogauge.cli.main as a\n"
        "try: a.main(['--help'])\n"
        "except SystemExit: pass\n"
        "large = {'altair', 'duckdb', 'jinja2', 'numpy', 'polars', 'rich', 'yaml'}\n"
        "sys.exit(str(large & set(sys.modules)) if large & set(sys.modules) else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("line", "answers"), [("summ", ["summary"]), ("summary --j", ["--json"]), ("zzz", [])]
)
def test_a_shell_completes_commands_and_options(line: str, answers: list[str]) -> None:
    """In a real bash, as the help says."""
    words = ["python", "-m", "iogauge", *line.split()]
    script = f"""
        PATH={Path(sys.executable).parent}:$PATH
        eval "$(activate-global-python-argcomplete --dest=- 2>/dev/null)"
        COMP_LINE='{" ".join(words)}'; COMP_POINT=${{#COMP_LINE}}; COMP_TYPE=9
        COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}
        _python_argcomplete_global python {words[-1]} {words[-2]}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert [word.strip() for word in done.stdout.split()] == answers, done.stderr


@pytest.mark.parametrize(("terminal", "count", "bar"), [(True, 3, True), (True, 1, False),
                                                        (False, 3, False)])  # fmt: skip
def test_a_bar_on_a_terminal_only(
    terminal: bool,
    count: int,
    bar: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert list(progress.steps(list(range(count)), "counting")) == list(range(count))
    said = capsys.readouterr()
    assert said.out == ""
    assert ("counting" in said.err) == bar


def test_sessions_and_store_are_where_reframe_was_told_to_put_them(tmp_path: Path) -> None:
    """The site files' IOGAUGE_OUTPUT is the analysis' too: `make run` shows what it has run."""
    output = Recorded(tmp_path).output
    said = run_analysis("ingest", "--last", IOGAUGE_OUTPUT=str(output))
    assert said.returncode == 0, said.stderr
    assert (output / "store" / "store.json").exists()
    done = run_analysis("summary", "--csv", IOGAUGE_OUTPUT=str(output))
    assert done.returncode == 0, done.stderr
    assert "s3d,smoke" in done.stdout
