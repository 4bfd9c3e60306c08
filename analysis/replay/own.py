# SPDX-License-Identifier: BSD-3-Clause
"""The program's own MPI-IO calls, from the embedded recorder's traces: views, offsets, and which
calls were collective."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..darshan import raw
from ..darshan.dxt import SEGMENT
from ..darshan.raw import (
    CLOSE,
    EVENT,
    MEET,
    OPEN,
    READ,
    SYNC,
    VIEW,
    WAIT,
    WRITE,
    RawProcess,
    RawRecord,
    RawView,
)
from ..darshan.views import MARK, WHOLE, pieces

MPIIO = raw.MODULES.index("MPI-IO")
TOGETHER, ALONE = "mpiio-together", "mpiio-alone"
# `view`: of `Own.views`; 0: none. `offset`: in the bytes that the view shows. `together`: a
# collective call. `early`, `late`: seconds by which others began a collective call before this
# process, and ended it after. `waited`: seconds in other calls until it had ended.
ACCESS = np.dtype(
    [("file", "<u4"), ("write", "u1"), ("offset", "<i8"), ("length", "<i8"), ("start", "<f8"),
     ("end", "<f8"), ("early", "<f8"), ("late", "<f8"), ("view", "<u4"), ("together", "u1"),
     ("waited", "<f8")]
)  # fmt: skip
STEP = np.dtype(
    [("kind", "<u8"), ("file", "<u4"), ("view", "<u4"), ("start", "<f8"), ("end", "<f8"),
     ("early", "<f8"), ("late", "<f8")]
)  # fmt: skip
STEPS = (OPEN, CLOSE, SYNC, VIEW)
MOST_PIECES = 20_000_000  # of one process
FIRST_MOVE = 100  # kinds of accesses, beside those of STEPS


@dataclass
class Calls:
    """Of one file. By process: accesses, and calls that move nothing (STEP), by time. `why`: they
    cannot be repeated."""

    path: str
    rows: dict[int, NDArray[np.void]] = field(default_factory=dict)
    steps: dict[int, NDArray[np.void]] = field(default_factory=dict)
    opened_by: set[int] = field(default_factory=set)
    replaced: set[str] = field(default_factory=set)
    waited: bool = False  # the trace has the waits for those
    why: str = ""

    @property
    def level(self) -> str:
        return ALONE if self.opened_by <= {1} else TOGETHER


@dataclass
class Own:
    """`files`: by number. `views`: from 1 on. `meetings`: when all processes were in one barrier,
    or a call like it. `once`: views that overlap themselves where they repeat."""

    files: dict[int, Calls] = field(default_factory=dict)
    meetings: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    views: list[RawView] = field(default_factory=lambda: [WHOLE])
    numbers: dict[tuple[object, ...], int] = field(default_factory=dict)
    once: set[int] = field(default_factory=set)

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
    """Of a folder of the recorder's traces."""
    own = Own()
    processes = raw.read_folder(folder)
    began = min(process.start for process in processes)
    for process in processes:
        later = (process.start - began) / 1e9
        for record in process.records:
            if record.module == "MPI-IO":
                calls = own.files.setdefault(record.id, Calls(record.path))
                _take(own, calls, process, record, later)
    for calls in own.files.values():
        calls.why = calls.why or _meet(calls)
    own.meetings = _meetings(processes, began)
    return own


def _meetings(processes: Sequence[RawProcess], began: int) -> NDArray[np.float64]:
    """Without those in which clocks contradict each other."""
    found = []
    for process in processes:
        events = np.array(list(EVENT.iter_unpack(process.events)), object).reshape(-1, 8)
        met = events[(events[:, 6] == MEET) & (events[:, 1] == 0)]
        found.append(met[:, 3:5].astype(np.float64) + (process.start - began) / 1e9)
    count = min(map(len, found))
    arrived = np.max([some[:count, 0] for some in found], axis=0)
    left = np.min([some[:count, 1] for some in found], axis=0)
    kept: NDArray[np.float64] = arrived[arrived <= left]
    return kept


