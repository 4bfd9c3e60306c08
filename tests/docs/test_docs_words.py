# SPDX-License-Identifier: BSD-3-Clause
"""Documents, help, messages and comments are in plain English: none has a phrase
of tests/data/phrases-to-avoid.txt."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reframe_session import ROOT

LIST = (ROOT / "tests" / "data" / "phrases-to-avoid.txt").read_text().splitlines()
PHRASES = [line for line in LIST if line and not line.startswith("#")]
FOUND = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b".replace(" ", r"\s+"), re.I)
# A comment's lines begin with its mark.
COMMENTED = re.compile(FOUND.pattern.replace(r"\s+", r"[\s*#]+"), re.I)
# What quotes the phrases.
QUOTING = {Path(__file__), ROOT / "tests" / "data" / "phrases-to-avoid.txt"}
# Output of programs is shown as it is; the change log tells what was written then.
FENCE = re.compile(r"^( *)```.*?^\1```", re.S | re.M)
FOLDERS = (".github", "docs", "environments", "tests")
PRODUCT = ("analysis", "iogauge", "reframe_tests", "site_configs", "tools")
# A docstring that begins so continues the function's name.
CONTINUES = re.compile(r"(And|Besides|But|By|Else|Its|Not|Of|Their) ")


def pages() -> list[Path]:
    found = {page for name in FOLDERS for page in (ROOT / name).rglob("*.md")}
    return sorted(found | set(ROOT.glob("*.md")) - {ROOT / "CHANGELOG.md"})


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_plain_english(page: Path) -> None:
    text = FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), page.read_text())
    wrong = [
        f"{page.name}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]!r}"
        for found in FOUND.finditer(text)
    ]
    assert not wrong, "another phrase is plainer"


def messages(source: Path) -> Iterator[str]:
    """The strings and comments of a module; of another file, all of it."""
    text = source.read_text()
    if source.suffix != ".py":
        yield text
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    # One at the end of a line of code goes on with no other.
    yield "\n".join(
        token.string + ("" if token.line.lstrip().startswith("#") else ".") for token in comments
    )


@pytest.mark.parametrize("folder", [*PRODUCT, "tests"])
def test_messages_are_plain(folder: str) -> None:
    sources = [path for end in ("py", "j2", "txt") for path in (ROOT / folder).rglob(f"*.{end}")]
    wrong = [(path.name, found[0]) for path in set(sources) - QUOTING for text in messages(path)
             for found in COMMENTED.finditer(text)]  # fmt: skip
    assert not wrong, "another phrase is plainer"


def continuing(text: str) -> list[str]:
    """The functions and classes whose docstring is not a sentence or phrase by itself."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return [node.name for node in nodes if CONTINUES.match(ast.get_docstring(node) or "")]


@pytest.mark.parametrize("folder", PRODUCT)
def test_a_docstring_does_not_continue_the_name(folder: str) -> None:
    sources = list((ROOT / folder).rglob("*.py"))
    wrong = {path.name: names for path in sources if (names := continuing(path.read_text()))}
    assert sources and not wrong
    assert continuing('def seconds():\n    """Of a repeat."""') == ["seconds"]


@pytest.mark.parametrize("end", ["c", "h", "def", "cmake", "sh"])
def test_comments_of_c_and_shell_are_plain(end: str) -> None:
    sources = [
        path
        for folder in ("kernels", "environments", "containers", "tools", "reframe_tests", "tests")
        for path in (ROOT / folder).rglob(f"*.{end}")
    ]
    wrong = [
        (str(path.relative_to(ROOT)), found[0])
        for path in sources
        for found in COMMENTED.finditer(path.read_text())
    ]
    assert sources and not wrong, "another phrase is plainer"
    assert COMMENTED.search("a file of its\n * own")


def test_the_list_is_read() -> None:
    assert len(PHRASES) > 10 and "CONTRIBUTING.md" in {page.name for page in pages()}
    assert FOUND.search("each is held\nagainst the log") and not FOUND.search("in turned")
