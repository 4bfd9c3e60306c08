# SPDX-License-Identifier: BSD-3-Clause
"""A file is there whole or not at all; tables that C and Python share are read whole."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from iogauge import paths, tables
from iogauge.files import write_whole


def test_a_file_is_never_seen_half_written(tmp_path: Path) -> None:
    """Two writers in turn, one reader: only ever all of one's text."""
    path = tmp_path / "folder" / "file"
    texts = [letter * 300_000 for letter in "ab"]
    write_whole(path, texts[0])

    def write(text: str) -> None:
        for _ in range(50):
            write_whole(path, text)

    writers = [threading.Thread(target=write, args=(text,)) for text in texts]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(path.read_text())
    for writer in writers:
        writer.join()
    assert seen <= set(texts)
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.mkdir()
    (path / "kept").write_text("")
    with pytest.raises(OSError):
        write_whole(path, "text")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def table_files() -> list[tuple[str, str, int]]:
    """Each table of the kernels, its word, and how often the word begins a line."""
    found = []
    for path in sorted(paths.KERNELS.rglob("*.def")):
        words = re.findall(r"^(IO_[A-Z_]+)\(", path.read_text(), re.MULTILINE)
        assert len(set(words)) == 1, f"{path}: one kind of row a file"
        found.append((str(path.relative_to(paths.KERNELS)), words[0], len(words)))
    return found


@pytest.mark.parametrize(("name", "word", "count"), table_files())
def test_every_row_of_a_table_is_read(name: str, word: str, count: int) -> None:
    rows = tables.rows(name, word)
    assert len(rows) == count
    assert len({len(row) for row in rows}) == 1, "each row has as many cells"


def test_a_missing_table_is_named() -> None:
    with pytest.raises(tables.BadTable, match=r"nowhere\.def: No such file"):
        tables.rows("nowhere.def", "IO_METHOD")
