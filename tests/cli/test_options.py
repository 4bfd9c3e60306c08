# SPDX-License-Identifier: BSD-3-Clause
"""Options: each that a command reads is there, each that is there is read, and the default that its
help states is the one in force."""

from __future__ import annotations

import argparse
import ast
import inspect
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
        ("compare", "by", selection.WAYS),
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
