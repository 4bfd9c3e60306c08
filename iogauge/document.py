# SPDX-License-Identifier: BSD-3-Clause
"""The result document (docs/result-format.md): its schema's name, reading its file, and what it
says of a wrong byte. What else it must hold is docs/result.schema.json."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCHEMA = "iogauge.result/1"

# Of a run that did not come to its end: something failed, or nothing moved any more.
STOPPED = ("error", "hung")

# No honest document is larger: 64 files, and some spans of each repeat and step.
MOST_BYTES = 2**28


class Unreadable(Exception):
    """There is no JSON to read; the text says why in one line, without the file's name."""


class UnknownSchema(Exception):
    """The document says another schema, or none; the text has both names."""


def read(path: Path) -> Any:
    """The JSON in `path`, whatever it is. Raises Unreadable."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise Unreadable(f"more than {MOST_BYTES} bytes: no result document")
        # Python reads NaN and Infinity, JSON has neither.
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except OSError as error:
        raise Unreadable(f"no result document: {error.strerror}") from error
    except json.JSONDecodeError as error:
        what = f"found {error.msg} at line {error.lineno}"
        raise Unreadable(f"not JSON: expected a complete JSON document, {what}") from error
    except ValueError as error:
        raise Unreadable(f"not JSON: {error}") from error
    except RecursionError:
        raise Unreadable("nested too deeply for a result document") from None


def check_schema(document: Mapping[str, Any]) -> None:
    """Raises UnknownSchema where it is not the one that this version writes and reads."""
    found = document.get("schema")
    if found != SCHEMA:
        raise UnknownSchema(f"schema {reprlib.repr(found)} is unknown, this reads {SCHEMA!r}")


def first_mismatch(verification: Mapping[str, Any]) -> str | None:
    """The first wrong element in words, or None."""
    first = verification.get("first")
    if not first:
        return None
    index = ",".join(str(i) for i in first.get("index") or [])
    where = f"at byte {first.get('offset')} of {first.get('file')}"
    if first.get("offset") is None:
        where = f"in {first.get('file')}"
    return (
        f"{first.get('dataset')}[{index}]: expected {first.get('expected')}, found "
        f"{first.get('found')} {where} (process {first.get('process')} on {first.get('host')})"
    )


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a number of JSON")
