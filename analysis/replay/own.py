# SPDX-License-Identifier: BSD-3-Clause
"""The program's own MPI-IO calls, from the recorder's traces: views, offsets, collectives."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..darshan import raw
from ..darshan.dxt import SEGMENT
from ..darshan.raw import RawDataSet, RawProcess, RawRecord, RawView, Slab
from ..darshan.views import MARK, WHOLE, pieces
from .extents import union

MPIIO = raw.MODULES.index("MPI-IO")
TOGETHER, ALONE = "mpiio-together", "mpiio-alone"
# `form` of an access: the call that made it. COLLECTIVE and ENDS (later, in another call) are bits.
SINGLE, ALL, LATER, ALL_LATER, SPLIT, ORDERED, SHARED = 0, 1, 2, 3, 5, 9, 16
COLLECTIVE, ENDS = 1, 6
# `view`: of `Own.views`; 0: none. `offset`: in the bytes that the view shows. `early`, `late`:
# seconds by which others began a collective call before this process, and ended it after. `waited`:
# seconds in other calls until it had ended, at `done` (0: at `end`).
ACCESS = np.dtype(
    [
        ("file", "<u4"),
        ("write", "u1"),
        ("offset", "<i8"),
        ("length", "<i8"),
        ("start", "<f8"),
        ("end", "<f8"),
        ("early", "<f8"),
        ("late", "<f8"),
        ("view", "<u4"),
        ("form", "u1"),
        ("waited", "<f8"),
        ("done", "<f8"),
    ]
)
# `what`: of VIEW, its number; of WAIT and END (of a split call), which of the process's calls with
# ENDS, on this file. `uses`: the file is open for reading (1), writing (2), or both.
STEP = np.dtype(
    [
        ("kind", "<u8"),
        ("file", "<u4"),
        ("what", "<u4"),
        ("start", "<f8"),
        ("end", "<f8"),
        ("early", "<f8"),
        ("late", "<f8"),
        ("uses", "u1"),
    ]
)
STEPS = (raw.OPEN, raw.CLOSE, raw.SYNC, raw.VIEW)
END = 99
USES = {2: 1, 4: 2}  # MPI_MODE_RDONLY, MPI_MODE_WRONLY
ACCESS_MODES = 14
MOST_PIECES = 20_000_000  # of one process
FIRST_MOVE = 100  # kinds of accesses, beside STEPS
# A process, what its calls of HDF5 moved, and the direction.
Moves = tuple[int, RawDataSet, tuple[Slab, ...] | None, int]
POINTER = re.compile(r"i?(read|write)_(shared|ordered)")
NO_OFFSETS = "a shared file pointer does not say its offsets"


@dataclass
class Calls:
    """The calls on one file, by process: accesses, and calls that move nothing (STEP), by time;
    POSIX calls below calls with a shared pointer, by direction. `why`: why they cannot be
    repeated."""

    path: str
    rows: dict[int, NDArray[np.void]] = field(default_factory=dict)
    steps: dict[int, NDArray[np.void]] = field(default_factory=dict)
    opened_by: set[int] = field(default_factory=set)
    below: dict[int, list[NDArray[np.void]]] = field(default_factory=dict)
    without_pointer: bool = False
    why: str = ""

    @property
    def level(self) -> str:
        return ALONE if self.opened_by <= {1} else TOGETHER


@dataclass
class Own:
    """`files`: by number. `views`: from 1 on. `meetings`: when all processes were in one barrier,
    or a call like it. `once`: views that overlap themselves where they repeat. `moves`: by path,
    each process's calls of HDF5, alike ones once."""

    files: dict[int, Calls] = field(default_factory=dict)
    meetings: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    views: list[RawView] = field(default_factory=lambda: [WHOLE])
    numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    once: set[int] = field(default_factory=set)
    moves: dict[str, list[Moves]] = field(default_factory=dict)

    def number(self, view: RawView) -> int:
        """0: the whole file, byte after byte."""
        if view.displacement == 0 and view.pieces == ((0, view.size),) and view.size == view.extent:
            return 0
        key = (view.displacement, view.extent, view.pieces)
        if key not in self.numbers:
            self.numbers[key] = len(self.views)
            self.views.append(view)
        return self.numbers[key]


