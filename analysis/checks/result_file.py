# SPDX-License-Identifier: BSD-3-Clause
"""A test's result document: any content gives the document or a one-line error."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from iogauge.common import document

MOST = 9  # complaints of a message


class Wrong(Exception):
    """The run is wrong; the text says why in one line."""


def refuse(complaints: Iterable[str]) -> None:
    """Raises `Wrong` with all of them, each once, also with those before a missing part."""
    unique: dict[str, None] = {}
    try:
        for one in complaints:
            unique[one] = None
    except (KeyError, TypeError, IndexError) as error:
        unique[f"the result document lacks a part: {error!r}"] = None
    found = list(unique)
    more = [f"and {len(found) - MOST} more"] if len(found) > MOST else []
    if found:
        raise Wrong("; ".join([*found[:MOST], *more]))


def load(path: Path) -> dict[str, Any]:
    """The document in `path`; `Wrong` if it is missing, unreadable, or violates its schema."""
    try:
        return document.load(path)
    except document.BadDocument as problem:
        raise Wrong(f"{path.name}{problem}") from problem
