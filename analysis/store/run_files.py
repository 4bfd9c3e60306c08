# SPDX-License-Identifier: BSD-3-Clause
"""What the store takes from a run's trace: the log's path, and the byte ledger beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import MalformedDocumentError

LOG = "trace.darshan"
LEDGER = "ledger.json"

# Of the ledger, what is no amount: how often each access size, and files that are not the run's.
_LEFT_OUT = {"sizes", "histogram", "beside", "hints"}
# Parts of a list are named after one of these.
_NAMES = ("direction", "name")


def log(folder: Path | None) -> Path | None:
    """The trace; None where the run has none."""
    return folder / LOG if folder and (folder / LOG).exists() else None


def ledger(folder: Path | None) -> Path | None:
    return folder / LEDGER if folder and (folder / LEDGER).exists() else None


def verdict(folder: Path | None) -> str:
    """`balanced`, or `explained: why`; empty where the run was not traced."""
    data = _read(folder)
    reasons = "; ".join(map(str, data.get("reasons") or []))
    return f"{data['verdict']}: {reasons}" if reasons else str(data.get("verdict", ""))


def numbers(folder: Path | None) -> dict[str, float]:
    """The amounts of the ledger by their place: `ledger_write_amplification`, in bytes or calls."""
    found: dict[str, float] = {}

    def walk(name: str, part: object) -> None:
        if isinstance(part, dict):
            for key, inner in part.items():
                if key not in _LEFT_OUT:
                    walk(f"{name}_{_word(key)}", inner)
        elif isinstance(part, list):
            for entry in part:
                if isinstance(entry, dict):
                    walk("_".join([name, *_called(entry)]), entry)
        elif isinstance(part, int | float) and not isinstance(part, bool):
            found[name.replace("_sides", "").replace("_layers", "")] = float(part)

    walk("ledger", _read(folder))
    return found


def _called(entry: dict[str, Any]) -> list[str]:
    return [_word(str(entry[key])) for key in _NAMES if key in entry]


def _word(text: str) -> str:
    return text.lower().replace("-", "")


def _read(folder: Path | None) -> dict[str, Any]:
    """Raises MalformedDocumentError for a ledger that is no JSON object."""
    path = ledger(folder)
    if path is None:
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MalformedDocumentError(f"{path}: expected a ledger in JSON: {error}") from None
    if not isinstance(data, dict):
        raise MalformedDocumentError(f"{path}: expected an object, found {type(data).__name__}")
    return data
