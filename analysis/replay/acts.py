# SPDX-License-Identifier: BSD-3-Clause
"""One process's acts: its accesses as few strided runs, with opens, closes, flushes and phases."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..darshan import raw
from . import own, schedule
from .phases import Phases
from .trace import TOGETHER, Trace

# The order at one place and phase.
_PHASE, _OPEN, _STEP, _RUN, _SYNC, _CLOSE = range(6)
STEPS = {
    raw.OPEN: schedule.OPEN,
    raw.CLOSE: schedule.CLOSE,
    raw.SYNC: schedule.SYNC,
    raw.VIEW: schedule.VIEW,
    raw.WAIT: schedule.WAIT,
    own.END: schedule.WAIT,
}


@dataclass(frozen=True)
class Period:
    """A file is open from one phase to another, for reading (1), writing (2), both, or (0) whatever
    it is used for. `flush`: it is flushed at the end."""

    file: int
    first: int
    last: int
    flush: bool
    uses: int


def runs(
    rows: NDArray[np.void], phase: NDArray[np.int64], steps: NDArray[np.void] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First access and number of accesses of each strided run: same file, direction, length and
    phase, and equal distances, with none of `steps` between them."""
    n = len(rows)
    if not n:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    same = np.zeros(n, bool)
    same[1:] = (
        (rows["file"][1:] == rows["file"][:-1])
        & (rows["write"][1:] == rows["write"][:-1])
        & (rows["length"][1:] == rows["length"][:-1])
        & (phase[1:] == phase[:-1])
        & (rows["view"][1:] == rows["view"][:-1])
        & (rows["form"][1:] == rows["form"][:-1])
    )
    if steps is not None:
        before = np.searchsorted(steps["start"], rows["start"], side="right")
        same[1:] &= before[1:] == before[:-1]
    step = np.diff(rows["offset"], prepend=0)
    # A run ends where the step changes. The step into a run's first access is not its own, so of
    # consecutive changes every second one ends a run.
    change = np.zeros(n, bool)
    change[2:] = same[2:] & same[1:-1] & (step[2:] != step[1:-1])
    begins = np.concatenate(([False], change[1:] & ~change[:-1]))
    at = np.arange(n)
    within = at - np.maximum.accumulate(np.where(begins, at, 0))
    change &= within % 2 == 0
    first = np.flatnonzero(~same | change)
    return first, np.diff(np.append(first, n))


def kinds(trace: Trace) -> NDArray[np.uint64]:
    """Which act an access is, by file, form and direction (READ, WRITE)."""
    table = np.zeros((len(trace.files), max(schedule.MOVES) + 1, 2), np.uint64)
    for i, one in enumerate(trace.files):
        for form, both in schedule.MOVES.items():
            table[i, form] = both
        for direction in range(2):
            if one.level == TOGETHER and one.together[direction]:
                table[i, own.SINGLE, direction] = table[i, own.ALL, direction]
    return table


def acts_of(
    trace: Trace, rank: int, phases: Phases, periods: list[Period], kind: NDArray[np.uint64]
) -> NDArray[np.void]:
    rows = trace.accesses[rank]
    phase = phases.of(rows)
    steps = trace.steps_of(rank)
    first, count = runs(rows, phase, steps)
    second = np.minimum(first + 1, max(len(rows) - 1, 0))
    moves = np.zeros(len(first), schedule.ACT)
    begun = rows[first]
    moves["kind"] = kind[begun["file"], begun["form"], begun["write"]]
    for name in ("file", "offset", "length"):
        moves[name] = begun[name]
    moves["stride"] = np.where(count > 1, rows["offset"][second] - begun["offset"], 0)
    moves["count"] = count
    run_phase = phase[first]
    others, keys = _others(trace, begun, run_phase, phases, periods)
    moves["file"] |= begun["view"].astype(np.uint64) << np.uint64(schedule.VIEW_BITS)
    steps, ends = _steps(rows, steps)
    before = np.searchsorted(begun["start"], steps["start"], side="right")
    place = np.concatenate((np.arange(len(first)), keys[0], before))
    when = np.concatenate((run_phase, keys[1], phases.of(steps)))
    what = np.concatenate((np.full(len(first), _RUN), keys[2], np.full(len(steps), _STEP)))
    all_ = np.concatenate((moves, others, ends))
    return all_[np.lexsort((what, when, place))]


