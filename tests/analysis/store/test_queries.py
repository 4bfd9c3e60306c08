# SPDX-License-Identifier: BSD-3-Clause
"""The queries in files: each is asked for, with just the parts that it names."""

from __future__ import annotations

import ast
import string
from collections import defaultdict

from iogauge.analysis.store import queries
from iogauge.common.paths import ROOT

FILES = {file.stem: file for file in (ROOT / "analysis/store/sql").glob("*.sql")}


def asked() -> dict[str, list[set[str | None]]]:
    """By query: the names of the parts, at each place where it is asked for."""
    found: dict[str, list[set[str | None]]] = defaultdict(list)
    for file in (ROOT / "analysis").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "query":
                name = ast.literal_eval(node.args[0])
                found[name].append({keyword.arg for keyword in node.keywords})
    return found


def test_each_query_is_asked_for_with_its_parts() -> None:
    found = asked()
    assert found.keys() == FILES.keys()
    for name, file in FILES.items():
        text = file.read_text(encoding="utf-8")
        parts = {part for _, part, _, _ in string.Formatter().parse(text) if part}
        assert all(given == parts for given in found[name]), name


def test_parts_are_filled_in() -> None:
    assert "WHERE session = 1 AND method" in queries.query("score_card", where="session = 1")
