# SPDX-License-Identifier: BSD-3-Clause
"""The kernels' folders are layers: an #include points to the same folder or further down, and so
does a call. Files that use each other stand in no circle, inside a folder either."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from iokernel_stacks import Stack
from kernel_calls import Uses, by_objects, by_text, circle, headers

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
APART = ("recorder",)  # a separate library, which knows the clock and none of the others
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
    found = (path.relative_to(KERNELS) for path in KERNELS.rglob("*.[ch]"))
    return sorted(path for path in found if path.parts[0] != "third_party")


def included(path: Path) -> list[Path]:
    """The files of ours that a file includes: written from kernels/, or beside it in `recorder`."""
    found = []
    for name in INCLUDE.findall((KERNELS / path).read_text()):
        beside = path.parent / name
        assert (KERNELS / name).is_file() or (
            part_of(path) in APART and (KERNELS / beside).is_file()
        ), f"{path} includes {name}; expected the path from kernels/"
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


def test_calls_point_down() -> None:
    """Also of functions that a file declares itself."""
    for path, used in by_text(KERNELS).items():
        for target in used:
            here, there = part_of(path), part_of(target)
            if here != there and here not in APART:
                assert LEVEL[there] < LEVEL[here], f"{path} uses {target}, which is not below"


@pytest.mark.parametrize("uses", [by_text, headers])
def test_no_circle(uses: Callable[[Path], Uses]) -> None:
    found = circle(uses(KERNELS))
    assert not found, "a circle: " + " uses ".join(map(str, found))


def test_what_is_linked_was_seen(openmpi: Stack) -> None:
    """The text of a file shows every use that its object has."""
    seen, linked = by_text(KERNELS), by_objects(openmpi.build)
    assert sum(map(len, linked.values())) > 300
    for path, used in linked.items():
        assert used <= seen[path], f"{path}: {used - seen[path]}"


STATE = r" (?:O \.(?:bss|data)|\.t(?:bss|data))\s+\w+ ([^.\s]\S*)$"  # a line of objdump -t


def test_state_at_file_scope_is_main_s_alone(mpich: Stack) -> None:
    """Handlers take no argument. The recorder, which is loaded into other programs, is apart. Each
    thread's is state, too."""
    found = set()
    for path in (mpich.build / "CMakeFiles").glob("iokernel*.dir/**/*.c.o"):
        table = subprocess.run(["objdump", "-t", path], capture_output=True, text=True, check=True)
        names = re.findall(STATE, table.stdout, re.MULTILINE)
        found |= {(path.name.removesuffix(".o"), name) for name in names}
    assert found == {("main.c", "running"), ("main.c", "starting")}


CIRCLES = {
    "calls": {
        "a/up.c": "int up(void) { return down(1); }",
        "a/down.c": "int down(\n    int deep) {\n    return deep ? up() : 0;\n}",
    },
    "three files": {
        "a/one.c": "void one(void) {\n    two();\n}",
        "a/two.c": "void two(void) {\n    three();\n}",
        "a/three.c": "void three(void) {\n    one();\n}",
    },
    "an object": {
        "a/table.c": "const struct entry *const table[] = {&first};",
        "a/first.c": "const struct entry first = {0};\nint n(void) { return table[0] != 0; }",
    },
    "a macro of a header": {
        "a/part.h": "#define ALL \\\n    part()",
        "a/all.c": "int all(void) { return ALL; }",
        "a/part.c": "int part(void) { return all(); }",
    },
    "an inline function": {
        "a/part.h": "static inline int both(void) {\n    return part();\n}",
        "a/all.c": "int all(void) { return both(); }",
        "a/part.c": "int part(void) { return all(); }",
    },
    "a table": {
        "a/all.def": 'IO_METHOD(posix, "posix")',
        "a/registry.c": '#define IO_METHOD(id, name) &io_method_##id,\n#include "a/all.def"\n'
        "int find(void) { return 0; }",
        "a/posix.c": "const io_method io_method_posix = {\n    find,\n};",
    },
}
STRAIGHT = {
    "a/up.c": "static int other(void) { return 0; }\nint up(void) { return down() + other(); }",
    "a/down.c": 'int other(void) { return *"up"; }\nint down(void) { return other(); /* up */ }',
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text + "\n")
    return folder


@pytest.mark.parametrize("kind", CIRCLES)
def test_a_circle_is_found(kind: str, tmp_path: Path) -> None:
    found = circle(by_text(write(tmp_path, CIRCLES[kind])))
    sources = {Path(name) for name in CIRCLES[kind] if name.endswith(".c")}
    assert set(found) == sources and found[0] == found[-1]


def test_a_circle_of_headers_is_found(tmp_path: Path) -> None:
    files = {"a/one.h": '#include "a/two.h"', "a/two.h": '#include "one.h"'}
    assert len(circle(headers(write(tmp_path, files)))) == 3


def test_what_is_no_circle(tmp_path: Path) -> None:
    """A name in a comment or a string, and a function of the same name that others cannot see."""
    assert by_text(write(tmp_path, STRAIGHT)) == {
        Path("a/up.c"): {Path("a/down.c")},
        Path("a/down.c"): set(),
    }


@pytest.mark.parametrize("path", sources(), ids=str)
def test_the_size_of_files(path: Path) -> None:
    text = (KERNELS / path).read_text()
    assert text.startswith("/* SPDX-License-Identifier: BSD-3-Clause */\n")
    assert text.count("\n") <= 400, "a file has at most 400 lines"
    for body in re.findall(r"^[a-z].*?\) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        assert body.count("\n") <= 60, f"a function has at most 60 lines: {body[:80]}"