def _take(own: Own, calls: Calls, process: RawProcess, record: RawRecord, later: float) -> None:
    events = [
        row for row in EVENT.iter_unpack(process.events) if row[0] == record.id and row[7] == MPIIO
    ]
    steps, views, opened = [], [(0, 0, 1)], False
    for _, a, b, start, end, sequence, kind, _ in events:
        if kind == OPEN:
            calls.why = calls.why or ("it is open twice at a time" if opened else "")
            calls.opened_by.add(b)
            views.append((sequence, 0, 1))
        elif kind == VIEW:
            view = process.views[a]
            if not view.pieces or view.element <= 0 or not _in_order(view):
                calls.why = calls.why or "a file view of it is unknown, or not in order"
                return
            number = own.number(_wide(view))
            own.once |= {number} if _wide(view) != view else set()
            views.append((sequence, number, view.element))
        elif kind == WAIT:
            calls.waited = True
            continue
        elif kind not in STEPS:
            calls.why = calls.why or "it was in atomic mode" * bool(a)
            continue
        opened = kind == OPEN or (opened and kind != CLOSE)
        number = views[-1][1] if kind == VIEW else 0
        steps.append((kind, 0, number, start + later, end + later, 0, 0))
    if opened:
        calls.why = calls.why or "it was never closed"
    rows = [_rows(calls, process, record, way, views, later) for way in (READ, WRITE)]
    for _, way, _, start, end, sequence, kind, _ in events:
        if kind == WAIT and len(rows[way]):  # of the last access before it
            before = np.frombuffer(record.marks[way], MARK)["sequence"]
            at = int(np.searchsorted(before, sequence)) - 1
            rows[way]["waited"][max(at, 0)] += end - start
    mine = np.concatenate(rows)
    for number in own.once:
        some = mine[mine["view"] == number]
        if (some["offset"] + some["length"] > own.views[number].size).any():
            calls.why = calls.why or "a file view of it repeats before its end"
    calls.rows[process.rank] = mine[np.argsort(mine["start"], kind="stable")]
    calls.steps[process.rank] = np.array(steps, STEP)


def _in_order(view: RawView) -> bool:
    places = np.array(view.pieces, np.int64)
    ends = places[:, 0] + places[:, 1]
    return bool((places[1:, 0] >= ends[:-1]).all())


def _wide(view: RawView) -> RawView:
    """As wide as its pieces: Open MPI says less of PnetCDF's, which are used once."""
    (first, _), (last, length) = view.pieces[0], view.pieces[-1]
    short = last + length - first > view.extent
    return replace(view, extent=last + length) if short else view


def _rows(
    calls: Calls, process: RawProcess, record: RawRecord, way: int,
    views: Sequence[tuple[int, int, int]], later: float,
) -> NDArray[np.void]:  # fmt: skip
    segments = np.frombuffer(record.segments[way], SEGMENT)
    marks = np.frombuffer(record.marks[way], MARK)
    rows = np.zeros(len(segments), ACCESS)
    since, numbers, elements = (np.array(column, np.int64) for column in zip(*views, strict=True))
    which = np.searchsorted(since, marks["sequence"], side="right") - 1
    names = [name.removeprefix("MPI_File_").removesuffix("_c") for name in process.calls]
    together = np.array([*("_all" in name or "_ordered" in name for name in names), False])
    called = np.minimum(marks["call"], len(names))
    rows["write"], rows["together"] = way, together[called]
    rows["view"], rows["length"] = numbers[which], segments["length"]
    rows["offset"] = marks["at"] * elements[which]
    rows["start"], rows["end"] = segments["start"] + later, segments["end"] + later
    used = {names[i] for i in np.unique(called) if i < len(names)}
    for name in used:
        if "_shared" in name or "_ordered" in name:
            calls.why = calls.why or "a shared file pointer does not say its offsets"
        if name.endswith("_begin"):
            calls.replaced.add("split")
        if name.startswith("i"):
            calls.replaced.add("nonblocking")
    if (marks["at"] < 0).any() or (rows["length"] > 2**31 - 1).any():
        calls.why = calls.why or "the trace does not say where its MPI-IO calls begin"
    return rows


def _meet(calls: Calls) -> str:
    """Find the calls that all processes make together, and since when and until when others were in
    them. Why that cannot be, or nothing."""
    ranks = sorted(calls.rows)
    if calls.level == ALONE:
        for rows in calls.rows.values():
            rows["together"] = 0
        return ""
    if calls.opened_by != {len(ranks)}:
        return "several groups of processes opened it"
    times = []
    for rank in ranks:
        rows, steps = calls.rows[rank], calls.steps[rank]
        kind = np.concatenate((steps["kind"], rows["write"] + FIRST_MOVE))
        at = np.concatenate((np.arange(len(steps)), np.arange(len(rows)) + len(steps)))
        kept = np.concatenate((np.ones(len(steps), bool), rows["together"] > 0))
        start = np.concatenate((steps["start"], rows["start"]))
        order = np.argsort(start, kind="stable")
        order = order[kept[order]]
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
    """A row per piece of bytes, at its offset in the file, and which access each is of. None: more
    than MOST_PIECES."""
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
