# SPDX-License-Identifier: BSD-3-Clause
"""Each `iogauge run` and `make run` of the pages selects a test: else a reader measures nothing."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.experiment_scripts import files
from tests.reframe_session import ROOT, reframe

MAKE = re.compile(r"make (?:run|ab) (?:[A-Z]+=\S+ |[A-Z]+=\"[^\"]*\" )*ARGS=('[^']*'|\"[^\"]*\")")
RUN = re.compile(r"\biogauge run( [^#`\n]*)")
FOLDER = re.compile(r"/([A-Z]\w+)_[0-9a-f]{8}\b")
HERE = re.compile(r"--site(?! local\b)|--dry-run|--help|\bNAME\b|\[")


def selected(words: str) -> str:
    """Of `iogauge run WORDS`, what goes to ReFrame: tests, tags, settings, and all behind `--`."""
    ours, _, rest = words.partition(" -- ")
    given = shlex.split(ours)
    at = [place for place, word in enumerate(given) if word in ("-n", "-t", "-S")]
    return shlex.join([*(word for i in at for word in given[i : i + 2]), *shlex.split(rest)])


def asked() -> dict[str, str]:
    """The words that ReFrame gets, and the page that says them."""
    found = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text()
        name = str(page.relative_to(ROOT))
        given = [words[1:-1] for words in MAKE.findall(text)]
        given += [selected(words) for words in RUN.findall(text) if not HERE.search(words)]
        found.update({words: name for words in given if words})
    return found


def files_with(words: list[str]) -> str:
    """The files whose tests `-n` may choose load sooner than all; all where none is named."""
    names = [name for word, name in pairwise(words) if word == "-n"]
    chosen = {
        path.name
        for test, path in files().items()
        for name in names
        if re.match(name.partition(" ")[0].partition(".*")[0], test)
    }
    return " ".join(sorted(chosen))


def test_pages_have_such_commands() -> None:
    assert {"-n S3d", "-n 'S3d.*fs=ram'"} <= asked().keys()


def test_each_run_folder_in_the_documents_is_of_a_test() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "iogauge" / "cli" / "help").glob("*.txt")]
    named = {name for page in pages for name in FOLDER.findall(page.read_text())}
    assert named >= {"S3d"} and named <= files().keys()


@pytest.mark.slow
@pytest.mark.parametrize("words", asked())
def test_a_command_selects_a_test(words: str, tmp_path: Path) -> None:
    here = tmp_path / "given"  # in place of a reader's own file
    here.write_text("")
    given = [re.sub(r"(\.(?:log|file))=.*", rf"\1={here}", word) for word in shlex.split(words)]
    session = reframe(
        tmp_path, "--system", "local", "-t", "quick", "-l", *given, tests=files_with(given)
    )
    assert session.status == 0, session.text
    assert session.listed, f"{asked()[words]}: no test of make run fits {words}"
