# SPDX-License-Identifier: BSD-3-Clause
"""Makes a schedule from a trace, and states what was inferred."""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from . import acts, extents, schedule
from .acts import Period
from .phases import GAP, Phases, find
from .trace import POSIX, READ, TOGETHER, WRITE, CannotReplayError, Trace

NAME_ROOM = 120
MOST_PAUSE = 1e9  # seconds
# Where a program's data was is in no log. Pieces of one size go through one buffer, which stays in
# the processor's caches; arrays that are dumped do not. Of small calls, their own cost hides it.
LEAST_CALL = 64 << 10  # bytes
LEAST_CALLS = 32  # of one size, of a process
SHARE_ALIKE = 0.9  # of all bytes
DURING = 2  # written in this phase, beside READ and WRITE; there in a later one


@dataclass
class Plan:
    """`conflicts`: who writes the same bytes in one phase, one per line. `periods`: by process, of
    files whose single opens are not known."""

    trace: Trace
    phases: Phases
    notes: list[str]
    conflicts: list[str] = field(default_factory=list)
    undefined: int = 0
    prepared: int = 0
    runs: int = 0
    periods: list[list[Period]] = field(default_factory=list)


def make(trace: Trace, out: Path, gap: float = GAP) -> Plan:
    phases = find(trace, gap)
    if phases.pauses.max(initial=0.0) > MOST_PAUSE:
        raise CannotReplayError(f"{trace.path}: a pause of {phases.pauses.max():.4g} s: damaged?")
    buffer, why = guess_buffer(trace)
    plan = Plan(trace, phases, [*trace.notes, *phases.notes(gap), why])
    _demote(plan)
    _leave_out_empty(plan)
    plan.periods = _periods(plan)
    with schedule.writing(out) as writer:
        moved: dict[int, list[NDArray[np.void]]] = {READ: [], WRITE: [], DURING: []}
        kind = acts.kinds(trace)
        for rank, rows in enumerate(trace.accesses):
            mine = acts.acts_of(trace, rank, phases, plan.periods[rank], kind)
            writer.process(mine)
            plan.runs += len(mine)
            pieces, of = trace.pieces(rank)
            phase, more = phases.of(rows)[of], phases.lasting(rows)[of]
            during = np.repeat(np.arange(len(of)), more)
            ago = np.repeat(np.cumsum(more), more) - np.arange(len(during))
            moved[READ].append(acts.moved_extents(pieces, phase, READ))
            moved[WRITE].append(acts.moved_extents(pieces, phase + more, WRITE))
            moved[DURING].append(
                acts.moved_extents(pieces[during], (phase + more)[during] - ago, WRITE)
            )
        before, undefined = _sweep(plan, moved)
        plan.prepared = int((before["end"] - before["start"]).sum())
        plan.undefined = int((undefined["end"] - undefined["start"]).sum())
        header = {
            "source": source_of(trace),
            "recorder": trace.log.recorder,
            "files": _files(trace),
            "prepared": writer.extents(before),
            "undefined": writer.extents(undefined),
            "collective": any(
                one.own or any(one.together) for one in trace.files if one.level == TOGETHER
            ),
            "views": writer.views(trace.views),
            "phases": len(phases),
            "gap": gap,
            "buffer": buffer,
            "said": plan.notes,
            "conflicts": plan.conflicts,
        }
        writer.finish(header)
    return plan


def source_of(trace: Trace) -> str:
    """Part of every result document of the schedule."""
    return f"synthesised from counters: {trace.path}" if trace.synthesised else str(trace.path)


def names_of(trace: Trace) -> list[str]:
    """The names of a replay's files: plain and distinct."""
    found = []
    for i, one in enumerate(trace.files):
        base = re.sub(r"[^A-Za-z0-9._-]", "_", one.path.rsplit("/", 1)[-1])[:NAME_ROOM]
        found.append(f"{i:04d}-{base}")
    return found


def _files(trace: Trace) -> list[dict[str, object]]:
    size = np.zeros(len(trace.files), np.int64)
    used = np.zeros((2, len(trace.files)), bool)
    for rank in range(trace.processes):
        rows, _ = trace.pieces(rank)
        np.maximum.at(size, rows["file"], rows["offset"] + rows["length"])
        for direction in (READ, WRITE):
            used[direction, rows["file"][rows["write"] == direction]] = True
    return [
        {
            "name": name,
            "path": one.path,
            "level": one.level,
            "extent": int(size[i]),
            "read": bool(used[READ, i]),
            "written": bool(used[WRITE, i]),
            "by_library": one.by_library,
        }
        for i, (name, one) in enumerate(zip(names_of(trace), trace.files, strict=True))
    ]


