# SPDX-License-Identifier: BSD-3-Clause
"""Is a run right? Checks a result document against the test's request and against evidence from
outside the kernel. Pure functions on plain values, without ReFrame."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from iogauge.common.document import first_mismatch, not_started
from iogauge.common.hints import variable
from iogauge.common.run_folder import DOCUMENT, EXIT_STATUS
from iogauge.common.tables import modes_with
from iogauge.common.text import one_line

from ..darshan.log import Log
from ..ledger.verdict import HEADER, Judgement
from . import arithmetic, evidence
from .evidence import Outside
from .evidence_of_trace import against_the_trace
from .result_file import Wrong, load, refuse

TAIL = 3  # lines of a job's stderr that a message quotes if none mentions an error
OURS = "iokernel"  # the program whose behaviour is known
ERROR = re.compile(r"\berror\b", re.IGNORECASE)


@dataclass(frozen=True)
class Expected:
    """What the test knows without reading the document.

    `payload_bytes`: one direction of one repeat, all processes, all steps. `fs_type`: the file
    system's type if the site file insists on one; a folder whose mount is gone has another. `ours`:
    the program is iokernel. None: not asked for.
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
    steps: int | None = None
    fsync: bool | None = None
    ceilings: bool | None = None
    hints: Mapping[str, str] = field(default_factory=dict)
    ours: bool = True


def check(document: dict[str, Any], expected: Expected) -> None:
    """Raises `Wrong` with what is not as expected; of a run that failed, or with wrong bytes, only
    that, as the rest follows from it."""
    refuse(_failed(document))
    refuse(_complaints(document, expected))


def _failed(document: dict[str, Any]) -> Iterator[str]:
    verification = document.get("verification") or {}
    if verification.get("first"):
        wrong = first_mismatch(verification)
        yield f"{verification['mismatches']} elements differ; the first: {wrong}"
    if document["status"] != "ok":
        why = one_line(str(document.get("error") or "no reason given"))
        yield f"status {document['status']!r}: {why}"


def _complaints(document: dict[str, Any], expected: Expected) -> Iterator[str]:
    verification = document["verification"]
    verdict = verification["verdict"]
    if verdict != expected.verdict:
        yield f"verification says {verdict!r}, not {expected.verdict!r}"
    if verification["mismatches"]:
        yield f"{verification['mismatches']} elements differ, yet the verdict is {verdict!r}"

    yield from _not_as_asked(document, expected)
    yield from _verified_bytes(document, expected)
    yield from _stored(document)
    yield from arithmetic.complaints(document)


def _stored(document: dict[str, Any]) -> Iterator[str]:
    """Files hold the payload and little more; less only in modes that compress."""
    stored, files = document["payload"].get("stored"), document.get("file_bytes")
    mode = document["asked"]["mode"]
    if (stored is not None) != (mode in modes_with("IO_COMPRESSES")):
        yield f"payload.stored is {stored!r}, and the mode is {mode}"
    elif stored is not None and files is not None:
        # Headers, and the index of chunks.
        others = stored + document["payload"]["bytes"] // 8 + HEADER * document["file_count"]
        if not 0 < stored <= files <= stored + others:
            yield f"payload.stored is {stored}, but the files have {files} bytes"


def _not_as_asked(document: dict[str, Any], expected: Expected) -> Iterator[str]:
    asked = document["asked"]
    wanted: dict[str, tuple[Any, Any]] = {
        "system.processes": (document["system"]["processes"], expected.processes),
        "number of samples": (len(document["samples"]), expected.repeats),
        "payload.bytes": (document["payload"]["bytes"], expected.payload_bytes),
    }
    for name in ("pattern", "method", "mode", "steps", "repeats", "fsync"):
        right = getattr(expected, name)
        if right is not None or name == "mode":
            wanted[f"asked.{name}"] = asked.get(name), right
    hints = asked.get("hints") or {}
    wanted |= {f"asked.hints.{k}": (hints.get(k), right) for k, right in expected.hints.items()}
    for key, source in (asked.get("hints_environment") or {}).items():
        if key in expected.hints and source not in (variable(key), "PNETCDF_HINTS"):
            wanted[f"asked.hints_environment.{key}"] = source, None
    if expected.ours:
        wanted["program.name"] = (document["program"]["name"], OURS)
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
        if expected.ceilings is not None and bool(sample["ceilings"]) != expected.ceilings:
            has = "no ceilings" if expected.ceilings else "ceilings that nobody asked for"
            yield f"repeat {sample['repeat']} has {has}"


