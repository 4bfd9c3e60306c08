# SPDX-License-Identifier: BSD-3-Clause
"""A traced run as a timeline in the Trace Event Format (ui.perfetto.dev): phases, and each access
(`dxt`), else what each process moved in each interval."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from ..darshan.log import Log
from ..ledger.traced import Traced
from ..session.model import DIRECTIONS

Event = dict[str, Any]
PHASES = 0  # number of the process that stands for all: no rank has it
SECOND = 1e6  # microseconds


def events(run: Traced) -> dict[str, Any]:
    found = [*_named(run.log), *_phases(run.document, run.log), *_accesses(run.log)]
    if not run.log.segments:
        found += _moved(run.log)
    return {
        "displayTimeUnit": "ms",
        "otherData": {
            "command": run.log.command,
            "recorder": run.log.recorder,
            "ledger": str(run.judgement),
            "start": run.log.start,
        },
        "traceEvents": found,
    }


def _rows(log: Log) -> dict[tuple[str, str], int]:
    """Separate rows for what may overlap in one process."""
    modules = sorted({one.module for one in log.segments})
    names = [(module, side) for module in modules for side in DIRECTIONS]
    return {name: number for number, name in enumerate(names, 1)}


def _process(rank: int) -> int:
    return rank + 1


def _named(log: Log) -> Iterator[Event]:
    yield _name(PHASES, 0, "process_name", "phases of the run")
    for rank in range(log.processes):
        yield _name(_process(rank), 0, "process_name", f"process {rank}")
    for rank in sorted({one.rank for one in log.segments}):
        for (module, side), row in _rows(log).items():
            yield _name(_process(rank), row, "thread_name", f"{module} {side}")


def _name(process: int, row: int, what: str, name: str) -> Event:
    return {"ph": "M", "ts": 0, "pid": process, "tid": row, "name": what, "args": {"name": name}}


def _lasting(
    process: int, row: int, name: str, begin: float, end: float, category: str, **args: Any
) -> Event:
    """`begin` and `end` in seconds of the trace's time."""
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": process,
        "tid": row,
        "ts": begin * SECOND,
        "dur": max(end - begin, 0.0) * SECOND,
        "args": args,
    }


def _phases(document: dict[str, Any], log: Log) -> Iterator[Event]:
    """Phases, each from the start of the first process to the end of the last."""
    for sample in document["samples"]:
        for row, side in enumerate(DIRECTIONS):
            for span in (sample[side] or {}).get("spans") or []:
                yield _lasting(
                    PHASES,
                    row,
                    f"{side}: {span['phase']}",
                    span["begin"] - log.start,
                    span["end"] - log.start,
                    "phase",
                    repeat=sample["repeat"],
                )


def _accesses(log: Log) -> Iterator[Event]:
    rows = _rows(log)
    for one in log.segments:
        file = one.path.rpartition("/")[2]
        for side, accesses in (("write", one.writes), ("read", one.reads)):
            for offset, size, begin, end in accesses:
                yield _lasting(
                    _process(one.rank),
                    rows[one.module, side],
                    f"{side} {file}",
                    begin,
                    end,
                    one.module,
                    file=one.path,
                    offset=offset,
                    bytes=size,
                )


def _moved(log: Log) -> Iterator[Event]:
    for layer, heat in log.heat.items():
        for rank, (reads, writes) in sorted(heat.ranks.items()):
            for i, (read, written) in enumerate(zip_longest(reads, writes, fillvalue=0)):
                yield {
                    "ph": "C",
                    "name": f"{layer}, bytes in {heat.bin_seconds:g} s",
                    "cat": layer,
                    "pid": _process(rank),
                    "tid": 0,
                    "ts": i * heat.bin_seconds * SECOND,
                    "args": {"read": read, "written": written},
                }
