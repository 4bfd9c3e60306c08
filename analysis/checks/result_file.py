# SPDX-License-Identifier: BSD-3-Clause
"""A result document from its file, as a test takes it: whatever stands there, the answer is the
document or one line. Needs no ReFrame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from iogauge.common import document


class Wrong(Exception):
    """The run is not right; the text says why in one line."""


def load(path: Path) -> dict[str, Any]:
    """The document in `path`; `Wrong` where it is missing, unreadable, of an unknown schema, or
    not as the schema says."""
    try:
        return document.load(path)
    except document.BadDocument as problem:
        raise Wrong(f"{path.name}{problem}") from problem


def is_readable(path: Path) -> bool:
    try:
        load(path)
    except Wrong:
        return False
    return True
