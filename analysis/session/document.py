# SPDX-License-Identifier: BSD-3-Clause
"""Read one result document. No other module knows its format (docs/result-format.md)."""

import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from iogauge.common.document import (
    MOST,
    SCHEMA,
    STOPPED,
    BadDocument,
    check_whole,
    first_mismatch,
    read,
)
from iogauge.common.json_file import Unreadable
from iogauge.common.schemas import UnknownSchema, check
from iogauge.common.text import one_line, plain_all

from ..errors import MalformedDocumentError, StoppedRunError, UnknownSchemaError, reraised
from .model import CEILINGS, DIRECTIONS, LATENCY, OPERATIONS, Result, Sample

SMALL = ("small", "files")  # of the ceilings: a second
LEAST = 1e-9  # MiB/s, files/s: keeps ratios finite


def read_document(path: Path) -> Result:
    """Raises StoppedRunError, UnknownSchemaError and MalformedDocumentError."""
    with (
        reraised((Unreadable, ValueError), MalformedDocumentError, f"{path}: "),
        reraised(BadDocument, MalformedDocumentError, path),
        reraised(UnknownSchema, UnknownSchemaError, f"{path}: "),
    ):
        data = plain_all(read(path))
        check(data, SCHEMA)
        if data.get("status") in STOPPED:
            # Such a run may have stopped before it knew the rest.
            raise StoppedRunError(
                str(data.get("error") or f"{path}: the run stopped and gave no reason")
            )
        check_whole(data)
        return _result(data)


def check_test(path: Path, result: Result, case: Mapping[str, Any]) -> None:
    """Raises MalformedDocumentError unless the document `path` is of ReFrame's `case`."""
    for name in ("pattern", "method"):
        ran, found = case.get(name), getattr(result, name)
        if ran and ran != found:
            what = f"asked.{name}: expected {ran!r}, which the test ran, found {one_line(found)!r}"
            raise MalformedDocumentError(f"{path}: {what}")


def _result(data: dict[str, Any]) -> Result:
    asked, used, system = data["asked"], data["used"], data["system"]
    summary, program = data["summary"], data["program"]
    cores = system.get("cores_per_node")
    return Result(
        error=data["error"],
        pattern=asked["pattern"],
        method=asked["method"],
        mode=asked.get("mode"),
        fsync=asked["fsync"],
        processes=int(system["processes"]),
        nodes=int(system["nodes"]),
        cores=int(cores * system["nodes"]) if cores else None,
        hosts=tuple(system["hosts"]),
        kernel=system["kernel"],
        fs_type=system["filesystem"]["type"],
        caches=used.get("caches") or "",
        payload_bytes=int(data["payload"]["bytes"]),
        verdict=data["verification"]["verdict"],
        mismatch=first_mismatch(data["verification"]),
        program=f"{program['name']} {program['version']}",
        libraries=data["libraries"],
        samples=tuple(_sample(one, summary) for one in data["samples"]),
        hints=asked.get("hints") or {},
        mpi_io=used.get("mpi_io") or "",
        time=system.get("time") or "",
        inner=str((asked.get("method_options") or {}).get("inner") or ""),
        buffer=asked.get("buffer") or "whole",
        file_bytes=data.get("file_bytes"),
        rates={
            operation: _measurable(value)
            for operation in OPERATIONS
            if (value := summary.get(f"{operation}_rate")) is not None
        },
    )


def _measurable(value: float) -> float:
    """A bandwidth or a rate. Raises ValueError for one that would make ratios meaningless."""
    if value <= LEAST:
        raise ValueError(f"{value} MiB/s or files/s: nothing that is measured is so small")
    return float(value)


def _sample(entry: dict[str, Any], summary: Mapping[str, Any]) -> Sample:
    write, read = (
        _measurable(entry[side]["bandwidth"]) if entry.get(side) else None for side in DIRECTIONS
    )
    given = entry.get("ceilings") or {}
    ceilings = {
        (ceiling, direction): _measurable(value)
        for ceiling in CEILINGS
        for direction in DIRECTIONS
        # For a direction that was not asked for, its ceiling is meaningless.
        if entry.get(direction) and (value := (given.get(ceiling) or {}).get(direction))
    }
    known = [name for name, value in summary.items() if value is not None]
    small = {name: given[name] for name in SMALL if name in given}
    values = _values({**entry, "ceilings": small}, known)
    return Sample(int(entry["repeat"]), write, read, ceilings, values)


def _values(entry: dict[str, Any], given: Collection[str]) -> dict[str, float]:
    """All other numbers of a sample, named after their place. They are not listed here: a method
    may measure what no other does, such as a server's queue. `given`: the summary's content."""
    values = dict(_walk("", entry))
    for side in DIRECTIONS:
        times = (entry.get(side) or {}).get("latency") or {}
        values |= {f"{side}_{name}": times[name] for name in LATENCY if name in times}
    return server_figures(values, given) | values


_SHORT = {"phases": "phase", "bandwidth": "bw"}


def _walk(name: str, part: object) -> Iterator[tuple[str, float]]:
    for stretch in part if isinstance(part, list) else []:
        if isinstance(stretch, dict) and "name" in stretch:
            of = f"{name.removesuffix('es')}_{stretch['name']}"
            yield from _walk(of, stretch.get("max"))
            yield from _walk(f"{of}_bw", stretch.get("bandwidth"))
    if isinstance(part, dict) and {"min", "mean", "max"} <= part.keys():
        part = part["max"]  # the other processes waited for the slowest
    if isinstance(part, dict):
        for key, inner in part.items():
            if key not in (("latency",) if name else ("repeat",)):
                yield from _walk(f"{name}_{_SHORT.get(key, key)}" if name else key, inner)
    elif isinstance(part, int | float) and not isinstance(part, bool) and abs(part) < MOST:
        yield name, float(part)


def server_figures(values: Mapping[str, float], given: Collection[str]) -> dict[str, float]:
    """The figures of one repeat. `values`: its other numbers (`write_seconds`, `queue_busy`).
    `given`: the figures in the document's summary, which has their medians alone."""

    def get(name: str) -> float:
        return values.get(name, math.nan)

    seconds = get("write_seconds")
    mib = get("write_bw") * seconds
    # until the application continues after its last dump: without drain and move
    visible = seconds - get("write_phase_drain") - values.get("write_phase_move", 0.0)
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
