# SPDX-License-Identifier: BSD-3-Clause
"""Published numbers, claims and expectations of a site, changed at random: read, or one line with
the file's name."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import strategies as st

from iogauge.analysis.errors import AnalysisError
from iogauge.analysis.judge import claims, references
from tests.fuzz.cases import changed, damaged, fuzz

PUBLISHED = yaml.safe_load((references.FOLDER / "published.yaml").read_text())
PUBLISHED["numbers"] = PUBLISHED["numbers"][:3]
for group in PUBLISHED["numbers"]:
    group["rows"] = group["rows"][:2]
PUBLISHED["sources"] = {group["source"]: "a page" for group in PUBLISHED["numbers"]}
CLAIMS = yaml.safe_load((references.FOLDER / "claims.yaml").read_text())
CLAIMS["claims"] = CLAIMS["claims"][:2]
SITE = {
    "schema": "iogauge.site/1", "system": "dawn", "learned": "2026-11-21", "references": [
        {"case": {"partition": "batch", "stack": "mpich", "test": "S3d", "processes": 2},
         "values": {"write_bw": {"value": 5.0, "low": 4.0, "high": 6.0, "unit": "MiB/s",
                                 "samples": 8}}},
    ],
}  # fmt: skip


def _published(folder: Path) -> object:
    return references.published.__wrapped__(folder)


def _site(folder: Path) -> object:
    references.site.cache_clear()
    found = references.site("dawn", folder)
    references.for_reframe("dawn", "batch", next(iter(found), ("", "", "", 1, True, "")), folder)
    return found


FILES: dict[str, tuple[str, Any, Callable[[Path], object]]] = {
    "published": ("published.yaml", PUBLISHED, _published),
    "claims": ("claims.yaml", CLAIMS, claims.load),
    "site": ("sites/dawn.yaml", SITE, _site),
}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="iogauge-fuzz-"))
    (made / "sites").mkdir()
    yield made
    shutil.rmtree(made)


def read(kind: str, folder: Path, data: bytes) -> bool:
    name, _, reader = FILES[kind]
    (folder / name).write_bytes(data)
    try:
        reader(folder)
    except AnalysisError as error:
        assert str(folder / name) in str(error)
        assert str(error).isprintable(), repr(str(error))
        assert len(str(error)) < 800
        return False
    return True


@pytest.mark.parametrize("kind", FILES)
def test_what_is_changed_is_right(kind: str, folder: Path) -> None:
    assert read(kind, folder, yaml.safe_dump(FILES[kind][1]).encode())


KINDS = st.sampled_from(sorted(FILES))


@fuzz("reference files", 0.08, 60, kind=KINDS, data=st.data())
def test_values(folder: Path, kind: str, data: st.DataObject) -> None:
    wrong = data.draw(changed(FILES[kind][1]))
    try:
        written = yaml.safe_dump(wrong, allow_unicode=data.draw(st.booleans())).encode()
    except (UnicodeEncodeError, ValueError, TypeError):  # what no writer of YAML would write
        return
    read(kind, folder, written)


@fuzz("reference files, bytes", 0.04, 40, kind=KINDS, data=st.data())
def test_bytes(folder: Path, kind: str, data: st.DataObject) -> None:
    read(kind, folder, data.draw(damaged(yaml.safe_dump(FILES[kind][1]).encode())))
