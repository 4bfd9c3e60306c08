# SPDX-License-Identifier: BSD-3-Clause
"""Writes a CTest file: a test for each pattern x method x mode listed by iokernel, with the label
`quick` or, of other process counts, `more`."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

RUNNER, ROOT = "tests.ctest.run_case", Path(__file__).resolve().parents[2]


def combinations(listing: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    """Pattern, method and mode; a method without modes has None."""
    found: list[tuple[str, str, str | None]] = []
    methods = {method["name"]: method for method in listing["methods"]}
    for pair in listing["cross"]:
        modes = methods[pair["method"]]["modes"] or [None]
        found += [(pair["pattern"], pair["method"], mode) for mode in modes if pair["ok"]]
    return found


def refused(listing: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Pattern, method, and why the pair is not supported."""
    pairs = [pair for pair in listing["cross"] if not pair["ok"]]
    return [(pair["pattern"], pair["method"], pair["reason"]) for pair in pairs]


def inner_methods(listing: dict[str, Any], pattern: str) -> list[str]:
    """Those that can be inner methods, move data, and support the pattern."""
    able = {
        pair["method"] for pair in listing["cross"] if pair["ok"] and pair["pattern"] == pattern
    }
    return [
        method["name"]
        for method in listing["methods"]
        if method["name"] in able and method["writes_alone"] and not method["moves_nothing"]
    ]


def process_counts(listing: dict[str, Any], method: str, mode: str | None, every: str) -> str:
    """The fewest and the most suffice for a method or mode that moves data like another."""
    facts = next((m for m in listing["modes"] if m["name"] == mode), None)
    counts = every.split(",")
    if facts and facts["one_process"]:
        return "1"
    if _moves_as_another(listing, method, mode):
        return ",".join(dict.fromkeys((counts[0], counts[-1])))
    return every


def _moves_as_another(listing: dict[str, Any], method: str, mode: str | None) -> bool:
    named = [m for m in listing["methods"] if m["name"] == method]
    named += [m for m in listing["modes"] if m["name"] == mode]
    return any(m["moves_as"] for m in named)


def split(
    listing: dict[str, Any], method: str, mode: str | None, options: argparse.Namespace
) -> dict[str, str]:
    """The process counts by label: `quick` has the fewest that differ."""
    every = process_counts(listing, method, mode, options.processes).split(",")
    wanted = process_counts(listing, method, mode, options.quick).split(",")
    own = next(m for m in listing["methods"] if m["name"] == method)
    if "inner" in own["options"]:
        wanted = wanted[:1]
    elif _moves_as_another(listing, method, mode):
        wanted = wanted[-1:]
    quick = [n for n in options.processes.split(",") if n in wanted] or every[-1:]
    if mode == "refused":
        return {"quick": every[0]}
    more = [n for n in every if n not in quick]
    return {"quick": ",".join(quick), **({"more": ",".join(more)} if more else {})}


def named(listing: dict[str, Any], trait: str) -> str:
    """The methods with a trait, as a command line argument."""
    return ",".join(method["name"] for method in listing["methods"] if method[trait])


def quoted(word: str) -> str:
    return f"[==[{word}]==]"


def ctest_file(options: argparse.Namespace, listing: dict[str, Any]) -> str:
    lines = []
    queued = {m["name"] for m in listing["methods"] if "inner" in m["options"]}
    asked = [(p, m, ["--mode", mode] if mode else []) for p, m, mode in combinations(listing)]
    asked += [(p, m, ["--refused", reason]) for p, m, reason in refused(listing)]
    for pattern, method, more in asked:
        last = "refused" if "--refused" in more else "".join(more[1:])
        name = ".".join(word for word in (pattern, method, last) if word)
        # -S: the standard library is enough, without what this Python has installed.
        command = [sys.executable, "-S", "-m", RUNNER, "--program", options.program]
        command += ["--pattern", pattern, "--method", method, *more]
        if any(m["name"] == last and m["compresses"] for m in listing["modes"]):
            command += ["--compresses"]
        if method in queued and last != "refused":
            command += ["--inner", ",".join(inner_methods(listing, pattern))]
        command += ["--moves-nothing", named(listing, "moves_nothing")]
        command += ["--own-files", named(listing, "file_per_process"), "--dir", options.dir]
        for label, counts in split(listing, method, last, options).items():
            test = quoted(name if label == "quick" else f"{name}.{label}")
            words = [*command, "--processes", counts, "--", *options.launch]
            lines.append(f"add_test({test} {' '.join(map(quoted, words))})")
            lines.append(
                f"set_tests_properties({test} PROPERTIES TIMEOUT 1200 LABELS {label} "
                f"PROCESSORS {options.at_once} ENVIRONMENT {quoted(options.environment)} "
                f"WORKING_DIRECTORY {quoted(str(ROOT))})"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--processes", required=True, help="such as 1,2,4")
    parser.add_argument(
        "--quick", default="2,3", help="process counts of tests with the label quick"
    )
    parser.add_argument("--at-once", default="1", help="cores reserved by a test")
    parser.add_argument("--dir", required=True, help="directory for files of the tests")
    parser.add_argument("--environment", default="", help="environment of the tests, K=V;K=V")
    parser.add_argument("launch", nargs="+", help="the launch command, without process count")
    options = parser.parse_args()
    listed = subprocess.run(
        [options.program, "--list", "--json", "-"], stdout=subprocess.PIPE, check=True, timeout=600
    )
    options.out.write_text(ctest_file(options, json.loads(listed.stdout)))


if __name__ == "__main__":
    main()
