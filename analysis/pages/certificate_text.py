# SPDX-License-Identifier: BSD-3-Clause
"""A certificate in words: a short table for the terminal, and a page of Markdown."""

from __future__ import annotations

import json
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence

from ..judge import known_defects
from ..judge.certificate import (
    BAD,
    CERTIFIED,
    DEFAULT,
    NONE,
    OUTCOMES,
    RIGHT,
    SURE,
    Certificate,
    Fault,
    Stack,
    Tried,
    factors,
)

WIDTH = 116
MOST_CALLS = 3  # that a line names
FAULTS = 5  # of a stack on the page; the document has all

HEAD = """\
# The certificate

<!-- Made by: iogauge certify --show --page FILE -->

Which stacks write right bytes, and with which settings of MPI-IO. Made on {date} from {runs} runs
({seeds}) on one machine: {machine}; file systems: {fs}. How to make one:
docs/how-to/certify-a-stack.md.

A run writes and reads a small case twice, and every byte is compared. `right`: all were as written.
`wrong`: some were not, and the library said nothing. `crash`, `hang` (no progress for 30 s),
`error`: the run failed, and said so. `late`: it moved, but had to be ended after 90 s, and says
nothing. A failing stack is a result, not a failing
test. A setting is *certified* where at least {certified} runs that hold it were made, and all of
them were right. That is no proof: what fails in one run of 20 is missed by {certified} runs with a
chance of {missed:.0f} %.
"""


def short(certificate: Certificate) -> str:
    """A table of stacks, and what was not right."""
    return "\n".join([*_overview(certificate), faults(certificate)])


def faults(certificate: Certificate) -> str:
    """What was not right most often on each stack, each with the command that shows it."""
    lines = [
        f"{stack.name}: {_fault_line(fault)}\n    {fault.smallest.get('command', '')}"
        for stack in certificate.stacks
        for fault in stack.faults[:MOST_CALLS]
    ]
    return "\n".join(lines)


def _overview(certificate: Certificate) -> list[str]:
    columns = ("stack", "MPI", "runs", *OUTCOMES, "safe setting")
    return _table(columns, map(_row, certificate.stacks))


def page(certificate: Certificate) -> str:
    """The whole page, with each stack and what was not right."""
    runs = sum(stack.runs for stack in certificate.stacks)
    fs = ", ".join(f"{name} ({kind})" for name, kind in certificate.fs.items())
    seeds = "seeds " * (len(certificate.seeds) > 1) or "seed "
    seeds += ", ".join(map(str, certificate.seeds))
    head = HEAD.format(
        date=certificate.date, seeds=seeds, runs=f"{runs:,}",
        machine=certificate.machine, fs=fs, certified=CERTIFIED, missed=100 * 0.95**CERTIFIED,
    )  # fmt: skip
    parts = [head, "\n".join(_overview(certificate)), "\n".join(_reports(certificate))]
    parts += ["\n".join(_section(stack)) for stack in certificate.stacks]
    blocks = ("\n\n".join(part.strip("\n") for part in parts) + "\n").split("```")
    blocks[::2] = ["\n".join(map(_wrap, block.split("\n"))) for block in blocks[::2]]  # no commands
    return "```".join(blocks)


def _wrap(line: str) -> str:
    indent = "  " if line.startswith("- ") else ""
    whole = line.startswith("|") or len(line) <= WIDTH
    return (
        line
        if whole
        else textwrap.fill(
            line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    )


def _row(stack: Stack) -> Sequence[object]:
    counts = (stack.outcomes[kind] for kind in OUTCOMES)
    return (
        f"`{stack.name}`",
        _version(stack),
        stack.runs,
        *counts,
        f"`{stack.safe}`" if stack.safe else "none",
    )


def _version(stack: Stack) -> str:
    """As short as people say it: `MPICH 4.2.1`."""
    return " ".join(stack.versions.get("mpi", "?").replace(" Version:", "").split())


def _table(columns: Iterable[str], rows: Iterable[Sequence[object]]) -> list[str]:
    names = list(columns)
    lines = ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]


def _reports(certificate: Certificate) -> list[str]:
    lines = ["## What upstream was told", ""]
    for report in known_defects.REPORTS:
        concerned = [
            one for one in certificate.stacks if report.concerns(one.versions.get("mpi", ""))
        ]
        others = [
            one
            for one in certificate.stacks
            if one not in concerned and one.versions.get("mpi", "").startswith(report.library)
        ]
        here = (
            f" Here, of versions that have it: {_seen(report, concerned)}; of others: "
            f"{_seen(report, others)}."
        )
        tried = f" {report.tried}." if report.tried else ""
        said = f"**{report.where}**: {report.says}." + here * bool(report.kind) + tried
        lines.append(f"- {said}")
    return lines


