# SPDX-License-Identifier: BSD-3-Clause
"""Is a run right? Holds a result document (docs/result-format.md) against what the test asked for.

Pure functions on plain values: no ReFrame, so that a test can hand them any document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = "iogauge.result/1"

# How much of a job's stderr a message quotes, in lines, where no line speaks of an error. One that
# does comes first: launchers add a page of their own behind it.
TAIL = 3
ERROR = re.compile(r"\berror\b", re.IGNORECASE)


class Wrong(Exception):
    """The run is not right; the text says why in one line."""


@dataclass(frozen=True)
class Expected:
    """What the test knows by itself, without having read the document.

    `payload_bytes`: one direction of one repeat, all processes, all steps. `fs_type`: the file
    system's type where the site file insists on one; a folder whose mount is gone has another.
    """

    pattern: str
    method: str
    mode: str | None
    processes: int
    repeats: int
    payload_bytes: int
    verdict: str
    directions: tuple[str, ...] = ("write", "read")
    fs_type: str | None = None


def load(path: Path) -> dict[str, Any]:
    """The document in `path`; `Wrong` where it is missing, unreadable or of an unknown schema."""
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise Wrong(f"no result document {path.name}: {error.strerror}") from error
    except ValueError as error:
        raise Wrong(f"{path.name} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise Wrong(f"{path.name} holds no object")
    schema = document.get("schema")
    if schema != SCHEMA:
        raise Wrong(f"{path.name} has schema {schema!r}; this reader knows {SCHEMA!r}")
    return document


def check(document: dict[str, Any], expected: Expected) -> None:
    """`Wrong`, with the first thing that is not as expected; a mismatch of bytes comes first."""
    try:
        for complaint in _complaints(document, expected):
            raise Wrong(complaint)
    except (KeyError, TypeError, IndexError) as error:
        raise Wrong(f"the result document lacks a part: {error!r}") from error


def _complaints(document: dict[str, Any], expected: Expected) -> Iterator[str]:
    verification = document.get("verification") or {}
    if verification.get("first"):
        yield first_mismatch(verification)
    if document["status"] != "ok":
        yield f"status {document['status']!r}: {document.get('error') or 'no reason given'}"

    verdict = verification["verdict"]
    if verdict != expected.verdict:
        yield f"verification says {verdict!r}, not {expected.verdict!r}"
    if verification["mismatches"]:
        yield f"{verification['mismatches']} elements differ, yet the verdict is {verdict!r}"

    wanted = {
        "asked.pattern": (document["asked"]["pattern"], expected.pattern),
        "asked.method": (document["asked"]["method"], expected.method),
        "asked.mode": (document["asked"]["mode"], expected.mode),
        "system.processes": (document["system"]["processes"], expected.processes),
        "number of samples": (len(document["samples"]), expected.repeats),
        "payload.bytes": (document["payload"]["bytes"], expected.payload_bytes),
    }
    if expected.fs_type:
        found_type = document["system"]["filesystem"]["type"]
        wanted["system.filesystem.type"] = (found_type, expected.fs_type)
    for what, (found, right) in wanted.items():
        if found != right:
            yield f"{what} is {found!r}, not {right!r}"

    for sample in document["samples"]:
        for direction in expected.directions:
            if not sample[direction]:
                yield f"repeat {sample['repeat']} has no {direction}"
    if verdict == "verified" and verification["bytes"] < expected.payload_bytes:
        yield f"only {verification['bytes']} of {expected.payload_bytes} bytes were verified"


def first_mismatch(verification: dict[str, Any]) -> str:
    """The first wrong element, as one line."""
    first = verification["first"]
    return (
        f"{verification['mismatches']} elements differ; the first: data set {first['dataset']}, "
        f"index {first['index']}, file {first['file']}, offset {first['offset']}: "
        f"expected {first['expected']}, found {first['found']} "
        f"(process {first['process']} on {first['host']})"
    )


def check_run(stage: Path, expected: Expected, stderr: str) -> dict[str, Any]:
    """The document of the run in `stage`, if all is right with it and with the job's end.

    The document speaks first, since it knows why; then the exit status that the script left in
    `exit_status`, which works with schedulers that do not report one.
    """
    if not (stage / "result.json").exists():
        raise Wrong(f"{_end_of_job(stage, stderr)}; it left no result.json")
    document = load(stage / "result.json")
    check(document, expected)
    status = exit_status(stage)
    if status != "0":
        raise Wrong(f"the document is right, but {_end_of_job(stage, stderr)}")
    return document


def exit_status(stage: Path) -> str | None:
    """What the script wrote as it ended; None: it was killed before it could."""
    try:
        return (stage / "exit_status").read_text().strip()
    except OSError:
        return None


def _end_of_job(stage: Path, stderr: str) -> str:
    status = exit_status(stage)
    end = "the job was killed" if status is None else f"the job ended with exit status {status}"
    try:
        text = (stage / stderr).read_text(errors="replace")
    except OSError:
        text = ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    words = next(([line] for line in lines if ERROR.search(line)), lines[-TAIL:])
    return f"{end}; stderr: {' / '.join(words) or 'empty'}"
