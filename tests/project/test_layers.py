# SPDX-License-Identifier: BSD-3-Clause
"""The house's rules: imports point down, and each layer does its own work only.

The lists of layers stand in pyproject.toml ([tool.importlinter])."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from iogauge.common.paths import ROOT

PACKAGES = ("iogauge", "reframe_tests", "site_configs", "tools")
# Folders of analysis whose answers others print.
SILENT = (
    "blame",
    "bundle",
    "checks",
    "darshan",
    "judge",
    "ledger",
    "session",
    "statistics",
    "store",
)
# Runs in a separate process, with its answer on stdout: its `main`, the last function, prints.
PROGRAMS = ("analysis/darshan/child.py",)


def names(node: ast.AST) -> Iterator[str]:
    """The modules that a statement imports, by their names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield node.module or ""


def parts(file: Path) -> list[ast.stmt]:
    """The statements of a file; of a program those before its `main`, which must be at its end."""
    body = ast.parse(file.read_text(encoding="utf-8")).body
    if file.relative_to(ROOT).as_posix() not in PROGRAMS:
        return body
    *before, main = body
    assert isinstance(main, ast.FunctionDef) and main.name == "main", file
    return before


def nodes(file: Path) -> Iterator[ast.AST]:
    for part in parts(file):
        yield from ast.walk(part)


def test_imports_point_down() -> None:
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"], cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Nor within functions, nor for type hints."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_only_the_commands_know_command_lines() -> None:
    for file in (ROOT / "analysis").rglob("*.py"):
        assert "argparse" not in {name for node in nodes(file) for name in names(node)}, file


@pytest.mark.parametrize("folder", SILENT)
def test_what_answers_prints_nothing(folder: str) -> None:
    for file in (ROOT / "analysis" / folder).glob("*.py"):
        for node in nodes(file):
            where = f"{file}:{getattr(node, 'lineno', 0)}"
            assert not any(name.split(".")[0] == "rich" for name in names(node)), where
            if isinstance(node, ast.Name):
                assert node.id != "print", where
            if isinstance(node, ast.Attribute):
                assert node.attr not in ("stdout", "stderr") or _of_a_process(node), where


def _of_a_process(node: ast.Attribute) -> bool:
    """Whether this is what a program printed (`done.stdout`), and not `sys.stdout`."""
    return not (isinstance(node.value, ast.Name) and node.value.id == "sys")


def test_analysis_has_one_import_name() -> None:
    """In the checkout as where it is installed."""
    assert (ROOT / "iogauge" / "analysis").resolve() == ROOT / "analysis"
    code = "import sys; sys.path.insert(0, sys.argv[1]); import analysis"
    done = subprocess.run([sys.executable, "-c", code, ROOT], capture_output=True, text=True)
    assert done.stderr.rstrip().endswith("ImportError: import iogauge.analysis")
