# SPDX-License-Identifier: BSD-3-Clause
"""Does a replay match what it replays? Compares its trace with the log, access by access."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..darshan.raw import SYNC
from . import own, schedule, trace
from .phases import Phases, find
from .plan import Plan
from .synthesise import NOTE
from .trace import READ, TOGETHER, WRITE, Choice, Trace

SHOWN = 3  # differences
SHOWN_PHASES = 20


@dataclass(frozen=True)
class Sums:
    """Sums over all processes in one direction."""

    calls: int
    bytes: int


@dataclass(frozen=True)
class PhaseTime:
    """Seconds of the process that took longest, in log and replay; whole: from begin to end."""

    number: int
    calls: int
    bytes: int
    log: float
    replay: float
    log_whole: float
    replay_whole: float


@dataclass(frozen=True)
class Comparison:
    """`wrong`: the differences, one per line; `notes`: what could not be compared."""

    log: dict[int, Sums]
    replay: dict[int, Sums]
    processes: int
    exact: int
    wrong: list[str]
    notes: list[str]
    phases: list[PhaseTime]

    @property
    def shown(self) -> list[PhaseTime]:
        """The phases to show: if there are many, the longest of the log, in order."""
        found = sorted(self.phases, key=lambda phase: -phase.log)[:SHOWN_PHASES]
        return sorted(found, key=lambda phase: phase.number)


def load(planned: Path, log: Path, replay: Path) -> tuple[Trace, Trace]:
    """A log and a replay of its schedule, files in its order."""
    header = schedule.read_header(planned)
    levels = [str(one["level"]) for one in header["files"]]
    found = []
    for source, name, made_up in ((log, "path", NOTE in header["said"]), (replay, "name", False)):
        paths = [str(one[name]) for one in header["files"]]
        found.append(trace.load(source, Choice((), False, paths, levels, made_up)))
    return found[0], found[1]


def compare(log: Trace, replay: Trace, gap: float) -> Comparison:
    """Both from `load`; `gap`: used for the schedule."""
    phases = find(log, gap)
    wrong: list[str] = []
    notes: list[str] = []
    if log.processes != replay.processes:
        wrong.append(f"{replay.processes} processes replay {log.processes}")
    if any((rows["offset"] < 0).any() for rows in replay.accesses):
        notes.append("the replay's trace does not say where MPI-IO calls begin: sizes only")
    exact = 0
    for rank, (a, b) in enumerate(zip(log.accesses, replay.accesses, strict=False)):
        what = _difference(a, b, log, bool(notes))
        exact += not what
        if what:
            wrong.append(f"process {rank}: {what}")
    wrong += _calls_by_kind(log, replay)
    times = [] if wrong else _times(log, replay, phases)
    return Comparison(
        {direction: sums(log, direction) for direction in (READ, WRITE)},
        {direction: sums(replay, direction) for direction in (READ, WRITE)},
        log.processes,
        exact,
        wrong,
        notes,
        times,
    )


def program_seconds(plan: Plan, direction: int) -> float:
    """What the program itself took in its calls, as a replay counts it: of opening, writing (or
    reading), flushing and closing, of the process that took longest in each phase. Opening and
    closing count for what the file is open for then; of several times only the sum is known. Of
    MPI-IO calls that the POSIX calls below them stand for, the mean of all processes is known. 0:
    unknown."""
    trace, phases = plan.trace, plan.phases
    if trace.synthesised:
        return 0.0
    took = np.zeros((trace.processes, len(phases)))
    written = np.zeros(len(trace.files), bool)
    for rows in trace.accesses:
        written[rows["file"][rows["write"] == WRITE]] = True
    kept = np.array([not one.below for one in trace.files])
    mpiio = {entry.path: entry for entry in trace.log.files if entry.module == "MPI-IO"}
    for rank, rows in enumerate(trace.accesses):
        steps = trace.steps_of(rank)
        rows = rows[(rows["write"] == direction) & kept[rows["file"]]]
        steps = steps[np.isin(steps["kind"], own.STEPS)]
        for_writing = (steps["kind"] == SYNC) | (written[steps["file"]] & (steps["uses"] != 1))
        steps = steps[for_writing == (direction == WRITE)]
        np.add.at(took[rank], phases.of(rows), rows["end"] - rows["start"] + rows["waited"])
        np.add.at(took[rank], phases.of(steps), steps["end"] - steps["start"])
    opens = [Counter(period.file for period in mine) for mine in plan.periods]
    users = Counter(file for mine in opens for file in mine)
    for rank, mine in enumerate(plan.periods):
        for period in mine:
            writes = period.uses > 1 if period.uses else bool(written[period.file])
            if kept[period.file] and writes == (direction == WRITE):
                entry = trace.files[period.file].counters
                seconds = max(0.0, entry.values.get("F_META_TIME", 0.0)) if entry else 0.0
                parts = users[period.file] * opens[rank][period.file]
                took[rank, period.first] += seconds / parts
    counted = 0.0
    for one, writes in zip(trace.files, written, strict=True):
        names = ["F_META_TIME"] if writes == (direction == WRITE) else []
        names += [("F_READ_TIME", "F_WRITE_TIME")[direction]]
        values = mpiio[one.path].values if one.below else {}
        counted += sum(max(0.0, values.get(name, 0.0)) for name in names)
    return float(took.max(axis=0).sum()) + counted / trace.processes


def sums(trace: Trace, direction: int) -> Sums:
    mine = [rows["length"][rows["write"] == direction] for rows in trace.accesses]
    return Sums(sum(len(some) for some in mine), sum(int(some.sum()) for some in mine))


def _difference(a: NDArray[np.void], b: NDArray[np.void], log: Trace, sizes: bool) -> str:
    n = min(len(a), len(b))
    fields = ("file", "write", "length", *(() if sizes else ("offset",)))
    same = a["form"][:n] % own.SHARED == b["form"][:n] % own.SHARED
    for name in fields:
        same &= a[name][:n] == b[name][:n]
    if not same.all():
        i = int(np.flatnonzero(~same)[0])
        return f"access {i} is {_text(b[i], log)}, and in the log {_text(a[i], log)}"
    return "" if len(a) == len(b) else f"{len(b)} accesses, and in the log {len(a)}"


def _text(row: np.void, log: Trace) -> str:
    word = "write" if row["write"] == WRITE else "read"
    path = log.files[int(row["file"])].path
    return f"a {word} of {row['length']} bytes at {row['offset']} of {path}"


def _calls_by_kind(log: Trace, replay: Trace) -> list[str]:
    """Collective calls must be collective again."""
    wrong = []
    for a, b in zip(log.files, replay.files, strict=True):
        for direction, word in ((READ, "READS"), (WRITE, "WRITES")):
            if a.level == TOGETHER and a.together[direction] and not a.own:
                had, has = a.count(f"COLL_{word}"), b.count(f"COLL_{word}")
                if had != has:
                    wrong.append(f"{has} collective {word.lower()}, and in the log {had}: {a.path}")
    return wrong


def _times(log: Trace, replay: Trace, phases: Phases) -> list[PhaseTime]:
    """An access of the replay is in the phase of the one that it repeats."""
    n = len(phases)
    longest = np.zeros((2, n))
    edges = np.empty((2, 2, n))
    edges[:, 0], edges[:, 1] = np.inf, -np.inf
    calls, moved = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for a, b in zip(log.accesses, replay.accesses, strict=True):
        phase = phases.of(a)
        calls += np.bincount(phase, minlength=n)
        np.add.at(moved, phase, a["length"])
        for which, rows in enumerate((a, b)):
            took = np.bincount(phase, rows["end"] - rows["start"], n)
            longest[which] = np.maximum(longest[which], took)
            np.minimum.at(edges[which, 0], phase, rows["start"])
            np.maximum.at(edges[which, 1], phase, rows["end"])
    whole = np.where(calls > 0, edges[:, 1] - edges[:, 0], 0.0)
    columns = [one.tolist() for one in (np.arange(n), calls, moved, *longest, *whole)]
    return [PhaseTime(*row) for row in zip(*columns, strict=True)]
