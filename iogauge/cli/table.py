# SPDX-License-Identifier: BSD-3-Clause
"""All commands of `iogauge`, and their former names."""

import csv
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from iogauge.common.text import nearest

HELP_TEXTS = Path(__file__).parent / "help"


class Command(NamedTuple):
    """A row of help/commands.csv. `module` has `add_arguments(parser)` and `run(args)`; as
    MODULE:PART, it has `add_PART` and `run_PART`. It is imported when the command is asked for.
    What help says of the options is in help/options.csv."""

    name: str
    group: str
    help: str
    module: str
    in_checkout: bool = False  # needs Debian's stacks or the set-up of a checkout

    def examples(self) -> str:
        """The end of its help: its file in help/, else its verb's."""
        own = HELP_TEXTS / f"{self.name.replace(' ', '-')}.txt"
        file = own if own.exists() else HELP_TEXTS / f"{self.name.split()[0]}.txt"
        return file.read_text(encoding="utf-8")


def _rows(name: str) -> list[dict[str, Any]]:
    return list(csv.DictReader((HELP_TEXTS / name).read_text(encoding="utf-8").splitlines()))


MEASURE, READ, PROGRAM, CENTRE = "measure", "read", "your program", "a centre"

_ROWS = [
    Command(**{**row, "in_checkout": bool(row["in_checkout"])}) for row in _rows("commands.csv")
]
COMMANDS = tuple(row for row in _ROWS if row.module)
# Purpose of verbs that are not commands without a sub-command.
NESTED = {row.name: row.help for row in _ROWS if not row.module}

# Spellings of 0.2, which answer until 0.4.
OLD = {row["old"]: row["new"] for row in _rows("renamed.csv")}

BY_NAME = {command.name: command for command in COMMANDS}
HELP = ("-h", "--help")
# Rows by command and option. Those without a command belong to all commands.
_OPTIONS = {(row["command"], row["option"]): row for row in _rows("options.csv")}
VERBS = list(dict.fromkeys(command.name.split()[0] for command in COMMANDS))


def of(verb: str) -> list[Command]:
    return [command for command in COMMANDS if command.name.split()[0] == verb]


def option(command: Command, name: str) -> dict[str, Any]:
    """The option's row of help/options.csv; empty for `--help`."""
    return _OPTIONS.get((command.name, name)) or _OPTIONS.get(("", name)) or {}


def renamed(words: Sequence[str]) -> tuple[str, str] | None:
    """The old spelling that `words` begin with, and the new one."""
    pair, verb = " ".join(words[:2]), words[0]
    old = pair if pair in OLD else verb
    if old not in OLD or pair in BY_NAME:
        return None
    if verb in VERBS and len(words) > 1:  # formerly a command, now with sub-commands
        subs = [command.name.partition(" ")[2] for command in of(verb)]
        if words[1] in HELP or nearest(words[1], subs):
            return None
    return old, OLD[old]


def screen(usage: str) -> str:
    """All verbs, on one screen of 80 columns and 24 lines."""
    left = [*_lines(MEASURE), *_lines(PROGRAM)]
    both = itertools.zip_longest(left, _lines(READ), fillvalue="")
    beside = [f"{a:<39} {b}".rstrip() for a, b in both]
    return "\n".join([usage, "", *beside, "", *_lines(CENTRE)])


def _lines(group: str) -> list[str]:
    verbs = dict.fromkeys(c.name.split()[0] for c in COMMANDS if c.group == group)
    return [group, *(f"  {verb:<8} {_about(verb)}" for verb in verbs)]


def _about(verb: str) -> str:
    more = [command.name.split()[1] for command in of(verb) if " " in command.name]
    if verb in BY_NAME:
        return BY_NAME[verb].help
    return f"{', '.join(more)}: {NESTED[verb]}"
