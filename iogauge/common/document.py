# SPDX-License-Identifier: BSD-3-Clause
"""The result document (docs/result-format.md): reading, validation against its schema
(docs/result.schema.json), and the wording of failures."""

from __future__ import annotations

import functools
import re
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import json_file, paths, schemas
from .text import CONTROL, one_line, plain

SCHEMA = "iogauge.result/1"
SCHEMA_FILE = paths.ROOT / "docs/result.schema.json"
WHAT = "result document"

# verdicts of a run that did not finish: a failure, or a hang
STOPPED = ("error", "hung")

# Printed by iokernel after --start-limit or if MPI_Init exits (kernels/driver/startup.c), and by
# Open MPI, whose MPI_Init ends the process at once (either line can be lost).
NOT_STARTED = re.compile(r"iokernel: error: .+ on (\S+) \(pid \d+\): MPI did not start: (.+)")
OPEN_MPI = re.compile(r"\[([^]:]+):\d+\] \*\*\* An error occurred in MPI_Init|MPI_INIT failed for")

# Counts are 64-bit; no measurable time, rate or size is larger either.
MOST = 2**63
FIRST = "/verification/first"  # a found element may have any value


class BadDocument(Exception):
    """A file does not match the schema; the text follows the file's name."""

    def __init__(self, text: str) -> None:
        super().__init__(plain(text))


def read(path: Path) -> Any:
    return json_file.read(path, WHAT)


def first_mismatch(verification: Mapping[str, Any]) -> str | None:
    first = verification.get("first")
    if not first or not isinstance(first, dict):
        return None
    index = str(first.get("index") or "").strip("[]").replace(" ", "")
    where = f"at byte {first.get('offset')} of {first.get('file')}"
    if first.get("offset") is None:
        where = f"in {first.get('file')}"
    return (
        f"{first.get('dataset')}[{index}]: expected {first.get('expected')}, found "
        f"{first.get('found')} {where} (process {first.get('process')} on {first.get('host')})"
    )


def not_started(stderr: str) -> str:
    """Why MPI did not start, equal for all jobs; empty if it did."""
    if found := NOT_STARTED.search(stderr):
        return one_line(f"MPI did not start on {found[1]}: {found[2]}")
    found = OPEN_MPI.search(stderr)
    where = f" on {plain(found[1])}" if found and found[1] else ""
    return f"MPI did not start{where}: MPI_Init failed" if found else ""


def load(path: Path) -> dict[str, Any]:
    """The document in `path`. Raises BadDocument if it is unusable."""
    try:
        text = json_file.text(path, WHAT)
        _check_text(text)
        return dict(json_file.reread(text))
    except (json_file.Unreadable, schemas.UnknownSchema) as problem:
        raise BadDocument(f": {one_line(str(problem))}") from problem


@functools.lru_cache(maxsize=4)
def _check_text(text: str) -> None:
    """Once for each text: the checks take 100 times as long as reading."""
    document = json_file.parse(text, WHAT)
    schemas.check(document, SCHEMA)
    check_whole(document)


def check_whole(document: dict[str, Any]) -> None:
    """Raises BadDocument if it violates the schema, or holds what no schema can forbid."""
    _check_values(document)
    if wrong := schemas.problem(document, SCHEMA_FILE):
        raise BadDocument(f" is not as docs/result.schema.json says: {wrong}")


def _check_values(document: dict[str, Any]) -> None:
    """Checks beyond the schema: no absurd number, no control character in a text."""
    todo: list[tuple[str, Any]] = [("", document)]
    while todo:
        above, value = todo.pop()
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(inner, str):
                if CONTROL.search(inner) and (above, key) != ("", "error"):
                    what = f"has control characters: {inner!a:.60}"
                    raise BadDocument(f": {_place(above, key)} {what}")
            elif isinstance(inner, json_file.NESTED):
                todo.append((f"{above}/{key}", inner))
            elif inner is not None and not abs(inner) < MOST and not above.startswith(FIRST):
                what = f"is {reprlib.repr(inner)}: nothing that is measured is so large"
                raise BadDocument(f": {_place(above, key)} {what}")
            if isinstance(key, str) and CONTROL.search(key):
                what = f"a key with control characters, {key!a:.60}"
                raise BadDocument(f": {one_line(above.lstrip('/'))}: {what}")


def _place(above: str, key: str | int) -> str:
    return one_line(f"{above}/{key}".lstrip("/"))
