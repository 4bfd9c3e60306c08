# SPDX-License-Identifier: BSD-3-Clause
"""The real IOR's JSON summary (4.x, `-O summaryFormat=JSON`) as our result document. What it does
not report, such as minima and means over processes, is null here, never guessed. Wrong bytes are a
line on stdout and the exit status, without a place."""

import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from iogauge.analysis.checks.result_file import Wrong
from iogauge.common import json_file
from iogauge.common.document import SCHEMA
from iogauge.common.files import text_of
from iogauge.common.hints import sort_hints
from iogauge.common.mounts import IN_MEMORY
from iogauge.common.run_folder import DOCUMENT

INCORRECT = re.compile(r"Incorrect data on (\w+) \((\d+) errors? found\)")
ERROR_LINE = re.compile(r"^ERROR: .*$", re.MULTILINE)

# IOR's name of a phase, and ours, for each direction.
PHASES = {
    "write": {"openTime": "create", "wrRdTime": "write", "closeTime": "close"},
    "read": {"openTime": "open", "wrRdTime": "read", "closeTime": "close"},
}


@dataclass(frozen=True)
class Asked:
    """What IOR does not report. `ceilings`: of iokernel's samples; `ceilings_uncached`: cold."""

    method: str
    mode: str | None
    directory: str
    mount: dict[str, str]
    hints: dict[str, str] = field(default_factory=dict)
    prefix: str | None = None
    hosts: tuple[str, ...] = ()
    ceilings: tuple[dict[str, Any], ...] = ()
    ceilings_uncached: bool = False


def convert(summary: str, stdout: str, asked: Asked) -> dict[str, Any]:
    """`summary`: the text of IOR's file; `stdout`: its output. A truncated summary (IOR aborted)
    gives a document with status `error` and IOR's own message. `Wrong`: not in IOR 4's form."""
    try:
        ior = json_file.parse(summary)
    except json_file.Unreadable:
        return _error_document(stdout, asked)
    try:
        return _document(ior, stdout, asked)
    except (KeyError, IndexError, TypeError) as error:
        raise Wrong(f"IOR's summary lacks a part: {error!r}") from error