def _demote(plan: Plan) -> None:
    """Calls can only be collective if all processes of a file make equally many in each phase."""
    trace, phases = plan.trace, plan.phases
    for i, one in enumerate(trace.files):
        for direction in (READ, WRITE):
            if one.level != TOGETHER or one.own or not one.together[direction]:
                continue
            counts = set()
            for rows in trace.accesses:
                mine = rows[rows["file"] == i]
                if len(mine):
                    phase = phases.of(mine[mine["write"] == direction])
                    counts.add(np.bincount(phase, minlength=len(phases)).tobytes())
            if len(counts) > 1:
                one.together[direction] = False
                plan.notes.append(
                    "inferred: independent calls in place of collective ones, as its processes do "
                    f"not make as many of them in each phase: {one.path}"
                )


def _leave_out_empty(plan: Plan) -> None:
    """A file in which nothing was moved is not created: it may have been read while empty."""
    trace = plan.trace
    bytes_of = np.zeros(len(trace.files), np.int64)
    for rows in trace.accesses:
        np.add.at(bytes_of, rows["file"], rows["length"])
    keep = np.flatnonzero(bytes_of)
    if not len(keep):
        raise CannotReplayError(f"{trace.path}: its calls moved no byte; expected some that did")
    if len(keep) == len(trace.files):
        return
    plan.notes += [
        f"not replayed: its calls moved no byte: {one.path}"
        for one, moved in zip(trace.files, bytes_of, strict=True)
        if not moved
    ]
    number = np.full(len(trace.files), -1)
    number[keep] = np.arange(len(keep))
    trace.files = [trace.files[i] for i in keep]
    for rank, rows in enumerate(trace.accesses):
        kept = rows[number[rows["file"]] >= 0]
        kept["file"] = number[kept["file"]]
        trace.accesses[rank] = kept
        steps = trace.steps_of(rank)
        if len(steps):
            trace.steps[rank] = steps[number[steps["file"]] >= 0]
            trace.steps[rank]["file"] = number[trace.steps[rank]["file"]]


def _periods(plan: Plan) -> list[list[Period]]:
    """The periods in which each process has each file open. If the log counts more than one open
    per process, the others are put at the longest pauses between its accesses."""
    trace, phases = plan.trace, plan.phases
    users: dict[int, list[tuple[int, NDArray[np.int64], NDArray[np.uint8]]]] = defaultdict(list)
    for rank, rows in enumerate(trace.accesses):
        phase = phases.of(rows)
        for i in np.unique(rows["file"]):
            mine = rows["file"] == i
            users[int(i)].append((rank, phase[mine], rows["write"][mine]))
    found: list[list[Period]] = [[] for _ in trace.accesses]
    made = wanted = 0
    for i, by in users.items():
        one = trace.files[i]
        if one.own:  # each of its opens is known
            continue
        opens = one.count("OPENS", "COLL_OPENS", "INDEP_OPENS")
        each = max(1, round(opens / len(by)))
        flushes = one.count("FSYNCS", "FDSYNCS", "SYNCS") / len(by)
        together = one.level == TOGETHER
        every = np.unique(np.concatenate([used for _, used, _ in by])) if together else None
        for rank, used, directions in by:
            parts = _split(np.unique(used) if every is None else every, each, phases)
            flush = (together or WRITE in directions) and flushes >= len(parts) / 2
            for first, last in parts:
                inside = directions[(used >= first) & (used <= last)]
                uses = 0 if together else sum(1 << d for d in np.unique(inside).tolist())
                found[rank].append(Period(i, first, last, flush, uses))
            made += len(parts)
        wanted += opens
    if made != wanted:
        plan.notes.append(
            f"inferred: {made} opens of the {wanted} that the log counts: a process has a file "
            "open from its first access to its last, and others where all pause"
        )
    return found


def _split(used: NDArray[np.int64], parts: int, phases: Phases) -> list[tuple[int, int]]:
    """Cut into at most so many ranges of phases, at the longest pauses."""
    if parts == 1 or len(used) == 1:
        return [(int(used[0]), int(used[-1]))]
    pause = np.array([phases.pauses[a:b].max() for a, b in pairwise(used)])
    cut = np.sort(np.argsort(-pause, kind="stable")[: parts - 1])
    firsts, lasts = np.append(0, cut + 1), np.append(cut, len(used) - 1)
    return [(int(used[a]), int(used[b])) for a, b in zip(firsts, lasts, strict=True)]


