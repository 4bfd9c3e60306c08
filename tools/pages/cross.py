# SPDX-License-Identifier: BSD-3-Clause
"""The table of docs/reference/patterns-and-methods.md: which method holds which pattern.

The column of a method that the program lacks stays as the page has it: ADIOS2 is of newer releases
only.
"""

import re
from typing import Any

from iogauge.measure import kernels
from iogauge.measure.iokernel import Stack

from .experiments import CannotMake, put, split

NAME = "patterns and methods"
STACK = "openmpi"


def page_of_tests(old: str) -> str:
    program = kernels.build_for_tests(STACK) / "iokernel"
    return page(old, Stack.of(kernels.environ(STACK), program).listing())


def page(old: str, listed: dict[str, Any]) -> str:
    """`old` with the table of what `iokernel --list --json -` says."""
    return put(old, NAME, table(completed(listed, old)))


def columns(old: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What the page's table says of each pattern and method: `ok`, and `reason` where it is not."""
    lines = split(old, NAME)[1].strip().splitlines()
    reasons = dict(line.split(". ", 1) for line in lines if re.match(r"\d+\. ", line))
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    cells = {}
    for row in rows[2:]:
        for method, cell in zip(rows[0][1:], row[1:], strict=True):
            number = cell.removeprefix("no (").removesuffix(")")
            cells[row[0], method] = {"ok": cell == "yes", "reason": reasons.get(number)}
    return cells


def completed(found: dict[str, Any], old: str) -> dict[str, Any]:
    """With the pairs of the methods that the program lacks, as the page has them."""
    there = columns(old)
    more = []
    for method in (m for m in found["methods"] if not m["available"]):
        for pattern in (entry["name"] for entry in found["patterns"]):
            if (pattern, method["name"]) not in there:
                raise CannotMake(
                    f"{method['reason']}, and the page has no column {method['name']} for "
                    f"{pattern}; build one with that library"
                )
            pair = there[pattern, method["name"]]
            more.append({"pattern": pattern, "method": method["name"], **pair})
    return {**found, "cross": [*found["cross"], *more]}


def table(found: dict[str, Any]) -> str:
    """Rows are patterns, columns methods; a number stands where the two do not go together, and the
    reason below."""
    methods = [method["name"] for method in found["methods"]]
    cells = {(pair["pattern"], pair["method"]): pair for pair in found["cross"]}
    reasons: list[str] = []

    def cell(pattern: str, method: str) -> str:
        pair = cells[pattern, method]
        if pair["ok"]:
            return "yes"
        if pair["reason"] not in reasons:
            reasons.append(pair["reason"])
        return f"no ({reasons.index(pair['reason']) + 1})"

    lines = [f"| pattern | {' | '.join(methods)} |", f"| --- |{' --- |' * len(methods)}"]
    for pattern in (entry["name"] for entry in found["patterns"]):
        lines.append(f"| {pattern} | {' | '.join(cell(pattern, m) for m in methods)} |")
    if reasons:
        lines += ["", *(f"{i}. {reason}" for i, reason in enumerate(reasons, 1))]
    return "\n".join(lines)
