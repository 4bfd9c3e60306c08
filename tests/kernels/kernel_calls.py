# SPDX-License-Identifier: BSD-3-Clause
"""Which files of the kernels use which: by their text, and by the objects compiled from them.

The text covers every file, also methods whose library no stack here has. The objects check
that the text was read right (test_kernel_layers.py).
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

Uses = dict[Path, set[Path]]

NOISE = re.compile(
    r"""/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|^\s*\#\s*include[^\n]*$""",
    re.DOTALL | re.MULTILINE,
)
# clang-format starts what other files may see in the first column.
NOT_SHARED = r"^(?![^\n]*\bstatic\b|extern\b|typedef\b|return\b|EXPORT\b)"
FUNCTION = re.compile(NOT_SHARED + r"[A-Za-z_][\w *()]*?\b(\w+)\([^;{}]*?\)\s*\{", re.MULTILINE)
OBJECT = re.compile(
    NOT_SHARED + r"[A-Za-z_][\w *]*?[ *](\w+)(?:\[\w*\])?(?: __attribute__\(.*\))?(?: =|;)",
    re.MULTILINE,
)
STATIC = re.compile(r"^(?:__attribute__\(\(.*\)\) )?static\b[\w *]*?\b(\w+)\(", re.MULTILINE)
MACRO = re.compile(r"^#define (\w+)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
INLINE = re.compile(
    r"^static inline [\w *]*?\b(\w+)\([^;{}]*?\) (\{[^\n]*\}$|\{\n.*?^\})", re.MULTILINE | re.DOTALL
)
PASTED = re.compile(r"\b(\w+_)##")
TABLE = re.compile(r'^\s*#\s*include\s+"([^"]+\.def)"', re.MULTILINE)
ROW = re.compile(r"^IO_\w+\((\w+)", re.MULTILINE)
HEADER = re.compile(r'^\s*#\s*include\s+"([^"]+\.h)"', re.MULTILINE)


def program_of(path: Path) -> str:
    """The recorder is a library that nothing else is linked to. What it is built of besides its own
    files stands twice: BOTH."""
    return "recorder" if path.parts[0] == "recorder" else "iokernel"


BOTH = frozenset([Path("base/clock.c")])


def _plain(text: str) -> str:
    """Without comments, strings and includes."""
    return NOISE.sub(" ", text)


def _words(code: str) -> set[str]:
    return set(re.findall(r"\w+", code))


def _defined(code: str) -> set[str]:
    """What a .c file defines for others."""
    return {*FUNCTION.findall(code), *OBJECT.findall(code)} - set(STATIC.findall(code))


def _pasted(root: Path, text: str) -> set[str]:
    """Names that a registry makes of a table: io_method_##id and a row IO_METHOD(cgns, ...)."""
    rows = [row for table in TABLE.findall(text) for row in ROW.findall((root / table).read_text())]
    return {prefix + row for prefix in PASTED.findall(text) for row in rows}


def _expanded(words: set[str], bodies: Mapping[str, set[str]]) -> set[str]:
    """With what stands in the macros and inline functions that are named."""
    todo, found = list(words), set(words)
    while todo:
        for word in bodies.get(todo.pop(), set()) - found:
            found.add(word)
            todo.append(word)
    return found


APART = ("tests", "third_party")


def by_text(root: Path) -> Uses:
    """Each .c file below a folder, and those whose functions or objects it names."""
    texts = {path.relative_to(root): path.read_text() for path in sorted(root.rglob("*.[ch]"))}
    code = {p: _plain(text) for p, text in texts.items() if p.parts[0] not in APART}
    bodies = {
        name: _words(body)
        for path in code
        if path.suffix == ".h"
        for kind in (MACRO, INLINE)
        for name, body in kind.findall(code[path])
    }
    sources = [path for path in code if path.suffix == ".c"]
    owner = {(program_of(p), name): p for p in sources for name in _defined(code[p])}
    owner |= {("recorder", name): p for p in BOTH & {*sources} for name in _defined(code[p])}
    uses: Uses = {}
    for path in sources:
        own = set(STATIC.findall(code[path]))
        words = _expanded((_words(code[path]) | _pasted(root, texts[path])) - own, bodies)
        named = {(program_of(path), word) for word in words} & set(owner)
        uses[path] = {owner[name] for name in named} - {path}
    return uses


def by_objects(build: Path) -> Uses:
    """The same of a built program, as nm has it. A symbol that the C library has too is the
    library's: the recorder stands in front of `rename`, and calls it."""
    library = ctypes.CDLL(None)
    owner: dict[tuple[str, str], Path] = {}
    wanted: dict[Path, set[str]] = {}
    for found in build.rglob("*.c.o"):
        parts = found.relative_to(build).parts
        folder = parts[: parts.index("CMakeFiles")]
        source, program = Path(*folder, *parts[len(folder) + 2 :]).with_suffix(""), ""
        if source.parts[0] in APART:
            continue
        if "__" in source.parts:  # CMake's word for `..`
            source, program = Path(*source.parts[2:]), source.parts[0]
            assert source in BOTH, f"{source}: built into {program} too"
        done = subprocess.run(["nm", str(found)], capture_output=True, text=True, check=True)
        wanted.setdefault(source, set())
        for kind, name in (line.split()[-2:] for line in done.stdout.splitlines()):
            if kind == "U" and not hasattr(library, name):
                wanted[source].add(name)
            elif kind in "TDBRC":
                owner[program or program_of(source), name] = source
    return {
        source: {owner[key] for name in names if (key := (program_of(source), name)) in owner}
        for source, names in wanted.items()
    }


def headers(root: Path) -> Uses:
    """Each header, and the headers that it includes."""
    uses: Uses = {}
    for path in sorted(root.rglob("*.h")):
        places = [(root / name, path.parent / name) for name in HEADER.findall(path.read_text())]
        found = {a if a.is_file() else b for a, b in places}
        uses[path.relative_to(root)] = {place.relative_to(root) for place in found}
    return uses


def circle(uses: Mapping[Path, Iterable[Path]]) -> list[Path]:
    """The files of one circle, from one of them back to it; an empty list where there is none."""
    done: set[Path] = set()

    def search(path: Path, way: list[Path]) -> list[Path]:
        if path in way:
            return [*way[way.index(path) :], path]
        if path in done:
            return []
        for target in sorted(uses.get(path, ())):
            if found := search(target, [*way, path]):
                return found
        done.add(path)
        return []

    return next((found for path in uses if (found := search(path, []))), [])
