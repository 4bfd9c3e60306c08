# SPDX-License-Identifier: BSD-3-Clause
"""A test's result document: any content gives the document or a one-line error."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from iogauge.common import document

from ..errors import reraised

MOST = 9  # complaints of a message


Check = tuple[object, str]  # true if something is wrong, and the message then


class Wrong(Exception):
    """The run is wrong; the text says why in one line."""


def failures(checks: Iterable[Check]) -> Iterator[str]:
    return (text for wrong, text in checks if wrong)


def first(checks: Iterable[Check]) -> Iterator[Check]:
    """The first that is wrong: one for all of its kind."""
    return islice((check for check in checks if check[0]), 1)


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
    with reraised(document.BadDocument, Wrong, path.name):
        return document.load(path)