def read(folder: Path) -> Own:
    """Read a folder of the recorder's traces."""
    own = Own()
    processes = raw.read_folder(folder)
    began = min(process.start for process in processes)
    for process in processes:
        later = (process.start - began) / 1e9
        for record in process.records:
            if record.module == "MPI-IO":
                calls = own.files.setdefault(record.id, Calls(record.path))
                _take(own, calls, process, record, later)
        paths = {record.id: record.path for record in process.records}
        for some in dict.fromkeys((m.data_set, m.slabs, m.direction) for m in process.moves):
            own.moves.setdefault(paths[some[0].file], []).append((process.rank, *some))
    for calls in own.files.values():
        calls.why = calls.why or _place(calls) or _meet(calls)
    own.meetings = _meetings(processes, began)
    return own


def _meetings(processes: Sequence[RawProcess], began: int) -> NDArray[np.float64]:
    """The times of meetings, except those in which clocks contradict each other."""
    found = []
    for process in processes:
        events = np.array(list(raw.EVENT.iter_unpack(process.events)), object).reshape(-1, 8)
        met = events[(events[:, 6] == raw.MEET) & (events[:, 1] == 0)]
        found.append(met[:, 3:5].astype(np.float64) + (process.start - began) / 1e9)
    count = min(map(len, found))
    arrived = np.max([some[:count, 0] for some in found], axis=0)
    left = np.min([some[:count, 1] for some in found], axis=0)
    kept: NDArray[np.float64] = arrived[arrived <= left]
    return kept


def _take(own: Own, calls: Calls, process: RawProcess, record: RawRecord, later: float) -> None:
    rows = raw.EVENT.iter_unpack(process.events)
    events = [row for row in rows if row[0] == record.id and row[7] == MPIIO]
    steps: list[tuple[float, ...]] = []
    views, uses = [(0, 0, 1)], 0
    for _, a, b, start, end, sequence, kind, _ in events:
        if kind == raw.OPEN:
            calls.why = calls.why or ("it is open twice at a time" if uses else "")
            calls.opened_by.add(b)
            views.append((sequence, 0, 1))
            uses = USES.get(a & ACCESS_MODES, 3)
        elif kind == raw.VIEW:
            view = process.views[a]
            if not view.pieces or view.element <= 0 or not _in_order(view):
                calls.why = calls.why or "a file view of it is unknown, or not in order"
                return
            number = own.number(_wide(view))
            own.once |= {number} if _wide(view) != view else set()
            views.append((sequence, number, view.element))
        elif kind not in STEPS:
            if kind != raw.WAIT:
                calls.why = calls.why or "it was in atomic mode" * bool(a)
            continue
        number = views[-1][1] if kind == raw.VIEW else 0
        steps.append((kind, 0, number, start + later, end + later, 0, 0, uses))
        uses = 0 if kind == raw.CLOSE else uses
    if uses:
        calls.why = calls.why or "it was never closed"
    mine = np.concatenate(
        [_rows(calls, process, record, d, views, later) for d in (raw.READ, raw.WRITE)]
    )
    steps += _ends(calls, events, record, mine, later)
    for other in process.records if (mine["offset"] < 0).any() else ():
        if other.id == record.id and other.module == "POSIX":
            both = [np.sort(np.frombuffer(some, SEGMENT), order="start") for some in other.segments]
            for some in both:  # asynchronous ones are in the order of their ends
                some["start"] += later
                some["end"] += later
            calls.below[process.rank] = both
    for number in own.once:
        some = mine[mine["view"] == number]
        if (some["offset"] + some["length"] > own.views[number].size).any():
            calls.why = calls.why or "a file view of it repeats before its end"
    calls.rows[process.rank] = mine[np.argsort(mine["start"], kind="stable")]
    calls.steps[process.rank] = np.array(steps, STEP)


def _ends(
    calls: Calls,
    events: Sequence[tuple[Any, ...]],
    record: RawRecord,
    mine: NDArray[np.void],
    later: float,
) -> list[tuple[float, ...]]:
    """The calls in which accesses (`mine`: reads, then writes) end that others began."""
    sequences = [np.frombuffer(marks, MARK)["sequence"] for marks in record.marks]
    order = np.argsort(mine["start"], kind="stable")
    number = np.empty(len(mine), np.int64)
    number[order] = np.cumsum(mine["form"][order] & ENDS > 0) - 1
    found: list[tuple[float, ...]] = []
    for _, direction, of, start, end, sequence, kind, _ in events:
        if kind != raw.WAIT:
            continue
        first = direction * len(sequences[raw.READ])
        if of:
            at = int(np.searchsorted(sequences[direction], of - 1))
        else:
            rows = mine[first : first + int(np.searchsorted(sequences[direction], sequence))]
            split = np.flatnonzero(rows["form"] == SPLIT)
            at = int(split[-1]) if len(split) else len(sequences[direction])
        if at < len(sequences[direction]) and (not of or sequences[direction][at] == of - 1):
            mine["waited"][first + at] += end - start
            mine["done"][first + at] = end + later
            kind = raw.WAIT if of else END
            found.append((kind, 0, number[first + at], start + later, end + later, 0, 0, 0))
    if sorted(int(step[2]) for step in found) != list(range((mine["form"] & ENDS > 0).sum())):
        calls.why = calls.why or "the trace does not say when all of its calls ended"
    return found


