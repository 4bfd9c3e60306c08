# SPDX-License-Identifier: BSD-3-Clause
"""Months' files of the store: no row is lost, none counts twice, whoever is killed when."""

from __future__ import annotations

import os
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

import pytest

from iogauge.analysis.errors import NothingFoundError
from iogauge.analysis.store import database as store
from iogauge.analysis.store import files, months
from iogauge.analysis.store.ingest import ingest
from tests import analysis_made as made
from tests.analysis_recorded import Recorded, run_analysis, s3d

CASE = (s3d("posix"), "openmpi")
# Days after 2026-11-20: three sessions in each of two months, of which the second is the newest.
DAYS = (0, 1, 2, 15, 16, 17)


def session(folder: Path, day: int, speed: float = 0.0) -> Recorded:
    speed = speed or 100.0 + day
    name = folder / f"s{day}"
    if name.exists():
        shutil.rmtree(name)
    return made.session(name, {CASE: [speed, speed + 1, speed + 2]}, day=day)


def rows(place: Path) -> list[tuple[object, ...]]:
    found = store.connect(place).execute(
        "SELECT session, started, quantity, repeat, value FROM records ORDER BY ALL"
    )
    return found.fetchall()


def speeds(place: Path) -> dict[int, float]:
    """The first repeat's speed by day."""
    found = store.connect(place).execute(
        "SELECT started, value FROM records WHERE quantity = 'write_bw' AND repeat = 0"
    )
    first = datetime.fromtimestamp(made.START, timezone.utc).replace(tzinfo=None)
    found_rows = found.fetchall()
    assert len(found_rows) == len({at for at, _ in found_rows}), "a session counts twice"
    return {round((at - first).total_seconds() / made.DAY): value for at, value in found_rows}


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    for day in DAYS:
        ingest(session(tmp_path, day).report, tmp_path / "store")
    return tmp_path / "store"


def own(place: Path) -> int:
    return len(list((place / "records").rglob("*.parquet")))


def test_a_past_month_becomes_one_file_with_the_same_rows(filled: Path) -> None:
    before = rows(filled)
    (new,) = store.compact(filled)
    assert new.parent == filled / "months" / "system=local" / "month=2026-11"
    assert own(filled) == 3  # of the newest month
    assert rows(filled) == before
    assert store.compact(filled) == []


def test_a_session_in_it_can_be_replaced(filled: Path, tmp_path: Path) -> None:
    store.compact(filled)
    assert ingest(session(tmp_path, 1).report, filled)["state"] == "unchanged"
    assert own(filled) == 3
    assert ingest(session(tmp_path, 1, 500).report, filled)["state"] == "replaced"
    expected = {day: 100.0 + day for day in DAYS} | {1: 500.0}
    assert speeds(filled) == expected
    ingest(session(tmp_path, 2, 600).report, filled)
    assert len(store.compact(filled)) == 1
    assert speeds(filled) == expected | {2: 600.0}
    assert len(list((filled / "months").rglob("*.parquet"))) == 1


def test_a_session_that_lost_its_files_is_kept(filled: Path, tmp_path: Path) -> None:
    store.compact(filled)
    poorer = made.session(tmp_path / "again" / "s1", {CASE: [1.0]}, day=1)
    assert ingest(poorer.report, filled)["state"] == "kept"
    assert speeds(filled)[1] == 101.0


def test_a_kill_at_any_moment_leaves_each_session_once(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the month's file is there, and after each file that is removed."""
    before = rows(filled)

    class Killed(Exception):
        pass

    for survive in range(4):
        left = iter(range(survive))
        real = months._remove

        def remove(path: Path, was: int, left: object = left, real: object = real) -> None:
            if next(left, None) is None:  # type: ignore[call-overload]
                raise Killed
            real(path, was)  # type: ignore[operator]

        with monkeypatch.context() as patched:
            patched.setattr(months, "_remove", remove)
            try:
                store.compact(filled)
            except Killed:
                assert survive < 4
        assert rows(filled) == before, survive
    store.compact(filled)
    assert rows(filled) == before


def test_a_replacement_that_comes_during_a_compaction_is_not_lost(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = session(tmp_path, 1, 900)
    real = files.save

    def save(place: Path, path: Path, data: bytes) -> None:
        real(place, path, data)
        if months.MONTHS in path.parts:
            monkeypatch.setattr(files, "save", real)
            assert ingest(newer.report, filled)["state"] == "replaced"

    monkeypatch.setattr(files, "save", save)
    store.compact(filled)
    assert speeds(filled)[1] == 900.0
    store.compact(filled)
    assert speeds(filled)[1] == 900.0


def test_what_a_reader_sees_stays(filled: Path) -> None:
    """A compaction leaves the files to the next one."""
    store.compact(filled)
    before = rows(filled)
    ingest(session(filled.parent, 1, 500).report, filled)
    ingest(session(filled.parent, 2, 600).report, filled)
    reader = store.connect(filled)
    old = list((filled / "months").rglob("*.parquet"))
    store.compact(filled)
    assert all(path.exists() for path in old)
    found = reader.execute("SELECT count(*) FROM records").fetchone()
    assert found == (len(before),)
    assert speeds(filled)[1] == 500.0
    del reader
    store.compact(filled)
    assert not any(path.exists() for path in old)
    assert speeds(filled)[2] == 600.0


def test_two_compactions_at_once_are_one(filled: Path) -> None:
    before = rows(filled)
    with ThreadPoolExecutor(4) as pool:
        made_files = [path for found in pool.map(store.compact, [filled] * 4) for path in found]
    assert len(made_files) == 1
    assert rows(filled) == before


def test_random_orders_of_ingest_and_compaction(tmp_path: Path) -> None:
    """What was ingested last is what is there."""
    draw = random.Random(5)
    place = tmp_path / "store"
    expected: dict[int, float] = {}
    for step in range(25):
        if draw.random() < 0.3 and expected:
            store.compact(place)
        else:
            day = draw.choice(DAYS)
            expected[day] = 1000.0 + step
            ingest(session(tmp_path, day, expected[day]).report, place)
    assert speeds(place) == expected
    store.compact(place)
    assert speeds(place) == expected


def test_a_damaged_month_is_named_and_set_aside(filled: Path, tmp_path: Path) -> None:
    (path,) = store.compact(filled)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    said: list[str] = []
    assert set(speeds(filled)) == set(DAYS[3:])
    store.connect(filled, said.append)
    assert str(path) in said[0] and "its bytes have changed" in said[0]
    done = run_analysis("store", "add", session(tmp_path, 1).report, "--store", filled)
    assert done.returncode == 0, done.stderr
    assert not path.exists()
    assert len(list((filled / "set-aside").iterdir())) == 1
    assert speeds(filled)[1] == 101.0


def test_recover_knows_the_sessions_of_a_month(filled: Path) -> None:
    names = {str(row[0]) for row in rows(filled)}
    store.compact(filled)
    assert store.missing(filled, [*names, "another"]) == {"another"}


def test_without_locks_nothing_is_compacted(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr(months.fcntl, "flock", none)
    assert store.compact(filled) == []
    assert own(filled) == len(DAYS)


def test_an_empty_store_has_nothing_to_compact(tmp_path: Path) -> None:
    store.create(tmp_path)
    assert store.compact(tmp_path) == []
    with pytest.raises(NothingFoundError):
        store.connect(tmp_path)
