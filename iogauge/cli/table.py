# SPDX-License-Identifier: BSD-3-Clause
"""All commands of `iogauge`, and what they were called before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from iogauge.common.text import nearest


class Command(NamedTuple):
    """`module` has `add_arguments(parser)`, `run(args)` and the text EXAMPLES; as MODULE:PART, it
    has `add_PART` and `run_PART`. It is imported only when the command is asked for."""

    name: str
    group: str
    help: str
    module: str
    in_checkout: bool = False  # it takes Debian's stacks, or what a checkout sets up


MEASURE, READ, PROGRAM, CENTRE = "measure", "read", "your program", "a centre"

COMMANDS = (
    Command("run", MEASURE, "measure and verify", "run"),
    Command("collect", MEASURE, "import results of scripts", "run:collect"),
    Command("tune", MEASURE, "find the fastest settings", "tune", True),
    Command("certify", MEASURE, "which stacks corrupt data", "certify"),
    Command("claims", MEASURE, "test published claims", "claims"),
    Command("summary", READ, "last session as a table", "summary"),
    Command("report", READ, "last session as a page", "report"),
    Command("compare", READ, "is B faster than A?", "compare"),
    Command("history", READ, "performance over time", "history"),
    Command("advise", READ, "fastest settings so far", "advise"),
    Command("trace", READ, "charts of a run's I/O", "trace"),
    Command("why", READ, "what slowed a run down", "why"),
    Command("blame", READ, "conflicting accesses", "blame"),
    Command("replay", PROGRAM, "replay a traced program", "replay"),
    Command("replay plan", PROGRAM, "schedule a trace for iokernel replay", "replay_steps:plan"),
    Command("replay check", PROGRAM, "compare a replay with its log", "replay_steps:check"),
    Command("replay like", PROGRAM, "describe a file for iokernel file", "replay_steps:like"),
    Command("shrink", PROGRAM, "reduce a failing run", "shrink", True),
    Command("doctor", CENTRE, "check what this machine has and lacks", "doctor"),
    Command("site new", CENTRE, "generate a site file from this machine", "site:new"),
    Command("site check", CENTRE, "check a site file", "site:check"),
    Command("site list", CENTRE, "list site files", "site:list"),
    Command("stack list", CENTRE, "list library stacks", "stack:list"),
    Command("stack add", CENTRE, "install a Debian release or an MPI wheel", "stack:add", True),
    Command("stack check", CENTRE, "check every spack.yaml", "stack:check", True),
    Command("build", CENTRE, "build iokernel, or install it with --prefix", "build"),
    Command("expect learn", CENTRE, "learn references from a system's history", "expect_learn"),
    Command("expect accept", CENTRE, "accept a change of performance", "expect:accept"),
    Command("expect list", CENTRE, "list accepted changes", "expect:list"),
    Command("expect remove", CENTRE, "remove an accepted change", "expect:remove"),
    Command("check", CENTRE, "does a session meet an acceptance.yaml?", "check"),
    Command("bundle make", CENTRE, "pack a session, its raw data and its verdicts", "bundle:make"),
    Command("bundle verify", CENTRE, "verify a bundle by recomputing it", "bundle:verify"),
    Command("export", CENTRE, "Prometheus metrics, JUnit XML, a Perfetto timeline", "export"),
    Command("store add", CENTRE, "put sessions into the store", "store:add"),
    Command("store recover", CENTRE, "recover killed sessions", "store:recover"),
    Command("store path", CENTRE, "print the path of the store", "store:path"),
)  # fmt: skip

# What a verb with sub-verbs is for, where the verb alone is no command.
NESTED = {
    "site": "descriptions of machines",
    "stack": "library stacks of this machine",
    "expect": "expected performance of a system",
    "bundle": "a session in one verifiable file",
    "store": "the store of all sessions",
}

# Spellings of 0.2, which answer until 0.4.
OLD = {
    "accept": "check",
    "baseline list": "expect list",
    "baseline remove": "expect remove",
    "baseline set": "expect accept",
    "bundle": "bundle make",
    "certificate": "certify --show",
    "found": "summary",
    "ingest": "store add",
    "learn": "expect learn",
    "plan-like": "replay like",
    "plan-replay": "replay plan",
    "recover": "store recover",
    "replay-check": "replay check",
    "verify-bundle": "bundle verify",
}

BY_NAME = {command.name: command for command in COMMANDS}
HELP = ("-h", "--help")
VERBS = list(dict.fromkeys(command.name.split()[0] for command in COMMANDS))


def of(verb: str) -> list[Command]:
    """The commands of a verb: one, or those of its sub-verbs too."""
    return [command for command in COMMANDS if command.name.split()[0] == verb]


def renamed(words: Sequence[str]) -> tuple[str, str] | None:
    """The old spelling that `words` begin with, and the new one."""
    pair, verb = " ".join(words[:2]), words[0]
    old = pair if pair in OLD else verb
    if old not in OLD or pair in BY_NAME:
        return None
    if verb in VERBS and len(words) > 1:  # was a command, and now has sub-verbs
        subs = [command.name.partition(" ")[2] for command in of(verb)]
        if words[1] in HELP or nearest(words[1], subs):
            return None
    return old, OLD[old]


def screen(usage: str) -> str:
    """All verbs, on one screen of 80 columns and 24 lines."""
    left = [*_lines(MEASURE), *_lines(PROGRAM)]
    beside = _beside(left, _lines(READ))
    return "\n".join([usage, "", *beside, "", *_lines(CENTRE)])


def _lines(group: str) -> list[str]:
    verbs = dict.fromkeys(c.name.split()[0] for c in COMMANDS if c.group == group)
    return [group, *(f"  {verb:<8} {_about(verb)}" for verb in verbs)]


def _about(verb: str) -> str:
    more = [command.name.split()[1] for command in of(verb) if " " in command.name]
    if verb in BY_NAME:
        return BY_NAME[verb].help
    return f"{', '.join(more)}: {NESTED[verb]}"


def _beside(left: Sequence[str], right: Iterable[str]) -> list[str]:
    rows = list(right)
    pad = max(len(left), len(rows))
    both = zip([*left, *[""] * (pad - len(left))], [*rows, *[""] * (pad - len(rows))], strict=True)
    return [f"{a:<39} {b}".rstrip() for a, b in both]