def _steps(
    rows: NDArray[np.void], steps: NDArray[np.void]
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """The steps, and their acts. The ends of several accesses in one call are one act."""
    later = rows["form"] & own.ENDS > 0
    ended = np.isin(steps["kind"], (raw.WAIT, own.END))
    number = steps["what"].astype(np.uint64)
    for i in np.unique(steps["file"][ended]):
        of_process = np.flatnonzero(rows["file"][later] == i)
        mine = ended & (steps["file"] == i)
        number[mine] = of_process[number[mine].astype(np.int64)]
    new = np.ones(len(steps), bool)
    new[1:] = (
        ~ended[1:]
        | (steps["kind"][1:] != steps["kind"][:-1])
        | (steps["file"][1:] != steps["file"][:-1])
        | (steps["end"][1:] != steps["end"][:-1])
        | (number[1:] != number[:-1] + 1)
    )
    first = np.flatnonzero(new)
    kept = steps[first]
    acts = np.zeros(len(kept), schedule.ACT)
    acts["kind"] = [STEPS[kind] for kind in kept["kind"].tolist()]
    view = np.where(kept["kind"] == raw.VIEW, number[first], 0).astype(np.uint64)
    acts["file"] = kept["file"] + (view << np.uint64(schedule.VIEW_BITS))
    acts["length"] = np.where(kept["kind"] == raw.OPEN, kept["uses"], 0)
    acts["offset"] = np.where(ended[first], number[first], 0)
    acts["count"] = np.where(ended[first], np.diff(np.append(first, len(steps))), 0)
    return kept, acts


def _others(
    trace: Trace,
    begun: NDArray[np.void],
    run_phase: NDArray[np.int64],
    phases: Phases,
    periods: list[Period],
) -> tuple[NDArray[np.void], tuple[NDArray[np.int64], ...]]:
    """Acts that move nothing, and their places: run, phase, and order."""
    numbers = np.arange(1, len(phases))
    rows = [(schedule.PHASE, 0, round(s * 1e9)) for s in phases.pauses]
    keys = [
        (int(place), int(p), _PHASE)
        for place, p in zip(np.searchsorted(run_phase, numbers), numbers, strict=True)
    ]
    by_file: dict[int, NDArray[np.int64]] = {}
    for period in periods:
        if trace.files[period.file].level == TOGETHER:
            begin = int(np.searchsorted(run_phase, period.first))
            end = int(np.searchsorted(run_phase, period.last, side="right"))
            at = [(begin, period.first), (end, period.last)]
        else:
            if period.file not in by_file:
                by_file[period.file] = np.flatnonzero(begun["file"] == period.file)
            mine = by_file[period.file]
            mine = mine[(run_phase[mine] >= period.first) & (run_phase[mine] <= period.last)]
            at = [(int(i), int(run_phase[i])) for i in (mine[0], mine[-1])]
        rows += [(schedule.OPEN, period.file, period.uses), (schedule.CLOSE, period.file, 0)]
        keys += [(*at[0], _OPEN), (*at[1], _CLOSE)]
        if period.flush:
            rows.append((schedule.SYNC, period.file, 0))
            keys.append((*at[1], _SYNC))
    acts = np.zeros(len(rows), schedule.ACT)
    for i, name in enumerate(("kind", "file", "length")):
        acts[name] = [row[i] for row in rows]
    columns = np.array(keys, np.int64).reshape(-1, 3)
    return acts, (columns[:, 0], columns[:, 1], columns[:, 2])


def moved_extents(
    rows: NDArray[np.void], phase: NDArray[np.int64], direction: int
) -> NDArray[np.void]:
    """File, phase, start and end of what a process read or wrote; touching extents are merged."""
    which = (rows["write"] == direction) & (rows["length"] > 0)
    out = np.empty(
        int(which.sum()), [("file", "<u4"), ("phase", "<u4"), ("start", "<i8"), ("end", "<i8")]
    )
    out["file"], out["phase"] = rows["file"][which], phase[which]
    out["start"] = rows["offset"][which]
    out["end"] = out["start"] + rows["length"][which]
    if len(out) < 2:
        return out
    out = out[np.lexsort((out["start"], out["phase"], out["file"]))]
    new = np.ones(len(out), bool)
    new[1:] = (
        (out["file"][1:] != out["file"][:-1])
        | (out["phase"][1:] != out["phase"][:-1])
        | (out["start"][1:] > out["end"][:-1])
    )
    first = np.flatnonzero(new)
    merged = out[first]
    merged["end"] = np.maximum.reduceat(out["end"], first)
    return merged