def _in_order(view: RawView) -> bool:
    places = np.array(view.pieces, np.int64)
    ends = places[:, 0] + places[:, 1]
    return bool((places[1:, 0] >= ends[:-1]).all())


def _wide(view: RawView) -> RawView:
    """The view, as wide as its pieces: Open MPI reports less for PnetCDF's, which are used once."""
    (first, _), (last, length) = view.pieces[0], view.pieces[-1]
    short = last + length - first > view.extent
    return replace(view, extent=last + length) if short else view


def _rows(
    calls: Calls,
    process: RawProcess,
    record: RawRecord,
    direction: int,
    views: Sequence[tuple[int, int, int]],
    later: float,
) -> NDArray[np.void]:
    segments = np.frombuffer(record.segments[direction], SEGMENT)
    marks = np.frombuffer(record.marks[direction], MARK)
    rows = np.zeros(len(segments), ACCESS)
    since, numbers, elements = (np.array(column, np.int64) for column in zip(*views, strict=True))
    which = np.searchsorted(since, marks["sequence"], side="right") - 1
    names = [name.removeprefix("MPI_File_").removesuffix("_c") for name in process.calls]
    form = np.array([*map(_form, names), SINGLE])
    pointer = np.array([*map(bool, map(POINTER.match, names)), False])
    called = np.minimum(marks["call"], len(names))
    rows["write"], rows["form"] = direction, form[called]
    rows["view"], rows["length"] = numbers[which], segments["length"]
    rows["offset"] = np.where(marks["at"] < 0, -1, marks["at"] * elements[which])
    rows["start"], rows["end"] = segments["start"] + later, segments["end"] + later
    unknown = (marks["at"] < 0) & ~pointer[called]
    if unknown.any() or (rows["length"] > 2**31 - 1).any():
        calls.why = calls.why or "the trace does not say where its MPI-IO calls begin"
    return rows


def _form(name: str) -> int:
    if "_begin" in name or "_ordered" in name:
        return SPLIT if "_begin" in name else ORDERED
    return SHARED * ("_shared" in name) | ALL * ("_all" in name) | LATER * (name[0] == "i")


def _place(calls: Calls) -> str:
    """Find the offsets of calls through the shared pointer: of an ordered one from what all moved
    before it, and the lower ranks in it; of others from the POSIX calls inside them. Why they are
    not known, or nothing."""
    pointed = {rank: np.flatnonzero(rows["offset"] < 0) for rank, rows in calls.rows.items()}
    if not any(map(len, pointed.values())):
        return ""
    turns = []
    forms = set()
    for rank, rows in sorted(calls.rows.items()):
        steps, mine = calls.steps[rank], rows[pointed[rank]]
        forms |= set(mine["form"].tolist())
        since = np.searchsorted(
            steps["start"][np.isin(steps["kind"], (raw.OPEN, raw.VIEW))], mine["start"]
        )  # the pointer is at 0 again
        before = np.cumsum(mine["length"]) - mine["length"]
        before -= before[np.searchsorted(since, since)]
        ordered = mine["form"] & SHARED == 0
        turns.append((pointed[rank][ordered], since[ordered], before[ordered]))
        for direction, some in enumerate(calls.below.get(rank, ())):
            at = pointed[rank][~ordered & (mine["write"] == direction)]
            first = np.searchsorted(some["start"], rows["start"][at])  # POSIX call inside
            rows["offset"][at] = np.append(some["offset"], -1)[first]
        rows["offset"][pointed[rank][mine["length"] == 0]] = 0  # none is inside
    if any(not np.array_equal(turns[0][1], since) for _, since, _ in turns[1:]):
        return NO_OFFSETS
    place = np.sum([before for _, _, before in turns], axis=0)
    for (_, rows), (at, _, _) in zip(sorted(calls.rows.items()), turns, strict=True):
        rows["offset"][at] = place
        place = place + rows["length"][at]
    for direction in (raw.READ, raw.WRITE):
        mine = np.concatenate([rows[rows["write"] == direction] for rows in calls.rows.values()])
        theirs = np.concatenate([both[direction] for both in calls.below.values()] or [mine[:0]])
        bytes_ = [
            union(some["offset"], some["offset"] + some["length"])
            for some in (mine[mine["length"] > 0], theirs)
        ]
        if mine["view"].any() or not all(map(np.array_equal, *bytes_)):
            return NO_OFFSETS
    calls.without_pointer = forms != {ORDERED}
    for rows in calls.rows.values() if calls.without_pointer else ():
        rows["form"] &= COLLECTIVE | ENDS | SHARED
    return ""


