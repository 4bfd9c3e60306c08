# SPDX-License-Identifier: BSD-3-Clause
"""The documentation's table of patterns x methods, from what a built iokernel says it can do.

    python -m tools.cross_table --check [--program IOKERNEL]    is the table current?
    python -m tools.cross_table --write [--program IOKERNEL]    make it so

The column of a method that the program lacks stays as the page has it: ADIOS2 is of newer releases
only. The default program is that of the stack openmpi, built as the tests build it. Exit status: 0
current or written, 1 not current, 2 not possible.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from iogauge.measure import kernels

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "patterns-and-methods.md"
BEGIN = "<!-- made by python -m tools.cross_table --write; do not edit -->"
END = "<!-- end of the table -->"
STACK = "openmpi"
BUILD = ROOT / ".local" / "build" / f"test-{STACK}"


class NoTable(Exception):
    """The table cannot be made or put; the text says why."""


def listing(program: Path) -> dict[str, Any]:
    """What `iokernel --list --json -` says."""
    try:
        done = subprocess.run(
            [str(program), "--list", "--json", "-"], capture_output=True, text=True, timeout=60
        )
        found: dict[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise NoTable(f"{program} --list --json -: {error}; right is a built iokernel") from error
    return found


def columns(page: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What the page's table says of each pattern and method: `ok`, and `reason` where it is not."""
    lines = page.partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    reasons = dict(line.split(". ", 1) for line in lines if re.match(r"\d+\. ", line))
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    cells = {}
    for row in rows[2:]:
        for method, cell in zip(rows[0][1:], row[1:], strict=True):
            number = cell.removeprefix("no (").removesuffix(")")
            cells[row[0], method] = {"ok": cell == "yes", "reason": reasons.get(number)}
    return cells


def completed(found: dict[str, Any], page: str) -> dict[str, Any]:
    """With the pairs of the methods that the program lacks, as the page has them."""
    there = columns(page)
    more = []
    for method in (m for m in found["methods"] if not m["available"]):
        for pattern in (entry["name"] for entry in found["patterns"]):
            if (pattern, method["name"]) not in there:
                raise NoTable(
                    f"{method['reason']}, and the page has no column {method['name']} for "
                    f"{pattern}; right is a program with that library"
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


def put(text: str, made: str) -> str:
    """`text` with the table between its markers replaced."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise NoTable(f"no lines {BEGIN!r} and {END!r}; right is one of each, in this order")
    return f"{before}{BEGIN}\n{made}\n{END}{after}"


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.cross_table",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true")
    what.add_argument("--write", action="store_true")
    parser.add_argument("--program", type=Path)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(words)
    try:
        if not options.program:
            kernels.build_for_tests(STACK)
        old = options.page.read_text()
        found = completed(listing(options.program or BUILD / "iokernel"), old)
        new = put(old, table(found))
    except (NoTable, OSError, kernels.CannotBuild) as error:
        print(f"tools.cross_table: {error}", file=sys.stderr)
        return 2
    if options.write and new != old:
        options.page.write_text(new)
    if options.check and new != old:
        print(
            f"tools.cross_table: the table in {options.page} is not what the program lists; "
            "python -m tools.cross_table --write",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
