# SPDX-License-Identifier: BSD-3-Clause
"""Months: many sessions' files as one, so that a question does not open thousands of files.

    STORE/months/system=NAME/month=YYYY-MM/NUMBER-ID.parquet

A month's file has the rows of its sessions, sorted so that a question reads little of it. It is
never changed. A session that is ingested again gets a file of its own, which stands for the
session's rows from then on; the next compaction takes it in. The file with the higher NUMBER
stands for the sessions that two of them hold: so whoever is killed between writing a month's file
and removing what it replaces leaves nothing that counts twice.

One compaction at a time, by a lock. It removes what it replaced only while nobody reads (another
lock; else the next one does), and only files that are still what it read.
"""

from __future__ import annotations

import fcntl
import os
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from . import files
from .files import MONTHS, RECORDS

ALONE, READERS = "compaction.lock", "readers.lock"
OPEN = 32  # sessions of the newest month that stay files of their own; of older ones: 1
ORDER = 'quantity, stack, fs, "case", processes, started, session, run, repeat'
ROWS = 30_720  # of a group, which is read or left out as a whole


def newest_first(paths: Sequence[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: path.name, reverse=True)


def place(store: Path, of: Path) -> Path:
    """The folder of the month's files for a folder of sessions' files."""
    return store / MONTHS / of.relative_to(store / RECORDS)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Whether nobody else has the lock, and will until the end. False also on a file system that
    has no locks: without them no session's file is touched."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def hold(store: Path) -> int | None:
    """What a reader sees stays while the returned file is open. None where that cannot be: in a
    store without a month's file, or on a file system without locks."""
    try:
        handle = os.open(store / READERS, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
    except OSError:
        os.close(handle)
        return None
    return handle


def due(store: Path) -> list[Path]:
    """Folders of sessions' files that should become a month's file. Each system has its newest
    month."""
    found = []
    for system in sorted((store / RECORDS).glob("*")):
        months = sorted(system.glob("month=*"))
        for month in months:
            count = sum(1 for _ in month.glob("*.parquet"))
            if count > (OPEN if month == months[-1] else 1):
                found.append(month)
    return found


def compact(
    store: Path, month: Path, columns: Callable[[Any, str], str], memory: str
) -> Path | None:
    """Make one file of a month's sessions; returns it. `columns`: gives the columns of a source as
    SQL. Files that cannot be used are left where they are."""
    import duckdb

    own = [path for path in sorted(month.glob("*.parquet")) if not files.damage(store, path)]
    old = newest_first(list(place(store, month).glob("*.parquet")))
    if any(files.damage(store, path) for path in old):
        return None  # `ingest` sets it aside first
    before = {path: path.read_bytes() for path in [*own, *old]}
    sums = {path: zlib.crc32(data) for path, data in before.items()}
    del before
    number = int(old[0].name.partition("-")[0]) + 1 if old else 1
    target = place(store, month) / f"{number:06}-{uuid.uuid4().hex}.parquet"
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    connection = duckdb.connect(config={"memory_limit": memory})
    try:
        source = select(own, old)
        connection.execute(
            f"COPY (SELECT {columns(connection, source)} FROM {source} ORDER BY {ORDER}) TO "
            f"{literal(part)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROWS})"
        )
        data = part.read_bytes()
    finally:
        connection.close()
        with suppress(OSError):
            part.unlink()
    files.save(store, target, data)
    with locked(store / READERS) as unread:
        for path, was in sums.items() if unread else ():
            _remove(path, was)
    return target


def _remove(path: Path, was: int) -> None:
    """Remove a file, unless it has become another one meanwhile: that is put back."""
    held = path.with_name(f".{path.name}.{os.getpid()}.part")
    with suppress(FileNotFoundError):
        path.rename(held)
        if zlib.crc32(held.read_bytes()) != was:
            with suppress(FileExistsError):  # or a still newer one is there
                os.link(held, path)
        held.unlink()


def select(own: Sequence[Path], old: Sequence[Path]) -> str:
    """SQL of all rows of sessions' files and months' files, each session from one of them.

    A month's file has the session of a file of its own no more, nor that of a newer month's."""
    if not old:
        return reading(own)
    parts = [f"FROM {reading(own)}"] if own else []
    above: dict[Path, list[Path]] = {}
    for path in own:
        above.setdefault(path.parent.relative_to(path.parents[3] / RECORDS), []).append(path)
    plain: list[Path] = []
    for path in newest_first(old):
        month = path.parent.relative_to(path.parents[3] / MONTHS)
        over = above.setdefault(month, [])
        if over:
            parts.append(f"FROM {reading([path])} WHERE session NOT IN ({_sessions(over)})")
        else:
            plain.append(path)
        over.append(path)
    if plain:
        parts.append(f"FROM {reading(plain)}")
    return "(" + " UNION ALL BY NAME ".join(f"({part})" for part in parts) + ")"


def _sessions(paths: Sequence[Path]) -> str:
    """SQL of the sessions that these files hold."""
    return f"SELECT DISTINCT session FROM {reading(paths)}"


def reading(paths: Sequence[Path]) -> str:
    names = ", ".join(literal(path) for path in paths)
    return f"read_parquet([{names}], hive_partitioning = false, union_by_name = true)"


def literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
