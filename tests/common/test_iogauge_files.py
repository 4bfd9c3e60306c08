# SPDX-License-Identifier: BSD-3-Clause
"""A file is there whole or not at all; tables that C and Python share are read whole."""

from __future__ import annotations

import os
import re
import resource
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from iogauge.common import paths, tables
from iogauge.common.files import CannotWrite, append, permit, write_whole


def test_a_file_is_never_seen_half_written(tmp_path: Path) -> None:
    """Two alternating writers, one reader: only ever all of one's text."""
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


def test_a_link_is_followed(tmp_path: Path) -> None:
    target, link, dangling = (tmp_path / name for name in ("target", "link", "dangling"))
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to("target")
    dangling.symlink_to("folder/new")
    write_whole(link, "new")
    write_whole(dangling, "made")
    assert link.is_symlink() and target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert dangling.is_symlink() and (tmp_path / "folder/new").read_text() == "made"
    assert not list(tmp_path.rglob("*.part"))


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    seen: list[str] = []
    reader = threading.Thread(target=lambda: seen.append(path.read_text()))
    reader.start()
    write_whole(path, "text")
    reader.join()
    assert seen == ["text"]
    assert path.is_fifo()


@pytest.mark.parametrize(("minor", "fails"), [(3, False), (7, True)])  # as /dev/null and /dev/full
def test_a_device_stays_a_device(tmp_path: Path, minor: int, fails: bool) -> None:
    path = tmp_path / "device"
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, minor))
        path.open("rb").close()
    except PermissionError as error:
        pytest.skip(f"no device can be made here: {error}")
    if fails:
        with pytest.raises(OSError, match="No space left"):
            write_whole(path, "text")
    else:
        write_whole(path, "text")
    assert path.is_char_device()
    assert [entry.name for entry in tmp_path.iterdir()] == ["device"]


def test_standard_output_of_a_shell_stays_the_shells_file(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from iogauge.common.files import permit, write_whole; "
        "print('before'); write_whole(Path('/dev/stdout'), 'text\\n'); print('after')"
    )
    out = tmp_path / "out"
    with out.open("wb") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True, cwd=paths.ROOT)
    assert out.read_text() == "before\ntext\nafter\n"


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


def test_each_method_says_what_its_files_are() -> None:
    found = {kind: tables.methods_of_kind(kind) for kind in (*tables.KINDS, "any")}
    assert sorted(name for names in found.values() for name in names) == sorted(
        tables.names("methods")
    )
    assert found["own"] == ["posix"] and "posix-shared" in found["shared"]


def test_a_missing_table_is_named() -> None:
    with pytest.raises(tables.BadTable, match=r"nowhere\.def: No such file"):
        tables.rows("nowhere.def", "IO_METHOD")


def test_the_users_umask_holds(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch(0o400)
    for umask, mode, expected in ((0o077, 0o666, 0o600), (0o022, 0o777, 0o755)):
        before = os.umask(umask)
        try:
            permit(path, mode)
            assert os.umask(umask) == umask
        finally:
            os.umask(before)
        assert stat.S_IMODE(path.stat().st_mode) == expected


def test_nothing_else_opens_a_file_to_others() -> None:
    """`chmod` with a different mode."""
    folders = ("iogauge", "analysis", "reframe_tests", "site_configs", "tools")
    found = [
        path.relative_to(paths.ROOT).as_posix()
        for folder in folders
        for path in (paths.ROOT / folder).rglob("*.py")
        if re.search(r"chmod\((\w+, )?0o\d*[1-7]\)", path.read_text())
    ]
    assert found == ["iogauge/common/lock.py"]  # the lock of a machine is every user's


def test_a_line_is_appended_whole_or_not_at_all(tmp_path: Path) -> None:
    """As on a full disk: a part of a line would take the next one with it."""
    path = tmp_path / "lines"
    append(path, "first")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(CannotWrite, match=f"{path}: cannot be written: "):
            append(path, "second")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "first\n"
    append(path, "third")
    assert path.read_text() == "first\nthird\n"
