# SPDX-License-Identifier: BSD-3-Clause
"""The store: a file of it that is damaged, or another's, is named, and takes no other along."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from iogauge.analysis.store import database as store
from iogauge.analysis.store import files as files_of_store
from iogauge.analysis.store.ingest import ingest
from tests.analysis_recorded import Recorded, run_analysis, write_parquet


def two_sessions(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A store, the file of one of its two sessions, and that one's report."""
    one, other = Recorded(tmp_path / "one"), Recorded(tmp_path / "other")
    other.edit(lambda data: data["session_info"].update(uuid="other"))
    ingest(one.report, tmp_path / "store")
    done = ingest(other.report, tmp_path / "store")
    return tmp_path / "store", Path(done["file"]), other.report


def names(store_folder: Path) -> tuple[int, str]:
    """How many sessions can be read, and what was said of the others."""
    said: list[str] = []
    connection = store.connect(store_folder, said.append)
    # Of each column each value, so that whatever cannot be decoded is met.
    connection.execute("SELECT sum(hash(COLUMNS(*))) FROM records").fetchall()
    (found,) = connection.execute("SELECT count(DISTINCT session) FROM records").fetchall()
    return int(found[0]), "".join(said)


@pytest.mark.slow
def test_a_file_cut_at_any_length_is_left_out(tmp_path: Path) -> None:
    folder, path, _ = two_sessions(tmp_path)
    data = path.read_bytes()
    chosen = random.Random(1)
    for length in [*range(16), *(chosen.randrange(len(data)) for _ in range(100)), len(data) - 1]:
        path.write_bytes(data[:length])
        found, said = names(folder)
        assert found == 1 and str(path) in said, length
    path.write_bytes(data)
    assert names(folder) == (2, "")


def test_one_changed_byte_is_found(tmp_path: Path) -> None:
    folder, path, _ = two_sessions(tmp_path)
    data = path.read_bytes()
    chosen = random.Random(2)
    for _ in range(30):
        place, change = chosen.randrange(len(data)), chosen.randrange(1, 256)
        path.write_bytes(data[:place] + bytes([data[place] ^ change]) + data[place + 1 :])
        assert names(folder)[0] == 1, (place, change)


def _foreign(path: Path) -> None:
    write_parquet(path, "SELECT 'x' AS session, 1.0::DOUBLE AS value")


def _other_types(path: Path) -> None:
    write_parquet(path, f"SELECT * REPLACE (value::VARCHAR AS value) FROM '{path}'")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


SPOILED: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "random bytes": lambda path: path.write_bytes(random.Random(3).randbytes(9000)),
    "random bytes between the magic words": lambda path: path.write_bytes(
        b"PAR1" + random.Random(4).randbytes(9000) + b"PAR1"
    ),
    "another table": _foreign,
    "other types": _other_types,
    "a folder": _folder,
    "a link to nothing": _dangling,
    "a pipe": _pipe,
}


@pytest.mark.sampled
@pytest.mark.parametrize("summed", [True, False])
@pytest.mark.parametrize("kind", SPOILED)
def test_a_spoiled_file_is_named_and_set_aside_and_stored_again(
    kind: str, summed: bool, tmp_path: Path
) -> None:
    """With the sum that was stored with it and, as of an older store, without."""
    folder, path, report = two_sessions(tmp_path)
    SPOILED[kind](path)
    if not summed:
        shutil.rmtree(folder / files_of_store.SUMS)
    found, said = names(folder)
    assert found == 1 and str(path) in said and f"iogauge store add --store {folder}" in said
    done = run_analysis("store", "add", report, "--store", folder)
    assert done.returncode == 0, done.stderr
    assert str(folder / files_of_store.ASIDE) in done.stderr
    assert len(list((folder / files_of_store.ASIDE).iterdir())) == 1
    assert names(folder) == (2, "")


def test_a_file_that_may_not_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read all: so the refusal is made."""
    folder, path, _ = two_sessions(tmp_path)
    real = Path.read_bytes

    def refuse(self: Path) -> bytes:
        if self == path:
            raise PermissionError(13, "Permission denied")
        return real(self)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert names(folder) == (
        1,
        f"{path}: left out: it cannot be read: Permission denied\n"
        "to set them aside, and store again what output/ holds: "
        f"iogauge store add --store {folder}",
    )


def test_the_remains_of_a_killed_ingest_go(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path / "recorded")
    folder = tmp_path / "store"
    path = Path(ingest(recorded.report, folder)["file"])
    old, new = (path.with_name(f".x.parquet.{number}.1.part") for number in (1, 2))
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (1.7e9, 1.7e9))
    assert run_analysis("store", "add", recorded.report, "--store", folder).returncode == 0
    assert not old.exists() and new.exists()  # the new one's ingest may be at work
