# SPDX-License-Identifier: BSD-3-Clause
"""The files of a store: which are usable, and what to do with the others.

    STORE/sums/UUID-CRC32      an empty file: this is what the session's file must add up to
    STORE/set-aside/           files of records that could not be used

A sum is there before its file is, and stays when the session is replaced: so a reader that finds
none that fits has met a damaged file. Sessions that were stored before there were sums have none.
"""

import glob
import stat
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from iogauge.common.files import write_whole

from ..errors import StoreError

RECORDS, MONTHS, SUMS, ASIDE = "records", "months", "sums", "set-aside"
MAGIC = b"PAR1"
LEAST = 12  # bytes of a Parquet file: the magic word twice and a length
# seconds: temporary files older than this are of a killed ingest; none takes that long
STALE = 3600


@dataclass(frozen=True)
class Bad:
    """A file that is not, or no longer, a session of this store."""

    path: Path
    why: str


def places(store: Path) -> Iterator[Path]:
    for folder in (RECORDS, MONTHS):
        yield from sorted((store / folder).glob("*/*/*.parquet"))


def has(store: Path, uuid: str) -> bool:
    found = (store / RECORDS).glob(f"*/*/{glob.escape(uuid)}.parquet")
    return any(not damage(store, path) for path in found)


def damage(store: Path, path: Path) -> str:
    """Why a file cannot be a session of this store, judged without its columns."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return "it is no file"
        data = path.read_bytes()
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if not data:
        return "it is empty"
    if len(data) < LEAST or data[:4] != MAGIC or data[-4:] != MAGIC:
        return "it is not a Parquet file, or is truncated"
    sums = (store / SUMS).glob(f"{glob.escape(path.stem)}-" + "[0-9a-f]" * 8)
    if _sum(store, path.stem, data).exists() or not any(sums):
        return ""
    return "it is not what was stored: its bytes have changed"


def save(store: Path, path: Path, data: bytes) -> None:
    """Write a session's file, completely or not at all. Raises OSError."""
    write_whole(_sum(store, path.stem, data), b"")
    write_whole(path, data)


def set_aside(store: Path, bad: Bad) -> Path:
    place = store / ASIDE / f"{bad.path.name}.{time.time_ns()}"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        bad.path.rename(place)
    except OSError as error:
        raise StoreError(f"{bad.path}: cannot be set aside: {error.strerror}") from None
    return place


def remove_remains(store: Path) -> None:
    folders = [path for name in (RECORDS, MONTHS) for path in (store / name).glob("*/*")]
    for folder in (store, store / SUMS, *folders):
        for path in folder.glob(".*.part"):
            with suppress(OSError):  # in use by another, or gone
                if time.time() - path.lstat().st_mtime > STALE:
                    path.unlink()


def in_words(store: Path, bad: Sequence[Bad]) -> str:
    lines = [f"{one.path}: left out: {one.why}" for one in bad]
    how = f"iogauge store add --store {store}"
    return "\n".join([*lines, f"to set them aside, and store again what output/ holds: {how}"])


def _sum(store: Path, uuid: str, data: bytes) -> Path:
    return store / SUMS / f"{uuid}-{zlib.crc32(data):08x}"
