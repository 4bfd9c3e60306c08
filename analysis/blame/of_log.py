# SPDX-License-Identifier: BSD-3-Clause
"""A Darshan log with single accesses (DXT), as the table of all accesses."""

from pathlib import Path

import numpy as np

from ..replay.phases import GAP, Phases, find
from ..replay.trace import DATA_SETS, Choice, Trace, load
from ..replay.trace import POSIX as POSIX_CALLS
from .accesses import ACCESS, MPIIO, POSIX, WRITE, Traced

CALLS = ["read", "write"]
BELOW = "replayed as the POSIX calls of its MPI library: "


def of_log(path: Path) -> tuple[Traced, Phases]:
    """The accesses, and the pauses common to all processes: a log has no other order."""
    below, above = load(path, Choice(posix=True)), load(path)
    hosts = [below.hosts.get(rank) or "?" for rank in range(below.processes)]
    files = sorted({one.path for trace in (below, above) for one in trace.files})
    tables = [_table(below, POSIX, files)]
    if any(one.level != POSIX_CALLS for one in above.files):
        tables.append(_table(above, MPIIO, files))
    traced = Traced(
        path,
        files,
        list(CALLS),
        hosts,
        np.concatenate(tables),
        None,
        unsure=None,
        said=[text for text in below.said if not text.startswith((BELOW, DATA_SETS))],
    )
    traced.said += [
        f"only the POSIX calls are judged: {text.removeprefix(BELOW)}"
        for text in above.said
        if text.startswith(BELOW)
    ]
    phases = find(below)
    traced.said += phases.say(GAP)
    traced.said.append(
        "a log keeps no barrier, lock or sync: accesses of different phases are taken as ordered "
        "and accesses of one phase as not, from time alone"
    )
    if len(set(traced.hosts)) > 1:
        traced.said.append("times of different hosts are from their own clocks, as logged")
    else:
        traced.unsure = 0.0 if below.log.by_runtime is False else None
    return traced, phases


def _table(trace: Trace, layer: int, files: list[str]) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    number = np.array([files.index(one.path) for one in trace.files])
    level = np.array([POSIX if one.level == POSIX_CALLS else MPIIO for one in trace.files])
    found = []
    for rank, rows in enumerate(trace.accesses):
        rows = rows[level[rows["file"]] == layer]
        made = np.empty(len(rows), ACCESS)
        made["file"], made["process"], made["layer"] = number[rows["file"]], rank, layer
        made["write"], made["call"] = rows["write"], np.where(rows["write"] == WRITE, 1, 0)
        made["sequence"] = made["row"] = np.arange(len(rows))
        for name in ("offset", "length", "start", "end"):
            made[name] = rows[name]
        found.append(made)
    return np.concatenate([*found, np.empty(0, ACCESS)])
