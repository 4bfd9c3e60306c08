# SPDX-License-Identifier: BSD-3-Clause
"""The command line itself: commands, completion, start-up."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.cli import table
from iogauge.cli.main import main, parser_of
from iogauge.common import progress
from tests.analysis_recorded import ROOT, Recorded, run_analysis

# Commands that print no table: what they make is a file, a session or a verdict in words.
NO_TABLE = {
    "build", "collect", "expect accept", "expect remove", "export", "run", "shrink", "site check",
    "site new", "stack add", "stack check", "store path", "tune",
}  # fmt: skip


@pytest.mark.parametrize("command", table.BY_NAME)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([*command.split(), "--help"], ["help", *command.split()]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert not ended.value.code
        text = capsys.readouterr().out
        assert "examples:" in text
        assert f"iogauge {command}" in text
        assert ("--json" in text and "--csv" in text) != (command in NO_TABLE)


@pytest.mark.parametrize("words", [[], ["help"], ["--help"]])
def test_help_shows_all_verbs_on_one_screen(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code
    text = capsys.readouterr().out
    assert all(re.search(rf"  {verb} +\S", text) for verb in table.VERBS)
    assert all(group in text for group in ("measure", "read", "your program", "a centre"))
    screen = text.partition("\nexit status:")[0].splitlines()
    assert len(screen) <= 23 and max(map(len, screen)) <= 80
    assert ("exit status:" in text) == (words == ["--help"])


@pytest.mark.parametrize("verb", table.NESTED)
def test_a_verb_shows_its_sub_verbs(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, "--help"])
    assert not ended.value.code
    text = capsys.readouterr().out
    assert all(command.name in text and command.help in text for command in table.of(verb))


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("sumary", "summary"), ("stroe add", "store"), ("store ad", "add"), ("bundle mkae", "make"),
        ("verify-bundel", "verify-bundle"), ("summary --jsn", "--json"), ("run --rnds", "--rounds"),
        ("advise --for wirte", "write"), ("export junt", "junit"), ("help histroy", "history"),
        ("--hlp", "--help"), ("compare --whre x=y", "--where"),  # before what is missing
    ],
)  # fmt: skip
def test_the_nearest_word_is_named(
    words: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("iogauge: ") and f"did you mean '{meant}'?" in said, said


def test_why_of_a_log_alone_names_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.darshan").touch()
    assert main(["why", str(tmp_path / "a.darshan")]) == 3
    said = capsys.readouterr().err
    assert "a.darshan: no result.json" in said and "iogauge trace" in said


@pytest.mark.parametrize("verb", ["why", "trace"])
def test_a_run_that_is_not_there_is_named(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, str(tmp_path / "none")]) == 3
    assert f"{tmp_path / 'none'}: expected a run" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["zzz", "store zzz", "summary --zzz", "why a b c", "compare a"])
def test_a_wrong_command_line_is_one_error(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    said = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2 and said[0].startswith("iogauge: ") and len(said) == 2
    assert len(said[0]) < 200, "no list of all commands or options"


@pytest.mark.parametrize("old", table.OLD)
def test_an_old_spelling_answers_with_the_new_one(
    old: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    new = table.OLD[old]
    ran = []
    monkeypatch.setattr("iogauge.cli.main.parser_of", lambda command: ran.append(command.name))
    with pytest.raises(AttributeError):  # of the None in place of a parser
        main(old.split())
    assert ran == [new.removesuffix(" --show")]
    assert capsys.readouterr().err == f"iogauge: {old!r} is now {new!r}\n"


def test_a_log_may_be_called_as_a_step_of_replay() -> None:
    """By its path; a bare word is the step."""
    parsed = parser_of(table.BY_NAME["replay"]).parse(["./plan", "--dir", "."])
    assert parsed.trace == Path("plan")
    assert "./plan" in run_analysis("replay", "--help").stdout


@pytest.mark.parametrize("target", ["ab", "certificate", "lock-check", "newer", "site", "tune"])
def test_an_old_target_of_make_names_the_command(target: str) -> None:
    done = subprocess.run(["make", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    command = re.search(rf"^make {target} is now: \.venv/bin/iogauge (.*)$", done.stderr, re.M)
    assert command and command[1].split()[0] in table.VERBS


@pytest.mark.parametrize(
    ("words", "large"),
    [
        ([], {"altair", "duckdb", "jinja2", "numpy", "rich", "yaml"}),
        (["build", "--help"], {"reframe"}), (["stack", "--help"], {"reframe"}),
    ],
)  # fmt: skip
def test_help_loads_no_large_library(words: list[str], large: set[str]) -> None:
    code = (
        "import sys, iogauge.cli.main as a\n"
        f"try: a.main({words})\n"
        "except SystemExit: pass\n"
        f"large = {large}\n"
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
    said = run_analysis("store", "add", "--last", IOGAUGE_OUTPUT=str(output))
    assert said.returncode == 0, said.stderr
    assert (output / "store" / "store.json").exists()
    done = run_analysis("summary", "--csv", IOGAUGE_OUTPUT=str(output))
    assert done.returncode == 0, done.stderr
    assert "s3d,smoke" in done.stdout


@pytest.mark.parametrize("command", ["summary", "run -l", "doctor", "tune", "replay x"])
def test_a_python_without_the_packages_is_one_line(command: str) -> None:
    words = [sys.executable, "-S", "-m", "iogauge", *command.split()]  # -S: none that is installed
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    said = done.stderr
    assert re.fullmatch(r"iogauge: \S+ has no package '\w+': make setup.*\n", said), said


@pytest.mark.parametrize(
    "words",
    ["build mpich", "build mpich -- -DBUILD_TESTING=OFF", "build -- mpich", "run mpich --dry-run",
     "run --dry-run mpich -- -v", "certify mpich"],
)  # fmt: skip
def test_a_stack_without_its_option_is_refused(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A build took it for an argument of CMake, which ignored it: another stack was built."""
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("something was started"))
    try:
        code: object = main(words.split())
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr().err
    assert code == 2 and "'mpich'" in said and "--stack" in said


def test_words_after_two_dashes_reach_their_program() -> None:
    build, run = (table.BY_NAME[name] for name in ("build", "run"))
    args = parser_of(build).parse(["--stack", "mpich", "--", "-D", "A=B", "--", "x"])
    assert (args.stack, args.cmake) == ("mpich", ["-D", "A=B", "--", "x"])
    assert parser_of(run).parse(["-v", "--", "-n", "S3d"]).reframe == ["-n", "S3d"]
    assert parser_of(run).parse([]).reframe == []
