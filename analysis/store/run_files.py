# SPDX-License-Identifier: BSD-3-Clause
"""What the store takes from a run's trace: the path of the log, and the ledger's numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iogauge.common import json_file
from iogauge.common.run_folder import LEDGER, TRACE
from iogauge.common.text import plain_all

from ..errors import MalformedDocumentError, reraised

# Ledger keys that the store leaves out: counts of access sizes, bytes of files that are not the
# run's own, and hints.
_NOT_STORED = {"sizes", "histogram", "beside", "hints"}
# An entry of a list is named by the values of these keys, for example `write` and `POSIX`.
_NAMING_KEYS = ("direction", "name")


def log(folder: Path | None) -> Path | None:
    return folder / TRACE if folder and (folder / TRACE).exists() else None


def ledger(folder: Path | None) -> Path | None:
    return folder / LEDGER if folder and (folder / LEDGER).exists() else None


def verdict(folder: Path | None) -> str:
    """`balanced`, or `explained: why`; empty if the run was not traced."""
    data = _read(folder)
    reasons = "; ".join(map(str, data.get("reasons", [])))
    return ": ".join(word for word in (data.get("verdict", ""), reasons) if word)


def numbers(folder: Path | None) -> dict[str, float]:
    """The ledger's numbers, named by their keys: `ledger_write_posix_bytes`."""
    return dict(_walk("ledger", _read(folder)))


def _walk(name: str, part: object) -> Iterator[tuple[str, float]]:
    if isinstance(part, dict):
        for key, inner in part.items():
            if key not in _NOT_STORED:
                yield from _walk(f"{name}_{_word(key)}", inner)
    elif isinstance(part, list):
        for entry in part:
            if isinstance(entry, dict):
                names = [_word(str(entry[key])) for key in _NAMING_KEYS if key in entry]
                yield from _walk("_".join([name, *names]), entry)
    elif isinstance(part, int | float) and not isinstance(part, bool):
        yield name.replace("_sides", "").replace("_layers", ""), float(part)


def _word(text: str) -> str:
    return text.lower().replace("-", "")


def _read(folder: Path | None) -> dict[str, Any]:
    """Raises MalformedDocumentError unless it is an object with a verdict and reasons."""
    path = ledger(folder)
    if path is None:
        return {}
    expected = f"{path}: expected a ledger in JSON: "
    with reraised(json_file.Unreadable, MalformedDocumentError, expected):
        data = plain_all(json_file.read(path, "ledger"))
    if not isinstance(data, dict):
        raise MalformedDocumentError(f"{path}: expected an object, found {type(data).__name__}")
    for key, right, kind in (("verdict", "a text", str), ("reasons", "a list", list)):
        if not isinstance(data.get(key), kind):
            found = type(data.get(key)).__name__
            raise MalformedDocumentError(f"{path}: {key}: expected {right}, found {found}")
    return data
