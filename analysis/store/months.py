# SPDX-License-Identifier: BSD-3-Clause
"""Months: many sessions' files merged into one, so that a query does not open thousands of files:

    STORE/months/system=NAME/month=YYYY-MM/NUMBER-ID.parquet

A month's file is never changed. A session that is ingested again gets its own file, which overrides
it until the next compaction. Of two months' files the higher NUMBER wins, so a killed compaction
counts nothing twice. A lock allows one at a time; it removes what it replaced only while nobody
reads (another lock)."""

from __future__ import annotations

import fcntl
import os
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iogauge.common import lock
from iogauge.common.text import notice

from . import files
from .files import MONTHS, RECORDS

if TYPE_CHECKING:
    import duckdb

ALONE, READERS = "compaction.lock", "readers.lock"
OPEN = 32  # sessions of the newest month that keep their own files; of older months: 1
ORDER = 'quantity, stack, fs, "case", processes, started, session, run, repeat'
ROWS = 30_720  # of a row group, the unit of reading


def newest_first(paths: Sequence[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: path.name, reverse=True)


def place(store: Path, of: Path) -> Path:
    return store / MONTHS / of.relative_to(store / RECORDS)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Whether this process holds the lock; False also on a file system without locks."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock.note(handle, "iogauge store")
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def hold(store: Path) -> int | None:
    """While the returned file is open, nothing that a reader sees is removed. None if that cannot
    be: in a store without a month's file, or on a file system without locks. Raises TimeoutError
    if a compaction does not end."""
    with ExitStack() as opened:
        try:
            handle = os.open(store / READERS, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        opened.callback(os.close, handle)
        if not lock.wait(handle, store / READERS, notice, how=fcntl.LOCK_SH):
            return None
        opened.pop_all()
        return handle


def due(store: Path) -> list[Path]:
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
    """Merge a month's usable sessions into one file. `columns`: SQL of a source's columns."""
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
    with duckdb.connect(config={"memory_limit": memory}) as db:
        source = select(own, old)
        query = f"SELECT {columns(db, source)} FROM {source} ORDER BY {ORDER}"
        data = parquet(db, query, part)
    files.save(store, target, data)
    with locked(store / READERS) as unread:
        for path, was in sums.items() if unread else ():
            _remove(path, was)
    return target


def parquet(db: duckdb.DuckDBPyConnection, query: str, part: Path) -> bytes:
    """The rows of a query as a file of the store. `part`: a name for it until it is read."""
    try:
        db.execute(
            f"COPY ({query}) TO {literal(part)} "
            f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROWS})"
        )
        return part.read_bytes()
    finally:
        with suppress(OSError):
            part.unlink()


def _remove(path: Path, was: int) -> None:
    """Remove a file, unless replaced meanwhile: that one is put back."""
    held = path.with_name(f".{path.name}.{os.getpid()}.part")
    with suppress(FileNotFoundError):
        path.rename(held)
        if zlib.crc32(held.read_bytes()) != was:
            with suppress(FileExistsError):  # or an even newer one is there
                os.link(held, path)
        held.unlink()


def select(own: Sequence[Path], old: Sequence[Path]) -> str:
    """SQL of all rows, each session from one file: its own, else the newest month's."""
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
            newer = f"SELECT DISTINCT session FROM {reading(over)}"
            parts.append(f"FROM {reading([path])} WHERE session NOT IN ({newer})")
        else:
            plain.append(path)
        over.append(path)
    if plain:
        parts.append(f"FROM {reading(plain)}")
    return "(" + " UNION ALL BY NAME ".join(f"({part})" for part in parts) + ")"


def reading(paths: Sequence[Path]) -> str:
    names = ", ".join(literal(path) for path in paths)
    return f"read_parquet([{names}], hive_partitioning = false, union_by_name = true)"


def literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
