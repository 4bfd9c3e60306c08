# SPDX-License-Identifier: BSD-3-Clause
"""A certificate as text: a short table for the terminal, and a page of Markdown."""

import json
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ..judge import known_defects
from ..judge.certificate import (
    BAD,
    CERTIFIED,
    NONE,
    OUTCOMES,
    SURE,
    Certificate,
    Fault,
    StackRuns,
    factors,
)
from .page import load_template

WIDTH = 116
MOST_CALLS = 3  # named in a line
FAULTS = 5  # printed for a stack on the page; the document has all


def short(certificate: Certificate) -> str:
    return "\n".join([*_overview(certificate), faults(certificate)])


def faults(certificate: Certificate) -> str:
    return "\n".join(
        f"{stack.name}: {_fault_line(fault)}\n    {fault.smallest.get('command', '')}"
        for stack in certificate.stacks
        for fault in stack.faults[:MOST_CALLS]
    )


def _overview(certificate: Certificate) -> list[str]:
    names = ("stack", "MPI", "runs", *OUTCOMES, "safe setting")
    rows = [names, ["---"] * len(names), *map(_row, certificate.stacks)]
    return [f"| {' | '.join(map(str, row))} |" for row in rows]


def page(certificate: Certificate) -> str:
    text = load_template("certificate.md.j2").render(
        certificate=certificate,
        overview=_overview(certificate),
        reports=list(_reports(certificate)),
        certified=CERTIFIED,
        bad=BAD,
        json=json.dumps,
        # Those that vary at most one factor, or two with the MPI-IO implementation.
        simple=lambda tried: [o for o in tried if len(factors(o.setting).keys() - {"io"}) < 2],
        alike=_alike,
        line=lambda fault: _fault_line(fault).removeprefix(fault.kind),
        most=MOST_CALLS,
        shown=FAULTS,
    )
    blocks = text.split("```")
    blocks[::2] = ["\n".join(map(_wrap, block.split("\n"))) for block in blocks[::2]]  # no commands
    return "```".join(blocks)


def _wrap(line: str) -> str:
    if line.startswith("|") or len(line) <= WIDTH:
        return line
    indent = "  " if line.startswith("- ") else ""
    return textwrap.fill(
        line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _row(stack: StackRuns) -> Sequence[object]:
    counts = (stack.outcomes[kind] for kind in OUTCOMES)
    return (
        f"`{stack.name}`",
        version(stack),
        stack.runs,
        *counts,
        f"`{stack.safe}`" if stack.safe else "none",
    )


def version(stack: StackRuns) -> str:
    """The short form: `MPICH 4.2.1`."""
    return " ".join(stack.versions.get("mpi", "?").replace(" Version:", "").split())


def _reports(certificate: Certificate) -> Iterator[tuple[known_defects.Report, str, str]]:
    """Each with the versions that it was seen in, and those that lack it."""
    for report in known_defects.reports():
        versions = {one.name: one.versions.get("mpi", "") for one in certificate.stacks}
        of = [one for one in certificate.stacks if versions[one.name].startswith(report.library)]
        concerned = [one for one in certificate.stacks if report.concerns(versions[one.name])]
        others = [one for one in of if one not in concerned]
        yield report, _seen(report, concerned), _seen(report, others)


def _seen(report: known_defects.Report, stacks: Sequence[StackRuns]) -> str:
    reports = []
    for one in stacks:
        seen = report.seen(one)
        if not seen.runs:
            continue  # its library was built without that MPI-IO
        often = f"{seen.bad} of {seen.runs}" + _again(seen)
        reports.append(f"{version(one)} ({one.name}) {report.kind} in {often}")
    return ", ".join(reports) or "no stack"


def _fault_line(fault: Fault) -> str:
    often = f"{fault.bad} of {fault.runs} runs" + _again(fault)
    return f"{fault.kind} with {fault.setting} in {often}; {_instead(fault)}"


def _again(one: Fault | known_defects.Seen) -> str:
    return f" (the same case again: {one.again_bad} of {one.again})" if one.again else ""


def _instead(fault: Fault) -> str:
    if fault.setting == NONE:
        return "it does not use MPI-IO, so no setting helps"
    if not fault.instead:
        return "no setting was always right with the same methods"
    text = f"right with {fault.instead} in {fault.instead_runs} of {fault.instead_runs}"
    if fault.chance is None or fault.chance > SURE:
        chance = "?" if fault.chance is None else f"{100 * fault.chance:.0f} %"
        text += f", which does not decide it (by chance: {chance})"
    return text


def _alike(faults: Sequence[Fault]) -> list[list[Fault]]:
    found = defaultdict(list)
    for fault in faults:
        calls = frozenset(call.partition(" ")[2] for call in fault.calls)
        found[fault.kind, factors(fault.setting).get("io"), calls].append(fault)
    return list(found.values())