def _document(ior: dict[str, Any], stdout: str, asked: Asked) -> dict[str, Any]:
    test = ior["tests"][0]
    parameters, results = test["Parameters"], test["Results"]
    tasks, nodes = test["Options"]["tasks"], parameters["nodes"]
    payload = parameters["blockSize"] * parameters["segmentCount"] * tasks
    calls = payload // parameters["transferSize"] // tasks
    samples = _samples(results, parameters["repetitions"], calls)
    # IOR drops no caches, and -C reads another node's data only if there is one.
    caches = "memory" if asked.mount["type"] in IN_MEMORY else "cached"
    comparable = caches == "memory" or not asked.ceilings_uncached
    _add_ceilings(samples, asked.ceilings, comparable_reads=comparable)
    verification = _verification(parameters, payload, stdout)
    wrong = verification["verdict"] == "mismatch"
    return {
        "schema": SCHEMA,
        "status": "failed" if wrong else "ok",
        "error": INCORRECT.search(stdout).group(0) if wrong else None,  # type: ignore[union-attr]
        "program": {"name": "ior", "version": ior["Version"], "build": None, "compiler": None},
        "libraries": {},
        "asked": _asked(asked, ior["Command line"].split(), parameters),
        "system": _system(asked, ior, tasks, nodes),
        "used": {
            "hints": {},
            "hints_ignored": [],
            "mpi_io": None,
            "caches": caches,
            "resident_fraction": None,
        },
        "payload": {"bytes": payload, "calls": calls, "datasets": []},
        "files": [],
        "file_count": tasks if parameters["filePerProc"] else 1,
        "file_bytes": None,
        "samples": samples,
        "summary": _summary(samples),
        "verification": verification,
        "memory": {"peak_rss": None, "data": payload // tasks},
    }


def _asked(asked: Asked, argv: list[str], parameters: dict[str, Any]) -> dict[str, Any]:
    names = {"block": "blockSize", "transfer": "transferSize", "segments": "segmentCount"}
    flags = {
        "file_per_process": "filePerProc",
        "reorder": "reorderTasks",
        "shuffle": "reorderTasksRandom",
    }
    options = {ours: parameters[theirs] for ours, theirs in names.items()}
    options |= {ours: bool(parameters[theirs]) for ours, theirs in flags.items()}
    return {
        "argv": argv,
        "pattern": "ior",
        "pattern_options": options,
        "method": asked.method,
        "mode": asked.mode,
        "directory": asked.directory,
        "hints": asked.hints,
        "hints_environment": sort_hints(asked.hints).variables,
        "prefix": asked.prefix,
        "steps": 1,
        "repeats": parameters["repetitions"],
        "fsync": bool(parameters["fsync"]),
        "seed": None,
        "buffer": "reused",
    }


def _system(asked: Asked, ior: dict[str, Any], tasks: int, nodes: int) -> dict[str, Any]:
    # IOR prints local time without its zone, and runs in our time zone.
    began = datetime.strptime(ior["Began"], "%a %b %d %H:%M:%S %Y").astimezone(timezone.utc)
    return {
        "time": began.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "processes": tasks,
        "nodes": nodes,
        "hosts": list(asked.hosts),
        "processes_per_node": -(-tasks // nodes),
        "cores_per_node": None,
        "kernel": ior["Machine"],
        "filesystem": asked.mount,
    }


def _samples(results: list[dict[str, Any]], repeats: int, calls: int) -> list[dict[str, Any]]:
    """IOR lists each repeat's write and read one after the other."""
    none = {"write": None, "read": None, "ceilings": None}
    samples: list[dict[str, Any]] = [{"repeat": repeat, **none} for repeat in range(repeats)]
    seen = {"write": 0, "read": 0}
    for result in results:
        direction = result["access"]
        samples[seen[direction]][direction] = {
            "seconds": result["totalTime"],
            "bandwidth": result["bwMiB"],
            "library_calls": calls,
            "phases": {
                ours: {"min": None, "mean": None, "max": result[theirs]}
                for theirs, ours in PHASES[direction].items()
            },
        }
        seen[direction] += 1
    return samples


def _add_ceilings(
    samples: list[dict[str, Any]], measured: tuple[dict[str, Any], ...], comparable_reads: bool
) -> None:
    """A read from the page cache is no share of a read from disk: then there is no read ceiling."""
    for sample, other in zip(samples, measured, strict=False):
        if other["ceilings"]:
            sample["ceilings"] = {
                kind: {**rates, "read": rates["read"] if comparable_reads else None}
                for kind, rates in other["ceilings"].items()
            }


def _verification(parameters: dict[str, Any], payload: int, stdout: str) -> dict[str, Any]:
    mismatches = sum(int(match.group(2)) for match in INCORRECT.finditer(stdout))
    checked = bool(parameters["checkRead"] or parameters["checkWrite"])
    verdict = "mismatch" if mismatches else "verified" if checked else "not asked"
    checked_bytes = payload * parameters["repetitions"] if checked else 0
    return {
        "verdict": verdict,
        "bytes": checked_bytes,
        "elements": checked_bytes,
        "mismatches": mismatches,
        "first": None,
    }


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        value = value[key] if value else None
    return value


def _summary(samples: list[dict[str, Any]]) -> dict[str, float | None]:
    """Medians over the repeats."""

    def middle(direction: str, *path: str) -> float | None:
        values = [_at(sample[direction], path) for sample in samples]
        known = [value for value in values if value is not None]
        return median(known) if known else None

    def fraction(direction: str, ceiling: str) -> float | None:
        values = [
            sample[direction]["bandwidth"] / sample["ceilings"][ceiling][direction]
            for sample in samples
            if sample[direction] and sample["ceilings"] and sample["ceilings"][ceiling][direction]
        ]
        return median(values) if values else None

    return {
        "write_bw": middle("write", "bandwidth"),
        "read_bw": middle("read", "bandwidth"),
        "open_time": middle("write", "phases", "create", "max"),
        "close_time": middle("write", "phases", "close", "max"),
        "read_open_time": middle("read", "phases", "open", "max"),
        "write_fraction_fpp": fraction("write", "fpp"),
        "read_fraction_fpp": fraction("read", "fpp"),
        "write_fraction_shared": fraction("write", "shared"),
        "read_fraction_shared": fraction("read", "shared"),
    }


def _error_document(stdout: str, asked: Asked) -> dict[str, Any]:
    """IOR stopped before its summary was complete."""
    found = ERROR_LINE.search(stdout)
    message = found.group(0).removeprefix("ERROR: ") if found else "it stopped without a message"
    return {
        "schema": SCHEMA,
        "status": "error",
        "error": f"ior: {message}",
        "program": {"name": "ior", "version": None, "build": None, "compiler": None},
        "asked": {
            "pattern": "ior",
            "method": asked.method,
            "mode": asked.mode,
            "directory": asked.directory,
        },
    }


def convert_files(folder: Path, stdout: Path, asked: Asked) -> None:
    """`result.json` in `folder` from `ior.json` and, if it is there, `ceilings.json`."""
    document = convert(text_of(folder / "ior.json"), stdout.read_text(errors="replace"), asked)
    json_file.write(folder / DOCUMENT, document)
