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
from iogauge.common.files import text_of
from iogauge.common.hints import variable
from iogauge.common.run_folder import DOCUMENT, EXIT_STATUS
from iogauge.common.tables import modes_with
from iogauge.common.text import one_line

from ..darshan.log import Log
from ..ledger.verdict import HEADER, Judgement
from . import arithmetic, evidence
from .evidence import Outside
from .evidence_of_trace import against_the_trace
from .result_file import Check, Wrong, failures, load, refuse

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


def check(doc: dict[str, Any], expected: Expected) -> None:
    """Raises `Wrong` with what is not as expected; of a run that failed, or with wrong bytes, only
    that, as the rest follows from it."""
    refuse(failures(_failed(doc)))
    refuse(_complaints(doc, expected))


def _failed(doc: dict[str, Any]) -> Iterator[Check]:
    verification = doc.get("verification") or {}
    wrong = verification.get("first") and first_mismatch(verification)
    yield wrong, f"{verification.get('mismatches')} elements differ; the first: {wrong}"
    why = one_line(str(doc.get("error") or "no reason given"))
    yield doc["status"] != "ok", f"status {doc['status']!r}: {why}"


def _complaints(doc: dict[str, Any], expected: Expected) -> Iterator[str]:
    yield from failures(_verification(doc, expected))
    yield from failures(_not_as_asked(doc, expected))
    yield from failures(_samples(doc, expected))
    yield from failures(_verified_bytes(doc, expected))
    yield from failures(_stored(doc))
    yield from arithmetic.complaints(doc)


def _verification(doc: dict[str, Any], expected: Expected) -> Iterator[Check]:
    verdict, mismatches = (doc["verification"][name] for name in ("verdict", "mismatches"))
    yield verdict != expected.verdict, f"verification says {verdict!r}, not {expected.verdict!r}"
    yield mismatches, f"{mismatches} elements differ, yet the verdict is {verdict!r}"


def _stored(doc: dict[str, Any]) -> Iterator[Check]:
    """Files hold the payload and little more; less only in modes that compress."""
    stored, files = doc["payload"].get("stored"), doc.get("file_bytes")
    mode = doc["asked"]["mode"]
    known, compresses = stored is not None, mode in modes_with("IO_COMPRESSES")
    yield known != compresses, f"payload.stored is {stored!r}, and the mode is {mode}"
    if known and compresses and files is not None:
        # Headers, and the index of chunks.
        others = stored + doc["payload"]["bytes"] // 8 + HEADER * doc["file_count"]
        yield (
            not 0 < stored <= files <= stored + others,
            f"payload.stored is {stored}, but the files have {files} bytes",
        )


def _not_as_asked(doc: dict[str, Any], expected: Expected) -> Iterator[Check]:
    asked, system = doc["asked"], doc["system"]
    hints, sources = (asked.get(name) or {} for name in ("hints", "hints_environment"))
    others = {key: by for key, by in sources.items() if by not in (variable(key), "PNETCDF_HINTS")}
    names = ("pattern", "method", "steps", "repeats", "fsync")
    given = {name: getattr(expected, name) for name in names}
    given = {name: right for name, right in given.items() if right is not None}
    wanted: dict[str, tuple[Any, Any]] = {
        "system.processes": (system["processes"], expected.processes),
        "number of samples": (len(doc["samples"]), expected.repeats),
        "payload.bytes": (doc["payload"]["bytes"], expected.payload_bytes),
        "asked.mode": (asked.get("mode"), expected.mode),
        **{f"asked.{name}": (asked.get(name), right) for name, right in given.items()},
        **{f"asked.hints.{key}": (hints.get(key), v) for key, v in expected.hints.items()},
        **{
            f"asked.hints_environment.{key}": (by, None)
            for key, by in others.items()
            if key in expected.hints
        },
    }
    if expected.ours:
        wanted["program.name"] = doc["program"]["name"], OURS
    if expected.fs_type:
        wanted["system.filesystem.type"] = system["filesystem"]["type"], expected.fs_type
    for what, (found, right) in wanted.items():
        yield found != right, f"{what} is {found!r}, not {right!r}"


def _samples(doc: dict[str, Any], expected: Expected) -> Iterator[Check]:
    for sample in doc["samples"]:
        repeat = f"repeat {sample['repeat']}"
        for direction in expected.directions:
            yield not sample[direction], f"{repeat} has no {direction}"
        has = "no ceilings" if expected.ceilings else "ceilings that nobody asked for"
        asked = expected.ceilings is not None
        yield asked and bool(sample["ceilings"]) != expected.ceilings, f"{repeat} has {has}"


def _verified_bytes(doc: dict[str, Any], expected: Expected) -> Iterator[Check]:
    """Everything read in all repeats, no less and no more."""
    found = doc["verification"]["bytes"]
    read = [sample for sample in doc["samples"] if sample["read"]]
    wanted = expected.payload_bytes * len(read)
    each = f"{len(read)} repeats of {expected.payload_bytes}"
    verified = expected.verdict == "verified"
    yield verified and found < wanted, f"only {found} of {wanted} bytes were verified ({each})"
    yield (
        verified and found > wanted,
        f"{found} bytes were verified, more than the {wanted} that were read",
    )
    for sample in (sample for sample in read if sample.get("direct")):
        beside = sample["direct"].get("verified", 0)
        some = f"{beside} of {expected.payload_bytes} bytes"
        yield (
            beside != expected.payload_bytes,
            f"repeat {sample['repeat']}: of direct writing {some} were verified",
        )
    yield (
        expected.verdict == "nothing moved" and found,
        f"{found} bytes were verified, yet nothing was moved",
    )


def check_run(
    stage: Path, expected: Expected, stderr: str, outside: Outside | None = None
) -> dict[str, Any]:
    """The document of the run in `stage`, if it and the job's end are right. The document speaks
    first, since it knows why; then the exit status that the script wrote."""
    if not (stage / DOCUMENT).exists():
        why = not_started(text_of(stage / stderr))
        raise Wrong(why or f"{_end_of_job(stage, stderr)}; it left no result.json")
    doc = load(stage / DOCUMENT)
    check(doc, expected)
    status = exit_status(stage)
    if status != "0":
        raise Wrong(f"the document is right, but {_end_of_job(stage, stderr)}")
    check_evidence(doc, outside)
    return doc


def check_evidence(doc: dict[str, Any], outside: Outside | None) -> None:
    """Raises `Wrong` if the document contradicts the harness's clock or the storage."""
    found = chain(evidence.spans_and_seconds(doc), evidence.against_the_caches(doc, outside))
    refuse(chain(found, evidence.against_the_clock(doc, outside) if outside else ()))


def check_trace(
    doc: dict[str, Any],
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
    contradicted = against_the_trace(doc, log, outside, ours=expected.ours)
    refuse(chain((f"contradicted by the trace: {one}" for one in contradicted), beside))


def exit_status(stage: Path) -> str | None:
    """The status that the script wrote at its end; None if it was killed before."""
    return text_of(stage / EXIT_STATUS).strip() or None


def _end_of_job(stage: Path, stderr: str) -> str:
    status = exit_status(stage)
    end = "the job was killed" if status is None else f"the job ended with exit status {status}"
    lines = [line.strip() for line in text_of(stage / stderr).splitlines() if line.strip()]
    words = next(([line] for line in lines if ERROR.search(line)), lines[-TAIL:])
    return f"{end}; stderr: {' / '.join(words) or 'empty'}"
