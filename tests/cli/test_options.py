# SPDX-License-Identifier: BSD-3-Clause
"""Options: each that a command reads is there, each that is there is read, and the default that its
help states is the one in force."""

from __future__ import annotations

import argparse
import ast
import contextlib
import inspect
import itertools
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from reframe.frontend import cli as reframe_cli

from iogauge import cli
from iogauge.analysis.judge import selection
from iogauge.analysis.store.database import Where
from iogauge.cli import compare, run, table
from iogauge.cli.main import _find, main, parser_of
from iogauge.common import tables

MODULES: dict[str, list[table.Command]] = defaultdict(list)
for one in table.COMMANDS:
    MODULES[one.module.partition(":")[0]].append(one)
TREES = {path.stem: ast.parse(path.read_text()) for path in Path(cli.__path__[0]).glob("*.py")}


def actions(command: table.Command) -> list[argparse.Action]:
    found = parser_of(command)._actions
    return [action for action in found if not isinstance(action, argparse._HelpAction)]


def read_in(tree: ast.AST) -> set[str]:
    """The names NAME of `args.NAME`."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "args"
        and isinstance(node.ctx, ast.Load)
    }


@pytest.mark.parametrize("module", sorted(MODULES))
def test_what_a_command_reads_is_an_option(module: str) -> None:
    there = {action.dest for command in MODULES[module] for action in actions(command)}
    assert read_in(TREES[module]) - there - {"run"} == set()


@pytest.mark.parametrize("command", table.COMMANDS, ids=lambda command: command.name)
def test_each_option_is_read(command: table.Command) -> None:
    """Somewhere in the command line, by its name: as an attribute or a text."""
    names = set()
    for tree in TREES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                names.add(node.attr)
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value)
    assert {action.dest for action in actions(command)} - names == set()


def differs(action: argparse.Action) -> bool:
    """A number must be in the help; a word, if the help names a default."""
    default: Any = action.default
    text = (action.help or "") % vars(action)
    if isinstance(default, int | float) and not isinstance(default, bool):
        said = re.findall(r"([\d.]+)(%?)", text)
        return default not in [float(number) / (100 if part else 1) for number, part in said]
    named = re.search(r"\(default: ([^);]*)[);]", text)
    if not default or not named or isinstance(default, Path) or default == argparse.SUPPRESS:
        return False
    words = default[0] if isinstance(default[0], list) else default
    return named[1] != (words if isinstance(words, str) else ",".join(words))


@pytest.mark.parametrize("command", table.COMMANDS, ids=lambda command: command.name)
def test_the_default_is_what_the_help_says(command: table.Command) -> None:
    wrong = [
        (one.option_strings, one.default, one.help) for one in actions(command) if differs(one)
    ]
    assert wrong == []


def valid(action: argparse.Action, number: int) -> str:
    """A word that the action takes; of several arguments, each has its own."""
    if action.choices:
        return str(next(iter(action.choices)))
    of: Any = action.type or str
    for word in (f"{number}", f"0.{number}", f"a{number}=b"):
        with contextlib.suppress(argparse.ArgumentTypeError, ValueError):
            of(word)
            return word
    raise AssertionError(action)


def given(action: argparse.Action) -> list[str]:
    """An option with its value."""
    return [action.option_strings[0], *([] if action.nargs == 0 else [valid(action, 1)])]


@pytest.mark.parametrize("command", table.COMMANDS, ids=lambda command: command.name)
def test_options_stand_before_between_or_behind_the_arguments(command: table.Command) -> None:
    """And `--` before an argument changes nothing. What is behind the `--` of another program's
    words (`iogauge run -- WORD`) is tested below."""
    own = actions(command)
    options = [one for one in own if one.option_strings]
    arguments = [
        one for one in own if not one.option_strings and not str(one.metavar).startswith("-- ")
    ]
    words = [
        valid(one, 2 + number)
        for number, one in enumerate(
            itertools.chain(*([one] * (3 if one.nargs in ("+", "*") else 1) for one in arguments))
        )
    ]
    # Such an option would take the argument behind it.
    assert not words or not any(one.nargs in ("?", "+", "*") for one in options)
    needed = [word for one in options if one.required for word in given(one)]
    for option in options:
        more = given(option) if not option.required else []
        first = parser_of(command).parse([*needed, *more, *words])
        for i in range(len(words) + 1):
            for line in (
                [*needed, *words[:i], *more, *words[i:]],
                [*words[:i], *needed, *words[i:], *more],
                [*words[:i], *needed, *more, *(["--"] if i < len(words) else []), *words[i:]],
            ):
                assert parser_of(command).parse(line) == first, line


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            "run -v -- -n X --scale laptop -v",
            {"verbose": True, "reframe": "-n X --scale laptop -v"},
        ),
        ("run -- -- -n", {"reframe": "-- -n"}),
        ("build --stack a -- -D A=B --help", {"cmake": "-D A=B --help"}),
        ("shrink -n 2 -- s3d --steps 2 -n 7", {"n": 2, "case": "s3d --steps 2 -n 7"}),
        ("shrink run -n 2", {"n": 2, "case": "run"}),
        ("check -- -odd.json", {"file": "-odd.json"}),
        ("export timeline --to a -- -b", {"form": "timeline", "report": "-b"}),
    ],
)
def test_words_behind_two_dashes_are_no_options(line: str, found: dict[str, Any]) -> None:
    command, words = _find(line.split())
    args = vars(parser_of(command).parse(words))
    for name, value in found.items():
        text = " ".join(args[name]) if isinstance(args[name], list) else args[name]
        assert (text if isinstance(value, bool | int) else str(text)) == value


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "export timline --to a b",
            "argument form: 'timline' is unknown; did you mean 'timeline'?",
        ),
        ("export timeline --ti a b", "option '--ti' is unknown; did you mean '--to'?"),
        ("export timeline --to a b c", "unexpected word 'c'"),
        ("export timeline b -Z", "unknown option '-Z'"),
        ("export --to a", "the following arguments are required: form"),
        ("export timeline b --to", "argument --to: expected one argument"),
        ("run word -v", "unexpected word 'word'; to name a stack: --stack word"),
        ("replay --dir a b plan", "unexpected word 'plan'"),
    ],
)
def test_a_wrong_word_is_named_wherever_it_stands(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(line.split())
    assert capsys.readouterr().err.startswith(f"iogauge: {said}")


@pytest.mark.parametrize("line", ["export a --help", "export --help", "export junit b --to a -h"])
def test_help_names_the_arguments_wherever_it_stands(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(line.split())
    usage = capsys.readouterr().out.partition("\n\n")[0]
    assert end.value.code == 0
    assert usage.startswith("usage: iogauge export [-h]") and "[REPORT|RUN]" in usage


# What a command cannot choose for its user; all else has a default.
REQUIRED = {
    "advise": {"--pattern", "--system"},
    "replay": {"--dir"},
    "replay like": {"-o", "--out"},
    "replay plan": {"-o", "--out"},
}


@pytest.mark.parametrize("command", table.COMMANDS, ids=lambda command: command.name)
def test_options_that_must_be_given(command: table.Command) -> None:
    found = [one.option_strings for one in actions(command) if one.required and one.option_strings]
    assert {name for names in found for name in names} == REQUIRED.get(command.name, set())


def test_each_row_of_options_is_of_an_option() -> None:
    own, shared = set(), set()
    for command in table.COMMANDS:
        for one in actions(command):
            name = (one.option_strings or [one.dest])[0]
            own.add((command.name, name))
            shared.add(("", name))
    assert set(table._OPTIONS) - own - shared == set()


def test_each_option_has_help() -> None:
    """Only what is named by its usage line alone has no words."""
    for command in table.COMMANDS:
        for one in actions(command):
            if one.dest not in ("bundle", "form"):
                assert one.help, (command.name, one.dest)


@pytest.mark.parametrize(
    ("command", "option", "words"),
    [
        ("compare", "by", selection.COMPARABLE),
        ("compare", "b", compare.SPECIAL),
        ("advise", "kind", [f"{kind}: {text}" for kind, text in tables.KINDS.items()]),
    ],
)
def test_help_lists_all_of_a_kind(command: str, option: str, words: Iterable[str]) -> None:
    (action,) = (one for one in actions(table.BY_NAME[command]) if one.dest == option)
    assert ", ".join(words) in str(action.help)


EXAMPLES = [
    line.strip()
    for path in sorted(table.HELP_TEXTS.glob("*.txt"))
    for line in re.sub(r"\\\n *", "", path.read_text()).splitlines()
    if line.startswith("  iogauge ")
]


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_of_the_help_is_taken(line: str) -> None:
    """Its options are there, and its conditions mean what they say."""
    command = re.split(r" {2,}| [|>] ", line)[0]
    found, words = _find(shlex.split(command)[1:])
    args = parser_of(found).parse(words)
    Where.parse(getattr(args, "where", None) or [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fs", "ram,dsk"], "--fs 'dsk' is unknown; did you mean 'disk'?"),
        (["--scale", "smoke,laptp"], "--scale 'laptp' is unknown; did you mean 'laptop'?"),
        (["--site", "slurm_lustre", "--stack", "x"], "--stack 'x' is unknown; use one of default"),
        (["-S", "repeats"], "argument -S: 'repeats': expected NAME=VALUE"),
    ],
)
def test_a_run_of_what_is_not_there_is_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """ReFrame would run the rest, or all, without a word."""
    try:
        status = main(["run", *words, "--dry-run"])
    except SystemExit as end:
        status = int(end.code or 0)
    assert status == 2
    assert capsys.readouterr().err.startswith(f"iogauge: {said}\n")


def test_no_action_of_reframe_but_a_run_waits_for_another_session() -> None:
    """Each that ReFrame has, and no other option of it."""
    source = inspect.getsource(reframe_cli)
    given = re.findall(r"(\w+)\.add_argument\(\s*(.*?)(?=\w+=)", source, re.S)
    names = [(group, name) for group, text in given for name in re.findall(r"'(-[^']+)'", text)]
    starts = {name for group, name in names if group == "action_options"} - {"-r", "--run"}
    assert {"-l", "--ci-generate", "--show-config"} < starts
    assert {name for _, name in names if name.startswith(run.NO_RUN)} == starts