def _seen(report: known_defects.Report, stacks: Sequence[Stack]) -> str:
    said = []
    for one in stacks:
        seen = report.seen(one)
        if not seen.runs:
            continue  # its library was built without that MPI-IO
        often = f"{seen.bad} of {seen.runs}" + _again(seen)
        said.append(f"{_version(one)} ({one.name}) {report.kind} in {often}")
    return ", ".join(said) or "no stack"


def _fault_line(fault: Fault) -> str:
    often = f"{fault.bad} of {fault.runs} runs" + _again(fault)
    return f"{fault.kind} with {fault.setting} in {often}; {_instead(fault)}"


def _again(one: Fault | known_defects.Seen) -> str:
    return f" (the same case again: {one.again_bad} of {one.again})" if one.again else ""


def _instead(fault: Fault) -> str:
    if fault.setting == NONE:
        return "no setting of MPI-IO is of account"
    if not fault.instead:
        return "no setting was always right with the same methods"
    said = f"right with {fault.instead} in {fault.instead_runs} of {fault.instead_runs}"
    if fault.chance is None or fault.chance > SURE:
        chance = "?" if fault.chance is None else f"{100 * fault.chance:.0f} %"
        said += f", which does not decide it (by chance: {chance})"
    return said


def _section(stack: Stack) -> list[str]:
    libraries = ", ".join(f"{name} {version}" for name, version in stack.versions.items())
    said = (
        f"{libraries}. {stack.calls_tried} of {stack.calls} combinations of pattern, "
        f"method and mode and {stack.settings_tried} of {stack.settings} settings were tried, on "
        f"1 to {stack.most_processes} processes: {stack.limit}."
    )
    lines = [f"## {stack.name}", "", said, ""]
    lines += [_verdict(stack), "", *_hints(stack), *_tried(stack)]
    if stack.faults:
        lines += ["", "What was not right:", ""]
    alike = defaultdict(list)
    for fault in stack.faults:
        alike[_cause(fault)].append(fault)
    for group in list(alike.values())[:FAULTS]:
        lines += _fault(group[0])
        if len(group) > 1:
            more = f"The same with {len(group) - 1} more settings that were tried: "
            lines += [more + ", ".join(one.setting for one in group[1:]) + ".", ""]
    if len(alike) > FAULTS:
        lines += ["", f"{len(alike) - FAULTS} more kinds are in the certificate itself."]
    return lines


def _cause(fault: Fault) -> tuple[object, ...]:
    """Failures of one kind, in one MPI-IO, by the same method and mode are told together."""
    ways = frozenset(call.partition(" ")[2] for call in fault.calls)
    return fault.kind, factors(fault.setting).get("io"), ways


def _verdict(stack: Stack) -> str:
    if stack.right:
        return f"**Right in all {stack.outcomes[RIGHT]} runs that ended.**"
    counts = ", ".join(f"{stack.outcomes[kind]} {kind}" for kind in BAD if stack.outcomes[kind])
    of = f"**Not right: {counts} of {stack.runs} runs.**"
    if stack.safe == DEFAULT:
        return f"{of} The default is certified; others are not."
    if stack.safe:
        return (
            f"{of} Use `{stack.safe}`, which was right in all runs that hold it. In a site's file:"
        )
    return f"{of} No setting is certified."


def _hints(stack: Stack) -> list[str]:
    """As docs/reference/site-file.md has them."""
    if not stack.safe or stack.right or stack.safe == DEFAULT:
        return []
    lines = ["```"]
    if stack.hints:
        lines.append(f'"hints": {json.dumps(stack.hints)}')
    if stack.variables:
        lines.append(f'"env_vars": {json.dumps([list(one) for one in stack.variables.items()])}')
    return [*lines, "```", ""]


def _tried(stack: Stack) -> list[str]:
    """The settings of no or one factor, and of two where there is another MPI-IO."""
    rows = [one for one in stack.tried if len(factors(one.setting).keys() - {"io"}) < 2]
    return _table(("with", "runs", "not right", "certified"), map(_tried_row, rows))


def _tried_row(one: Tried) -> Sequence[object]:
    name = "no MPI-IO" if one.setting == NONE else f"`{one.setting}`"
    lacks = f"{CERTIFIED - one.runs} more runs" if not one.bad else "no"
    return name, one.runs, one.bad, "yes" if one.certified else lacks


def _fault(fault: Fault) -> list[str]:
    row = fault.smallest
    more = len(fault.calls) - MOST_CALLS
    calls = ", ".join(fault.calls[:MOST_CALLS]) + (f" and {more} more" if more > 0 else "")
    line = _fault_line(fault).removeprefix(fault.kind)
    smallest = (
        f"**{fault.kind.capitalize()}**{line}. Seen in: {calls}. Smallest: {row['pattern']} "
        f"{row['options']}, {row['processes']} processes, {row['fs']}: {row.get('says', '')}"
    )
    return [smallest, "", "```", str(row.get("command", "")), "```", ""]
