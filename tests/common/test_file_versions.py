# SPDX-License-Identifier: BSD-3-Clause
"""A file of a newer iogauge, or of another program, is refused with what it is and what to do, in
one sentence for every format."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from iogauge.analysis.bundle import contents
from iogauge.analysis.errors import AnalysisError
from iogauge.analysis.judge.yaml_file import YamlFile
from iogauge.analysis.replay import schedule
from iogauge.analysis.session.document import read_document
from iogauge.analysis.store import baselines, database
from iogauge.cli import certify
from iogauge.common import document
from iogauge.common.paths import ROOT

Read = Callable[[Path, str], object]


def written(path: Path, schema: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"schema": schema}))
    return path


def of_baselines(folder: Path, schema: str) -> object:
    written(folder / baselines.FOLDER / "one.json", schema)
    return baselines.load(folder)


def of_a_bundle(folder: Path, schema: str) -> object:
    written(folder / contents.VERDICTS, schema)
    return contents.claimed(folder)


def of_a_store(folder: Path, schema: str) -> object:
    written(folder / database.MARK, schema)
    database.check(folder)
    return None


def of_a_schedule(folder: Path, schema: str) -> object:
    path = folder / "a.schedule"
    with schedule.writing(path) as out:
        out.finish({"format": schema, "gap": 1, "said": [], "files": []})
    return schedule.read_header(path)


def of_references(rules: Path) -> Read:
    # Nothing but the schema's name: a newer file may have anything else.
    return lambda folder, schema: YamlFile(written(folder / "a.yaml", schema), rules)


READERS: dict[str, list[Read]] = {
    document.SCHEMA: [
        lambda folder, schema: read_document(written(folder / "result.json", schema)),
        lambda folder, schema: document.load(written(folder / "result.json", schema)),
    ],
    baselines.SCHEMA: [of_baselines],
    contents.SCHEMA: [of_a_bundle],
    database.VERSION: [of_a_store],
    schedule.FORMAT: [of_a_schedule],
    certify.certificate.SCHEMA: [
        lambda folder, schema: certify.load(written(folder / "certificate.json", schema))
    ],
}
for path in sorted((ROOT / "references").glob("*.schema.json")):
    own = json.loads(path.read_text())["properties"]["schema"]["const"]
    READERS[own] = [of_references(path)]
# What only iokernel reads.
WRITTEN = {"iogauge.extents/1", "iogauge.like/1"}
ALL = [(known, read) for known, readers in READERS.items() for read in readers]


def test_every_format_of_the_program_is_here() -> None:
    found: set[str] = set()
    for folder in ("analysis", "iogauge/cli", "iogauge/common", "iogauge/measure", "reframe_tests"):
        for path in (ROOT / folder).rglob("*.py"):
            found |= {*re.findall(r'"(iogauge\.[\w.-]+/\d+)"', path.read_text())}
    assert found - WRITTEN == READERS.keys() & found
    assert found > WRITTEN


@pytest.mark.parametrize(("known", "read"), ALL)
@pytest.mark.parametrize("kind", ["newer", "other"])
def test_a_file_of_another_version_says_what_it_is(
    known: str, read: Read, kind: str, tmp_path: Path
) -> None:
    name, number = known.split("/")
    schema = f"{name}/{int(number) + 1}" if kind == "newer" else "someone.else/1"
    with pytest.raises((AnalysisError, document.BadDocument)) as error:
        read(tmp_path, schema)
    what = f"{name.removeprefix('iogauge.')} file of"
    both = f"(schema {schema!r}, this reads {known!r})"
    said = {
        "newer": f": {what} a newer iogauge {both}: use that version or a newer one",
        "other": f": no {what} iogauge {both}",
    }[kind]
    text = str(error.value)
    assert text.endswith(said) and text.count(": ") == said.count(": ")
    if not isinstance(error.value, document.BadDocument):  # its text follows the file's name
        assert str(tmp_path) in text or isinstance(error.value, contents.BadBundleError)


def test_an_older_version_that_can_be_read_is_read(tmp_path: Path) -> None:
    assert of_a_schedule(tmp_path, "iogauge.schedule/1")


@pytest.mark.parametrize("text", ["", "[]", "3", "null", '{"schema": 3}', '{"schema": {}}'])
def test_what_has_no_schema_is_no_store(text: str, tmp_path: Path) -> None:
    (tmp_path / database.MARK).write_text(text)
    with pytest.raises(AnalysisError, match=r"no store file of iogauge|not JSON"):
        database.check(tmp_path)
