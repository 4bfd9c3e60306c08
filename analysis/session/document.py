# SPDX-License-Identifier: BSD-3-Clause
"""Read one result document. The only place that knows docs/result-format.md.

The keys that the reader uses are checked first, since its messages say more than a schema's; then
the whole document is validated against docs/result.schema.json.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from iogauge.common.document import (
    MOST,
    STOPPED,
    BadDocument,
    UnknownSchema,
    check_schema,
    check_whole,
    first_mismatch,
    read,
)
from iogauge.common.json_file import Unreadable
from iogauge.common.text import one_line, plain_all

from ..errors import MalformedDocumentError, StoppedRunError, UnknownSchemaError
from .model import CEILINGS, DIRECTIONS, OPERATIONS, Ceiling, Direction, Result, Sample

T = TypeVar("T")

LEAST = 1e-9  # MiB/s, files/s: keeps ratios finite


class _Reader:
    """Typed access to a document's keys; an error names the file, the key and the value found."""

    def __init__(self, path: Path, data: Any) -> None:
        self.path = path
        self.data = data

    def fail(self, where: str, expected: str, found: object) -> MalformedDocumentError:
        shown = "nothing" if found is None else one_line(reprlib.repr(found))
        return MalformedDocumentError(f"{self.path}: {where}: expected {expected}, found {shown}")

    def get(self, where: str, kind: type[T], data: Any = None) -> T:
        """The value at the dotted path `where`, which must be a `kind`."""
        value = self.data if data is None else data
        for key in where.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.fail(where, f"a value of type {kind.__name__}", value)
        if isinstance(value, int) and not 0 <= value < MOST:
            raise self.fail(where, f"a count from 0 to {MOST - 1}", value)
        return value

    def optional(self, where: str, kind: type[T]) -> T | None:
        parent, _, key = where.rpartition(".")
        holder = self.get(parent, dict) if parent else self.data
        if isinstance(holder, dict) and holder.get(key) is None:
            return None
        return self.get(where, kind)

    def positive(self, where: str, value: object, unit: str = "MiB/s") -> float:
        """A bandwidth or a rate. Zero is refused: it would make every ratio meaningless."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fail(where, f"a number of {unit}", value)
        if not LEAST < value < MOST:
            right = "what can be measured" if value > 0 else "a finite number above zero"
            raise self.fail(where, right, value)
        return float(value)


def read_document(path: Path) -> Result:
    """Read the result document `path`.

    Raises UnknownSchemaError for an unsupported version, StoppedRunError for the document of a run
    that stopped early, and MalformedDocumentError for a document that is missing, truncated or
    invalid.
    """
    reader = _Reader(path, _parse(path))
    try:
        check_schema(reader.data if isinstance(reader.data, dict) else {})
    except UnknownSchema as problem:
        raise UnknownSchemaError(f"{path}: {problem}") from None
    error = reader.optional("error", str)
    if reader.get("status", str) in STOPPED:
        # Such a run may have stopped before it knew the values of the keys below.
        raise StoppedRunError(error or f"{path}: the run stopped and gave no reason")
    result = _result(reader, error)
    try:
        check_whole(reader.data)
    except BadDocument as problem:
        raise MalformedDocumentError(f"{path}{problem}") from None
    return result


def check_test(path: Path, result: Result, case: Mapping[str, Any]) -> None:
    """Raises MalformedDocumentError unless the document `path` is from this test. `case`: ReFrame's
    entry of the test."""
    for name in ("pattern", "method"):
        ran, found = case.get(name), getattr(result, name)
        if ran and ran != found:
            what = f"asked.{name}: expected {ran!r}, which the test ran, found {one_line(found)!r}"
            raise MalformedDocumentError(f"{path}: {what}")


def _result(reader: _Reader, error: str | None) -> Result:
    get = reader.get
    return Result(
        error=error,
        pattern=get("asked.pattern", str),
        method=get("asked.method", str),
        mode=reader.optional("asked.mode", str),
        fsync=get("asked.fsync", bool),
        processes=get("system.processes", int),
        nodes=get("system.nodes", int),
        cores=_cores(reader),
        hosts=tuple(str(host) for host in get("system.hosts", list)),
        kernel=get("system.kernel", str),
        fs_type=get("system.filesystem.type", str),
        fs_mount=get("system.filesystem.mount", str),
        caches=reader.optional("used.caches", str) or "",
        payload_bytes=get("payload.bytes", int),
        verdict=get("verification.verdict", str),
        mismatch=first_mismatch(get("verification", dict)),
        program=f"{get('program.name', str)} {get('program.version', str)}",
        libraries={str(k): str(v) for k, v in get("libraries", dict).items()},
        samples=tuple(_sample(reader, i, s) for i, s in enumerate(get("samples", list))),
        hints={str(k): str(v) for k, v in (reader.optional("asked.hints", dict) or {}).items()},
        mpi_io=reader.optional("used.mpi_io", str) or "",
        time=reader.optional("system.time", str) or "",
        inner=str((reader.optional("asked.method_options", dict) or {}).get("inner") or ""),
        buffer=reader.optional("asked.buffer", str) or "whole",
        file_bytes=reader.optional("file_bytes", int),
        rates={
            operation: reader.positive(f"summary.{operation}_rate", value, "files/s")
            for operation in OPERATIONS
            if (value := get("summary", dict).get(f"{operation}_rate")) is not None
        },
    )


def _cores(reader: _Reader) -> int | None:
    each = reader.optional("system.cores_per_node", int)
    return each * reader.get("system.nodes", int) if each else None


def _parse(path: Path) -> Any:
    try:
        return plain_all(read(path))
    except Unreadable as problem:
        raise MalformedDocumentError(f"{path}: {problem}") from None


def _object(value: object) -> dict[str, Any]:
    """An optional key with an unexpected value is ignored."""
    return value if isinstance(value, dict) else {}


def _sample(reader: _Reader, index: int, entry: object) -> Sample:
    where = f"samples[{index}]"
    if not isinstance(entry, dict):
        raise reader.fail(where, "an object", entry)
    bandwidths: dict[Direction, float | None] = {}
    for direction in DIRECTIONS:
        part = entry.get(direction)
        name = f"{where}.{direction}"
        if part is None:
            bandwidths[direction] = None
        elif isinstance(part, dict):
            bandwidths[direction] = reader.positive(f"{name}.bandwidth", part.get("bandwidth"))
        else:
            raise reader.fail(name, "an object or null", part)
    ceilings: dict[tuple[Ceiling, Direction], float] = {}
    for ceiling in CEILINGS:
        measured = _object(_object(entry.get("ceilings")).get(ceiling))
        for direction in DIRECTIONS:
            # For a direction that was not asked for, its ceiling is meaningless.
            if bandwidths[direction] is not None and measured.get(direction) is not None:
                name = f"{where}.ceilings.{ceiling}.{direction}"
                ceilings[ceiling, direction] = reader.positive(name, measured[direction])
    repeat = reader.get("repeat", int, entry)
    summary = reader.get("summary", dict)
    given = [name for name, value in summary.items() if value is not None]
    values = _values(entry, given)
    return Sample(repeat, bandwidths["write"], bandwidths["read"], ceilings, values)


def _values(entry: dict[str, Any], given: Collection[str]) -> dict[str, float]:
    """All other numbers of a sample, named after their place. There is no list of them: a method
    may measure what no other does, such as a server's queue. `given`: the summary's content."""
    values: dict[str, float] = {}

    def walk(name: str, part: object) -> None:
        for stretch in part if isinstance(part, list) else []:
            if isinstance(stretch, dict) and "name" in stretch:
                of = f"{name.removesuffix('es')}_{stretch['name']}"
                walk(of, stretch.get("max"))
                walk(f"{of}_bw", stretch.get("bandwidth"))
        if isinstance(part, dict) and {"min", "mean", "max"} <= part.keys():
            part = part["max"]  # the others waited for the slowest process
        if isinstance(part, dict):
            for key, inner in part.items():
                if name or key not in ("repeat", "ceilings"):
                    walk(f"{name}_{_SHORT.get(key, key)}" if name else key, inner)
        elif isinstance(part, int | float) and not isinstance(part, bool) and abs(part) < MOST:
            values[name] = float(part)

    walk("", entry)
    return server_figures(values, given) | values


_SHORT = {"phases": "phase", "bandwidth": "bw"}


def server_figures(values: Mapping[str, float], given: Collection[str]) -> dict[str, float]:
    """The figures of one repeat. `values`: its other numbers, named after their place in the sample
    (`write_seconds`, `queue_busy`). `given`: the figures in the document's summary; `durable_bw`,
    for example, only exists if files were flushed. The kernel gives their medians alone."""

    def get(name: str) -> float:
        return values.get(name, math.nan)

    seconds = get("write_seconds")
    mib = get("write_bw") * seconds
    # until the application can continue after its last dump; it does not wait for the drain
    visible = seconds - get("write_phase_drain")
    apparent = _over(mib, visible)
    found = {
        "apparent_bw": apparent,
        "apparent_speedup": _over(apparent, get("direct_bw")),
        "overlap": 1 - _over(seconds, get("direct_seconds")),
        "durable_bw": _over(mib, get("queue_busy")),
    }
    kept = {name: value for name, value in found.items() if name in given and math.isfinite(value)}
    return {"apparent_seconds": visible, **kept} if "apparent_bw" in kept else kept


def _over(value: float, other: float) -> float:
    return value / other if other > 0 else math.nan