def _verified_bytes(document: dict[str, Any], expected: Expected) -> Iterator[str]:
    """Everything read in all repeats, no less and no more."""
    found = document["verification"]["bytes"]
    reads = sum(1 for sample in document["samples"] if sample["read"])
    wanted = expected.payload_bytes * reads
    each = f"{reads} repeats of {expected.payload_bytes}"
    if expected.verdict == "verified" and found < wanted:
        yield f"only {found} of {wanted} bytes were verified ({each})"
    if expected.verdict == "verified" and found > wanted:
        yield f"{found} bytes were verified, more than the {wanted} that were read"
    for sample in document["samples"]:
        beside = (sample.get("direct") or {}).get("verified", 0)
        if sample.get("direct") and sample["read"] and beside != expected.payload_bytes:
            some = f"{beside} of {expected.payload_bytes} bytes"
            yield f"repeat {sample['repeat']}: of direct writing {some} were verified"
    if expected.verdict == "nothing moved" and found:
        yield f"{found} bytes were verified, yet nothing was moved"


def check_run(
    stage: Path, expected: Expected, stderr: str, outside: Outside | None = None
) -> dict[str, Any]:
    """The document of the run in `stage`, if it and the job's end are right. The document speaks
    first, since it knows why; then the exit status that the script wrote."""
    if not (stage / DOCUMENT).exists():
        why = not_started(_stderr(stage, stderr))
        raise Wrong(why or f"{_end_of_job(stage, stderr)}; it left no result.json")
    document = load(stage / DOCUMENT)
    check(document, expected)
    status = exit_status(stage)
    if status != "0":
        raise Wrong(f"the document is right, but {_end_of_job(stage, stderr)}")
    check_evidence(document, outside)
    return document


def check_evidence(document: dict[str, Any], outside: Outside | None) -> None:
    """Raises `Wrong` if the document contradicts the harness's clock or the storage."""
    found = chain(
        evidence.spans_and_seconds(document), evidence.against_the_caches(document, outside)
    )
    refuse(chain(found, evidence.against_the_clock(document, outside) if outside else ()))


def check_trace(
    document: dict[str, Any],
    expected: Expected,
    judgement: Judgement | None,
    log: Log | None,
    outside: Outside | None = None,
    beside: Iterable[str] = (),
) -> None:
    """Raises `Wrong` for unexplained bytes, an inconclusive trace, and statements of the document
    that it, or what lies `beside` it, does not show."""
    judgement = judgement or Judgement("inconclusive", ("no trace was read",))
    if judgement.verdict == "unbalanced":
        raise Wrong(f"the byte ledger does not add up: {judgement}")
    if judgement.verdict == "inconclusive" or not log:
        advice = "-S trace=false runs without a trace, and says so"
        raise Wrong(f"no verdict from the trace: {judgement}; {advice}")
    contradicted = against_the_trace(document, log, outside, ours=expected.ours)
    refuse(chain((f"contradicted by the trace: {one}" for one in contradicted), beside))


def exit_status(stage: Path) -> str | None:
    """The status that the script wrote at its end; None if it was killed before."""
    try:
        return (stage / EXIT_STATUS).read_text().strip()
    except OSError:
        return None


def _end_of_job(stage: Path, stderr: str) -> str:
    status = exit_status(stage)
    end = "the job was killed" if status is None else f"the job ended with exit status {status}"
    lines = [line.strip() for line in _stderr(stage, stderr).splitlines() if line.strip()]
    words = next(([line] for line in lines if ERROR.search(line)), lines[-TAIL:])
    return f"{end}; stderr: {' / '.join(words) or 'empty'}"


def _stderr(stage: Path, name: str) -> str:
    try:
        return (stage / name).read_text(errors="replace")
    except OSError:
        return ""
