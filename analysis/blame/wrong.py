# SPDX-License-Identifier: BSD-3-Clause
"""A byte that failed verification: who touched it, and which of them raced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .order import Numbers
from .races import Blame, Races

LARGEST_ELEMENT = 8  # bytes


@dataclass(frozen=True)
class WrongByte:
    """`file`: None if the byte's place is unknown."""

    says: str
    file: int | None
    touched: Numbers
    races: Races


def of_document(blame: Blame, document: dict[str, Any]) -> WrongByte | None:
    """The first wrong element of a run; None if all were right."""
    first = document.get("verification", {}).get("first")
    if not first:
        return None
    what = f"{first['dataset']}{first['index']}"
    says = (
        f"wrong: {document['verification']['mismatches']} elements; first {what}, expected "
        f"{first['expected']}, found {first['found']} (read by process {first['process']})"
    )
    if first["offset"] is None:
        none = blame.races.take(blame.races.a < 0)
        return WrongByte(f"{says}; where in the file is not known", None, none.a, none)
    return at(blame, first["file"], int(first["offset"]), LARGEST_ELEMENT, says)


def at(blame: Blame, path: str, byte: int, length: int = 1, says: str = "") -> WrongByte:
    """What touched so many bytes of a file. `AnalysisError`: the trace does not have it."""
    file = blame.file(path)
    place = f"byte {byte} of {blame.traced.files[file]}"
    touched = blame.touched(file, byte, byte + length)
    # Repeats rewrite a file: the wrong byte is from the last one verified.
    return WrongByte(
        f"{says}: {place}" if says else place, file, touched, blame.at(file, byte, byte + length)
    )