def _meet(calls: Calls) -> str:
    """Find the calls that all processes make together, and since when and until when others were in
    them: also waits for such calls, which end in one phase as ROMIO needs all processes for that.
    Why that cannot be, or nothing."""
    ranks = sorted(calls.rows)
    if calls.level == ALONE:
        return ""
    if calls.opened_by != {len(ranks)}:
        return "several groups of processes opened it"
    times = []
    for rank in ranks:
        rows, steps = calls.rows[rank], calls.steps[rank]
        kind = np.concatenate((steps["kind"], 2 * rows["form"] + rows["write"] + FIRST_MOVE))
        at = np.concatenate((np.arange(len(steps)), np.arange(len(rows)) + len(steps)))
        kept = np.concatenate((steps["kind"] != raw.WAIT, rows["form"] & COLLECTIVE > 0))
        start = np.concatenate((steps["start"], rows["start"]))
        order = np.argsort(start, kind="stable")
        ended = rows["form"][rows["form"] & ENDS > 0]
        waits = np.flatnonzero(steps["kind"] == raw.WAIT)
        waits = waits[np.argsort(steps["what"][waits])]
        waits = waits[ended[steps["what"][waits]] == ALL_LATER]
        order = np.concatenate((order[kept[order]], waits))
        end = np.concatenate((steps["end"], rows["end"]))
        times.append((kind[order], at[order], start[order], end[order]))
    if any(not np.array_equal(times[0][0], other[0]) for other in times[1:]):
        return "its processes do not make the same collective calls"
    first = np.min([start for _, _, start, _ in times], axis=0)
    last = np.max([end for _, _, _, end in times], axis=0)
    for rank, (_, at, start, end) in zip(ranks, times, strict=True):
        rows, steps = calls.rows[rank], calls.steps[rank]
        early, late = (np.zeros(len(steps) + len(rows)) for _ in range(2))
        early[at], late[at] = start - first, last - end
        steps["early"], rows["early"] = early[: len(steps)], early[len(steps) :]
        steps["late"], rows["late"] = late[: len(steps)], late[len(steps) :]
    return ""


def of_process(
    own: Own, rank: int, number: dict[int, int]
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """A process's accesses and steps in the files that have a number, by time."""
    rows, steps = [np.empty(0, ACCESS)], [np.empty(0, STEP)]
    for identity, at in number.items():
        calls = own.files.get(identity)
        if calls and rank in calls.rows:
            for some, kept in ((calls.rows[rank], rows), (calls.steps[rank], steps)):
                mine = some.copy()
                mine["file"] = at
                kept.append(mine)
    all_steps = np.concatenate(steps)
    return np.concatenate(rows), all_steps[np.argsort(all_steps["start"], kind="stable")]


def expand(
    rows: NDArray[np.void], views: Sequence[RawView]
) -> tuple[NDArray[np.void], NDArray[np.int64]] | None:
    """A row per piece of bytes, at its offset, and its access. None: more than MOST_PIECES."""
    if not rows["view"].any():
        return rows.copy(), np.arange(len(rows))
    index = np.flatnonzero(rows["view"] == 0)
    found, of = [rows[index]], [index]
    left = MOST_PIECES
    by_view: dict[int, list[int]] = defaultdict(list)
    for i in np.flatnonzero((rows["view"] > 0) & (rows["length"] > 0)).tolist():
        by_view[int(rows["view"][i])].append(i)
    for number, some in by_view.items():
        view = views[number]
        bytes_ = RawView(view.displacement, view.extent, view.size, 1, view.pieces)
        for i in some:
            many = pieces(rows[i], int(rows["offset"][i]), bytes_, left)
            if many is None:
                return None
            found.append(many)
            of.append(np.full(len(many), i))
            left -= len(many)
    all_, numbers = np.concatenate(found), np.concatenate(of)
    all_["view"] = 0
    order = np.argsort(numbers, kind="stable")
    return all_[order], numbers[order]
