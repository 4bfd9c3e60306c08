# SPDX-License-Identifier: BSD-3-Clause
"""File names in a log that would do something where they are shown: through every page and every
text of the commands that take a log. Whether a script runs in a browser: tests/fuzz."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from iogauge.analysis.darshan.convert import write_log
from iogauge.analysis.darshan.raw import SEGMENT
from iogauge.cli.main import main
from iogauge.common.text import CONTROL, FORMULA
from tests.analysis.darshan.test_darshan_log import process

NAMES = {
    "markup": "<script>document.title='ran'</script>",
    "quotes": "\"'><img src=x onerror=\"document.title='ran'\">",
    "line breaks": "a\nb\r\nc\u2028d",
    "terminal": "\x1b[2J\x1b]0;owned\x07\x9b31m",
    "right to left": "a\u202eb",
    "formula": "=1+1",
    "long": "x" * (4096 - len("/fs/") - 1),
    "shell": "$(touch owned); `touch owned`",
    "other places": "../../../owned",
    "rich": "[red]a[/x][link=file:///etc/passwd]",
    "format": "%s%n{0}{self}",
}
COMMANDS = {
    "trace": ["trace", "LOG", "--no-summary", "--html", "PAGE"],
    "trace json": ["trace", "LOG", "--json"],
    "trace csv": ["trace", "LOG", "--csv"],
    "blame": ["blame", "LOG"],
    "blame json": ["blame", "LOG", "--json"],
    "blame csv": ["blame", "LOG", "--csv"],
    "blame byte": ["blame", "LOG", "--file", "NAME", "--byte", "0"],
    "plan": ["replay", "plan", "LOG", "-o", "SCHEDULE", "--what-if", "ARRAYS"],
    "plan json": ["replay", "plan", "LOG", "-o", "SCHEDULE", "--json"],
    "plan csv": ["replay", "plan", "LOG", "-o", "SCHEDULE", "--csv"],
    "check": ["replay", "check", "SCHEDULE", "LOG", "LOG", "--page", "PAGE"],
}
STATUSES = (0, 1, 2, 3, 4)


def hostile_log(path: Path, name: str) -> Path:
    """Of two processes that write the same bytes of /fs/`name` at the same time."""
    both = [process(rank, 2, segments=2) for rank in range(2)]
    for one in both:
        one.command = f"./{name[:1000]}".encode(errors="replace").decode()
        writes = b"".join(SEGMENT.pack(i, 50, 0.1, 0.2) for i in (0, 50))
        for record in one.records:
            record.path = f"/fs/{name}" + ("" if record.segments[1] else str(one.rank))
            record.segments = (b"", writes)
    write_log(both, path)
    return path


class Elements(HTMLParser):
    """What a browser would make of a page: elements, and attributes that do something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [tag, *(name for name, _ in attrs if name.startswith("on"))]
        self.found += [value for _, value in attrs if value and value.startswith("javascript:")]


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The elements of each page of a log whose names do nothing."""
    folder = tmp_path_factory.mktemp("harmless")
    return {key: set(Elements(text).found) for key, text in pages("name", folder).items()}


def pages(name: str, folder: Path) -> dict[str, str]:
    """Runs all commands, in their order. The pages that were written."""
    words = {"LOG": str(hostile_log(folder / "log", name)), "SCHEDULE": str(folder / "schedule")}
    words |= {"NAME": f"/fs/{name}", "ARRAYS": str(folder / "arrays")}
    found = {}
    for key, command in COMMANDS.items():
        page = folder / f"{key}.html"
        status = main([{**words, "PAGE": str(page)}.get(word, word) for word in command])
        assert status in STATUSES, key
        if page.exists():
            found[key] = page.read_text()
    return found


@pytest.mark.parametrize("kind", NAMES)
def test_a_name_does_nothing(
    kind: str,
    harmless: dict[str, set[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    capsys.readouterr()
    found = pages(NAMES[kind], folder)
    said = capsys.readouterr()
    assert set(found) == set(harmless)
    for key, text in found.items():
        assert set(Elements(text).found) <= harmless[key], key
        assert not CONTROL.search(text.translate({10: " ", 9: " "})), key
    printed = (said.out + said.err).translate({10: " ", 9: " "})
    assert not CONTROL.search(printed), repr(CONTROL.search(printed))
    assert "Traceback" not in printed
    assert list(tmp_path.iterdir()) == [folder]  # nothing beside it
    assert "owned" not in {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("command", ["trace", "blame", "plan"])
def test_what_programs_read_stays_whole(
    command: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = str(hostile_log(tmp_path / "log", NAMES[kind]))
    words = {"LOG": log, "SCHEDULE": str(tmp_path / "schedule")}
    for form in ("json", "csv"):
        capsys.readouterr()
        main([words.get(word, word) for word in COMMANDS[f"{command} {form}"]])
        out = capsys.readouterr().out
        if form == "json" and out:
            json.loads(out)
        for row in csv.reader(io.StringIO(out)) if form == "csv" else ():
            assert not [cell for cell in row if cell.startswith(FORMULA[:1])]
