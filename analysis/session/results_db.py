# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's own results database (SQLite, its schema version 1): the same reports, one per row."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iogauge.common import json_file

from ..errors import MalformedReportError

HEADER = b"SQLite format 3\0"
SCHEMA_VERSION = "1"  # the major version


def is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(HEADER)) == HEADER
    except OSError:
        return False  # reading it as a report then says what is wrong


def reports(path: Path) -> Iterator[dict[str, Any]]:
    """Of all sessions, oldest first. Raises MalformedReportError."""
    try:
        with sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True) as connection:
            version = connection.execute("SELECT schema_version FROM metadata").fetchone()
            if version is None or str(version[0]).split(".")[0] != SCHEMA_VERSION:
                found = version[0] if version else "none"
                what = f"database schema {found!r} is unknown, this reads {SCHEMA_VERSION}.x"
                raise MalformedReportError(f"{path}: {what}")
            query = "SELECT json_blob FROM sessions ORDER BY session_start_unix"
            for (blob,) in connection.execute(query):
                yield json_file.parse(blob, "report of ReFrame")
    except (sqlite3.Error, json_file.Unreadable, ValueError, TypeError) as error:
        raise MalformedReportError(f"{path}: expected ReFrame's database: {error}") from None
