# SPDX-License-Identifier: BSD-3-Clause
"""Every option of the help that takes a value: a wrong one is refused, by the option's name and
what was given; and the default is what the help says. Without a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from iokernel_stacks import Stack

OPTION = re.compile(r"^  (-{1,2}[\w-]+) (\S+) +(\S.*)$")
# What none of a kind can be. Of other kinds, anything may be meant.
NUMBERS, WORDS = ["-1"], ["bogus"]
GRIDS = ["0x1x1"]
WRONG = {
    "N": NUMBERS, "SIZE": NUMBERS, "S": NUMBERS, "X": NUMBERS, "T": NUMBERS, "NXxNYxNZ": GRIDS,
    "PXxPYxPZ": GRIDS, "XxYxZ": GRIDS, "RxAxB": GRIDS, "L": WORDS, "V": WORDS, "TYPE": WORDS,
    "NAME": WORDS, "API": WORDS, "HOW": WORDS, "B": WORDS, "F": WORDS, "K=V": WORDS,
}  # fmt: skip
NEEDS = {"--ceiling-seconds": ["--ceilings"]}
# Of these, -1 is a number like others: a word is none.
SIGNED = ("--seed", "-G")


class Option(NamedTuple):
    words: list[str]  # of a command line that has it
    name: str
    value: str
    says: str


def options(help_text: str) -> Iterator[Option]:
    words = ["ior", "--method", "posix"]
    for line in help_text.splitlines():
        if pattern := re.match(r"([a-z0-9-]+): ", line):
            words = [pattern[1], "--method", "null"]
        elif method := re.match(r"Options of method (\S+):", line):
            words = ["ior", "--method", method[1]]
        elif line == "Options:":
            words = ["ior", "--method", "posix"]
        elif found := OPTION.match(line):
            yield Option(words, *found.groups())


def plan(stack: Stack, *words: str) -> Any:
    return stack.alone(*words, "--plan", "--procs", "8", "--json", "-")


def test_a_wrong_value_is_refused_by_name(openmpi: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_MCA_ess_singleton_isolated", "1")  # no daemon, which takes a second
    met, wrong = 0, {}
    for one in options(openmpi.alone("--help").stdout):
        for value in WRONG.get(one.value, []):
            value = "x" if one.name in SIGNED else value
            met += 1
            more = NEEDS.get(one.name, [])
            done = plan(openmpi, *one.words, *more, one.name, value)
            lines = re.findall(r"^iokernel: error: (.*)$", done.stderr, re.MULTILINE)
            named = len(lines) == 1 and f"{one.name} {value}" in lines[0]
            if done.returncode != 2 or not named:
                wrong[" ".join([*one.words[::2], one.name, value])] = lines
    assert met > 40
    assert not wrong


def test_the_default_is_what_the_help_says(openmpi: Stack) -> None:
    """Given or not, the plan is the same."""
    met = 0
    for one in options(openmpi.alone("--help").stdout):
        stated = re.search(r"(\S+) \(default\)|\(default ([\w.]+)\)", one.says)
        mine = "null" in one.words and one.words[0] != "replay"  # whose plan needs a schedule
        if not stated or not mine or one.value in ("FILE", "API"):
            continue
        default = (stated[1] or stated[2]).strip(",:")
        without, given = (plan(openmpi, *one.words, *m) for m in ([], [one.name, default]))
        met += 1
        assert given.returncode == 0 and without.returncode == 0, (one, given.stderr)
        assert json.loads(given.stdout) == json.loads(without.stdout), one
    assert met > 12