def _sweep(
    plan: Plan, moved: dict[int, list[NDArray[np.void]]]
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """What must exist beforehand, and what the application left undefined."""
    before, undefined = [], []
    by_direction = {d: _joined(found) for d, found in moved.items()}
    for i, one in enumerate(plan.trace.files):
        reads, writes, during = (_of_file(by_direction[d], i) for d in (READ, WRITE, DURING))
        try:
            found = extents.conflicts(writes.with_(during))
        except OverflowError:
            raise CannotReplayError(
                f"{plan.trace.path}: offsets up to {int(writes.end.max())} in {len(plan.phases)} "
                f"phases, more than a schedule can hold: {one.path}"
            ) from None
        undefined.append(_rows(i, found.start, found.end))
        if len(found.start):
            _refuse_appends(plan.trace, i)
            count = int((found.end - found.start).sum())
            plan.conflicts += [
                f"processes {a} and {b} write bytes {low} to {high} in one phase: {one.path}"
                for low, high, a, b in found.examples
            ]
            plan.notes.append(
                f"undefined by the application: {count} bytes in {len(found.start)} places, which "
                f"several processes write without order: {one.path}"
            )
        start, end = extents.read_first(reads, writes)
        before.append(_rows(i, start, end))
        both = extents.shared((start, end), extents.union(writes.start, writes.end))
        if len(both[0]):
            plan.notes.append(
                f"made beforehand, and also written: {int((both[1] - both[0]).sum())} bytes, which "
                "are read before they are written or in the same phase; what was there before and "
                f"what is written are both right for these reads: {one.path}"
            )
    return np.concatenate(before), np.concatenate(undefined)


def _refuse_appends(trace: Trace, file: int) -> None:
    """Darshan's runtime counts from 0 what goes behind the end of a file (O_APPEND)."""
    if trace.files[file].level != POSIX or not trace.log.by_runtime:
        return
    for rows in trace.accesses:
        mine = rows[(rows["file"] == file) & (rows["write"] == WRITE)]
        if (mine["offset"] != np.cumsum(mine["length"]) - mine["length"]).any():
            return
    raise CannotReplayError(
        f"{trace.path}: several processes each write consecutively from byte 0, as Darshan records "
        "files opened with O_APPEND, so their offsets are unknown: "
        f"{trace.files[file].path}; trace it with libiogauge-recorder.so, or select other files "
        "with --only"
    )


def _joined(found: list[NDArray[np.void]]) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """All processes' extents in the order of files, and the owner of each."""
    ranks = np.repeat(np.arange(len(found)), [len(some) for some in found])
    rows = np.concatenate(found)
    found.clear()
    order = np.argsort(rows["file"], kind="stable")
    return rows[order], ranks[order]


def _of_file(joined: tuple[NDArray[np.void], NDArray[np.int64]], i: int) -> extents.Moved:
    rows, ranks = joined
    a, b = np.searchsorted(rows["file"], (i, i + 1))
    some = rows[a:b]
    return extents.Moved(some["start"], some["end"], some["phase"].astype(np.int64), ranks[a:b])


def _rows(file: int, start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.void]:
    rows = np.empty(len(start), schedule.EXTENT)
    rows["file"], rows["start"], rows["end"] = file, start, end
    return rows


def guess_buffer(trace: Trace) -> tuple[str, str]:
    """`reused` if most bytes are in many calls of one size, not a small one; or `whole`; why."""
    moved = alike = 0
    size = 0
    for rows in trace.accesses:
        lengths, calls = np.unique(rows["length"], return_counts=True)
        moved += int((lengths * calls).sum())
        most = int(np.argmax(lengths * calls)) if len(lengths) else 0
        if len(lengths) and lengths[most] >= LEAST_CALL and calls[most] >= LEAST_CALLS:
            alike += int(lengths[most] * calls[most])
            size = int(lengths[most])
    share = f"{100 * alike // max(moved, 1)} % of the bytes are in calls of one size"
    if alike >= SHARE_ALIKE * moved and alike:
        return "reused", f"inferred: data in one buffer, as {share} ({size} bytes)"
    return "whole", (
        f"inferred: data lies in memory together, as {share} of at least {LEAST_CALL} bytes and "
        f"{LEAST_CALLS} calls of a process"
    )
