# SPDX-License-Identifier: BSD-3-Clause
"""The kernels' folders are layers: an #include points to the same folder or further down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from iogauge.common.paths import KERNELS

# Each line may include what stands below it; folders of one line do not know each other. The
# contracts are the headers on top of kernels/: pattern.h, and for methods method.h and
# method_roles.h.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("main",),
    ("compat",),
    ("command_line", "run"),
    ("report",),
    ("driver",),
    ("patterns", "methods"),
    ("pattern", "method"),
    ("base",),
)
LEVEL = {name: len(LAYERS) - i for i, names in enumerate(LAYERS) for name in names}
APART = ("recorder",)  # a library of its own, which knows none of the others
ABOVE_ALL = ("tests",)
TABLE = "libraries.def"  # of the build; the methods' registry reads it too
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# All that others may see of patterns and methods.
REGISTRIES = {"patterns": {"registry.h"}, "methods": {"registry.h"}}


def part_of(path: Path) -> str:
    """The folder, or of files on top of kernels/ what they belong to."""
    if len(path.parts) > 1:
        return path.parts[0]
    return "method" if path.stem == "method_roles" else path.stem


def sources() -> list[Path]:
    return sorted(path.relative_to(KERNELS) for path in KERNELS.rglob("*.[ch]"))


def included(path: Path) -> list[Path]:
    """The files of ours that a file includes: written from kernels/, or beside it in `recorder`."""
    found = []
    for name in INCLUDE.findall((KERNELS / path).read_text()):
        beside = path.parent / name
        assert (KERNELS / name).is_file() or (
            part_of(path) in APART and (KERNELS / beside).is_file()
        ), f"{path} includes {name}; right is the path from kernels/"
        found.append(beside if part_of(path) in APART else Path(name))
    return found


def test_every_folder_is_in_the_table() -> None:
    known = {*LEVEL, *APART, *ABOVE_ALL}
    assert {part_of(path) for path in sources()} == known


@pytest.mark.parametrize("path", sources(), ids=str)
def test_includes_point_down(path: Path) -> None:
    here = part_of(path)
    for target in included(path):
        there = part_of(target)
        if here == there or here in ABOVE_ALL or str(target) == TABLE:
            continue
        assert here in LEVEL and there in LEVEL, f"{path} includes {target}: {here} stands apart"
        assert LEVEL[there] < LEVEL[here], f"{path} includes {target}, which is not below {here}"
        if there in REGISTRIES and target.suffix == ".h":
            assert target.name in REGISTRIES[there], f"{path} looks into {target}"


def test_a_pattern_sees_no_method_and_a_method_no_pattern() -> None:
    def reached(path: Path, seen: set[Path]) -> set[Path]:
        for target in included(path):
            if target not in seen:
                seen.add(target)
                reached(target, seen)
        return seen

    assert not {p for p in reached(Path("pattern.h"), set()) if part_of(p) == "method"}
    assert not {p for p in reached(Path("method_roles.h"), set()) if part_of(p) == "pattern"}
    for path in sources():
        if part_of(path) in ("patterns", "methods"):
            other = "method" if part_of(path) == "patterns" else "pattern"
            assert not {p for p in reached(path, set()) if part_of(p) == other}, str(path)


@pytest.mark.parametrize("path", sources(), ids=str)
def test_the_size_of_files(path: Path) -> None:
    text = (KERNELS / path).read_text()
    assert text.startswith("/* SPDX-License-Identifier: BSD-3-Clause */\n")
    assert text.count("\n") <= 400, "a file has at most 400 lines"
    for body in re.findall(r"^[a-z].*?\) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        assert body.count("\n") <= 60, f"a function has at most 60 lines: {body[:80]}"
