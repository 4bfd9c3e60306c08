# SPDX-License-Identifier: BSD-3-Clause
"""docs/guarantees.md: each promise names a test that there is."""

from __future__ import annotations

import ast
import re

from tests.reframe_session import ROOT

PAGE = (ROOT / "docs" / "guarantees.md").read_text()
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def promises() -> list[str]:
    part = PAGE.split("## Promises")[1].split("\n## ")[0]
    return [line for line in part.splitlines() if line.startswith("| ")][2:]


def test_each_promise_names_a_test() -> None:
    rows = promises()
    assert rows and all(NAMED.search(row) for row in rows)


def test_each_test_is_there() -> None:
    for file, name in set(NAMED.findall(PAGE)):
        tree = ast.parse((ROOT / file).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (
            f"{file} has no {name}"
        )


def test_each_command_is_a_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^\| `make ([\w-]+)`", PAGE, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
