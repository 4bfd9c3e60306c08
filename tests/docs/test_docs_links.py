# SPDX-License-Identifier: BSD-3-Clause
"""What the documentation names exists: pages, anchors, files, make targets, modules, commands.

No MkDocs is needed. Anchors have to be right both on the site and where a host shows the Markdown
files: the two make a heading's anchor by rules that differ in rare cases.
"""

from __future__ import annotations

import importlib.util
import io
import re
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import pytest

from iogauge.cli.main import main
from tools import docs_links

ROOT = Path(__file__).resolve().parents[2]
TOP = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "environments/debian/README.md",
)
PAGES = [ROOT / name for name in TOP] + sorted((ROOT / "docs").rglob("*.md"))
# A page that tells of names as they once were.
HISTORY = {ROOT / "CHANGELOG.md"}

FENCE = re.compile(r"^( *)```.*?^\1```", re.S | re.M)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`\n]+)`")
COMMENT = re.compile(r"(?:^|\s)#.*")
FOLDERS = (
    "analysis|containers|docs|environments|kernels|reframe_tests|references|requirements|"
    "site_configs|spack_repo|templates|tests|tools"
)
# A path without a placeholder (NAME, <system>, {a,b}, *, ...).
PATH = re.compile(rf"(?:{FOLDERS})/[a-z0-9_./-]*")


def names(pages: list[Path]) -> list[str]:
    return [page.relative_to(ROOT).as_posix() for page in pages]


each_page = pytest.mark.parametrize("page", PAGES, ids=names(PAGES))


def without_code(text: str) -> str:
    """Fences and spans blanked."""
    return SPAN.sub("", FENCE.sub("", text))


def code_lines(text: str) -> Iterator[str]:
    """Each line of a fence, each span; without comments."""
    for fence in FENCE.finditer(text):
        for line in re.sub(r"\\\n\s*", "", fence[0]).splitlines():
            yield COMMENT.sub("", line).strip()
    for span in SPAN.finditer(FENCE.sub("", text)):
        yield span[1]


def anchors(page: Path) -> set[str]:
    """Those on which Python-Markdown's rule and Git hosts' agree."""
    found = set()
    for heading in re.findall(r"^#+ +(.+?)\s*$", FENCE.sub("", page.read_text()), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        kept = re.sub(r"[^\w\s-]", "", plain)
        site, host = re.sub(r"[-\s]+", "-", kept.strip()), kept.replace(" ", "-")
        if site == host:
            found.add(site)
    return found


@each_page
def test_links(page: Path) -> None:
    wrong = []
    for target in LINK.findall(without_code(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists():
            wrong.append(f"{target}: no such file")
        elif anchor and anchor not in anchors(file):
            wrong.append(f"{target}: has {sorted(anchors(file))}")
    assert not wrong


@each_page
def test_paths(page: Path) -> None:
    if page in HISTORY:
        return
    spans = SPAN.findall(FENCE.sub("", page.read_text()))
    paths = [span for span in spans if PATH.fullmatch(span)]
    assert [path for path in paths if not (ROOT / path).exists()] == []


@cache
def targets() -> frozenset[str]:
    text = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY:((?:.*\\\n)*.*)", text, re.M)
    assert phony
    return frozenset(phony[1].replace("\\", " ").split())


@each_page
def test_make_targets(page: Path) -> None:
    if page in HISTORY:
        return
    named = set()
    for line in code_lines(page.read_text()):
        named.update(re.findall(r"(?:^|[;&|] *|[A-Z_]+=\S+ )make ([a-z][a-z-]*)", line))
    assert named - targets() == set()


@each_page
def test_modules(page: Path) -> None:
    if page in HISTORY:
        return
    named = set()
    for line in code_lines(page.read_text()):
        named.update(re.findall(r"python3? -m ([a-z_][\w.]*)", line))
    assert [name for name in named if importlib.util.find_spec(name) is None] == []


@cache
def help_of(*words: str) -> str | None:
    """What `iogauge WORDS --help` prints, None where there is no such command. A word that is not
    a command's own second one (`site new`) is an argument, and changes nothing."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(io.StringIO()), pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    return None if ended.value.code else said.getvalue()


@each_page
def test_commands_of_iogauge(page: Path) -> None:
    """And each long option that is shown with one, up to `--`: the rest is ReFrame's."""
    wrong = []
    for line in code_lines(page.read_text()):
        found = re.search(r"(?:^|[\s;&|/])iogauge ([a-z][a-z-]*(?: [a-z][a-z-]*)?)(.*)", line)
        if not found:
            continue
        text = help_of(*found[1].split())
        options = re.findall(r"(?<!\S)--[a-z-]+", found[2].partition(" -- ")[0])
        if text is None or not all(re.search(rf"{option}\b", text) for option in options):
            wrong.append(line)
    assert not wrong


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    listed = re.findall(r"[\w/-]+\.md", nav)
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(listed) == sorted(pages)


def test_sources_name_pages_that_exist() -> None:
    named = subprocess.run(
        ["git", "grep", "-hoE", r"\bdocs/[a-z/-]+(\.[a-z]+)+", "--", ".", ":!CHANGELOG.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if named.returncode:
        pytest.skip("no git checkout")
    paths = {path for path in named.stdout.split() if path.endswith((".md", ".json", ".png"))}
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_readme_is_short() -> None:
    text = re.sub(r"<!--.*?-->", "", (ROOT / "README.md").read_text(), flags=re.S)
    assert len(text.split()) <= 900


@pytest.mark.parametrize(
    ("page", "before", "after"),
    [
        ("add-a-method.md", "[`method.h`](../kernels/method.h)", "`kernels/method.h`"),
        (
            "how-to/x.md",
            "[the rules](../../CONTRIBUTING.md#style)",
            "the rules (`CONTRIBUTING.md`)",
        ),
        ("how-to/x.md", "[a](../spack.md#b)", "[a](../spack.md#b)"),
        ("x.md", "[a](https://example.org/b)", "[a](https://example.org/b)"),
    ],
)
def test_links_to_sources_on_the_site(page: str, before: str, after: str) -> None:
    assert docs_links.rewrite(before, page) == after


@each_page
def test_markdown_reads_the_same_everywhere(page: Path) -> None:
    """Python-Markdown, which makes the site, wants what stands within a list item four spaces to
    the right, and an empty line before a list; lines are not long, but in tables and code."""
    text = FENCE.sub(lambda fence: fence[1] + "```", page.read_text())
    wrong, before = [], ""
    for line in text.splitlines():
        is_item = re.match(r" *([-*]|\d+\.) ", line)
        if re.search(r"`[^`]*\\\|[^`]*`", line):
            wrong.append(f"a bar in code in a table: {line}")
        if re.match(r" {1,3}(\||```|[-*] |\d+\. )", line):
            wrong.append(f"not 4 spaces: {line}")
        if (
            is_item
            and before
            and not before.startswith((" ", "-", "*"))
            and before[0] not in "123456789"
        ):
            wrong.append(f"no empty line before: {line}")
        if len(line) > 120 and not line.lstrip().startswith("|") and "](" not in line:
            wrong.append(f"{len(line)} characters: {line}")
        before = line
    assert not wrong
