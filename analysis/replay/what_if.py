# SPDX-License-Identifier: BSD-3-Clause
"""What a trace's program wrote, as arrays of boxes, for `iokernel extents`."""

import json
import math
import re
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from iogauge.common.files import write_whole
from iogauge.common.text import counted

from ..darshan.raw import CLOSE, OPEN, SYNC, VARIABLE_LENGTH
from ..darshan.views import WHOLE
from . import arrays, extents
from .acts import moved_extents
from .arrays import Array
from .extents import Numbers
from .own import SINGLE
from .plan import source_of
from .schedule import LENGTH
from .trace import POSIX, WRITE, CannotReplayError, Trace

MAGIC, END, FORMAT = b"IOGEXTNT", b"IOGE-END", "iogauge.extents/1"
MOST_BYTES = 2**28  # of all parts
NAME_ROOM = 60
SHOWN = 12
MOST_AGAIN = 0.05  # of all bytes: those that a process had read or written before

ByRank = dict[int, tuple[Numbers, Numbers]]


@dataclass
class _Part:
    """A file, or (with the bytes of an element behind its dimensions) a data set."""

    name: str
    dims: tuple[int, ...]
    by_rank: ByRank

    @property
    def size(self) -> int:
        return sum(int((end - start).sum()) for start, end in self.by_rank.values())


@dataclass
class WhatIf:
    """`steps`: dumps of this shape. `blocks`: how many arrays are block decompositions."""

    arrays: list[tuple[str, Array]]
    steps: int
    processes: int
    notes: list[str] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """The bytes of one dump."""
        return sum(array.bytes for _, array in self.arrays)

    def lines(self) -> list[str]:
        shown = [
            f"array {name}: {array.text}, "
            f"{sum(map(len, array.boxes.values()))} parts of {len(array.boxes)} processes"
            for name, array in self.arrays[:SHOWN]
        ]
        more = len(self.arrays) - SHOWN
        return [*self.notes, *shown, *([f"and {more} arrays more"] if more > 0 else [])]

    @property
    def blocks(self) -> int:
        return sum(len(array.dims) > 1 for _, array in self.arrays)


def with_posix_calls(trace: Trace) -> Trace:
    """The program with pread and pwrite of each piece for its MPI-IO calls."""
    accesses = [trace.pieces(rank)[0] for rank in range(trace.processes)]
    for rows in accesses:
        rows["form"] = SINGLE
    return replace(
        trace,
        accesses=accesses,
        views=[WHOLE],
        notes=[],
        files=[replace(one, level=POSIX) for one in trace.files],
        steps=[steps[np.isin(steps["kind"], (OPEN, CLOSE, SYNC))] for steps in trace.steps],
    )


def make(trace: Trace, out: Path, direction: int = WRITE) -> WhatIf:
    """What it wrote, or read. `CannotReplayError` if that is nothing, or too irregular."""
    begins = _shown_from(trace)
    word = ("read", "written")[direction]
    notes: list[str] = []
    own: dict[int, list[tuple[str, int]]] = {}
    dumps: list[list[tuple[str, Array]]] = []
    found_of, times = _moved(trace, direction, word, notes)
    for i, by_rank in found_of.items():
        path = trace.files[i].path
        name = path.rsplit("/", 1)[-1]
        whole = _Part("", (), by_rank)
        found = _data_sets(trace, path, direction, whole.size, notes) or [whole]
        for part in found:
            where = f"{path}:{part.name}" if part.name else path
            part.by_rank = _apart(part.by_rank, f"{word} by several", where, notes)
        ranks = {rank for part in found for rank in part.by_rank}
        if len(ranks) == 1:
            size = sum(part.size for part in found)
            own.setdefault(ranks.pop(), []).append((name, size))
        else:
            dumps.append(
                [
                    (f"{name}{part.name.replace('/', '_')}_{k}", array)
                    for part in found
                    for k, array in enumerate(_arrays(part, begins.get(i, 0)))
                ]
            )
    if own:
        dumps += _own_files(own, notes)
    if not dumps:
        raise CannotReplayError(
            f"{trace.path}: nothing was {word}, so no other method can be compared"
        )
    shapes = {
        json.dumps([[a.dims, a.wide, sorted(a.boxes.items())] for _, a in dump], sort_keys=True)
        for dump in dumps
    }
    steps = len(dumps) if len(shapes) == 1 else 1
    if len(dumps) > 1:
        notes.append(
            f"{steps} dumps of one shape"
            if steps > 1
            else f"{len(dumps)} files (or groups of them) of different shapes: arrays of one file"
        )
    named = [one for dump in (dumps[:1] if steps > 1 else dumps) for one in dump]
    if any(one.below for one in trace.files):
        notes.append(
            "who owns what is as the MPI library's own POSIX calls have it: after collective "
            "calls, its aggregators"
        )
    made = WhatIf(named, steps * times, trace.processes, notes)
    write_whole(out, _encoded(made, trace))
    return made


def _moved(
    trace: Trace, direction: int, word: str, notes: list[str]
) -> tuple[dict[int, ByRank], int]:
    """For each file: what each process read or wrote, in as few extents as possible; and how many
    times it wrote all of it."""
    found: dict[int, ByRank] = {}
    sizes: list[tuple[int, int]] = []  # with and without what was moved before
    for rank in range(trace.processes):
        rows, _ = trace.pieces(rank)
        moved = moved_extents(rows, np.zeros(len(rows), np.int64), direction)
        rows = rows[rows["write"] == direction]
        for i in np.unique(moved["file"]).tolist():
            mine = moved[moved["file"] == i]
            found.setdefault(i, {})[rank] = (mine["start"].copy(), mine["end"].copy())
            size = int(rows["length"][rows["file"] == i].sum())
            sizes.append((size, int((mine["end"] - mine["start"]).sum())))
    all_, once = (sum(of) for of in zip(*sizes, strict=True)) if sizes else (0, 0)
    # What is read again may come from memory.
    times = round(all_ / once) if once and direction == WRITE else 1
    left = sum(abs(size - times * distinct) for size, distinct in sizes)
    if left > MOST_AGAIN * all_:
        raise CannotReplayError(
            f"{trace.path}: {all_ - once} of {all_} bytes were {word} by a process that had {word} "
            "them before; other methods move each byte once, so none can be compared"
        )
    if times > 1:
        notes.append(f"each byte was {word} {times} times: {times} dumps")
    if left:
        notes.append(f"left out: {left} bytes {word} by a process that had {word} them before")
    return dict(sorted(found.items())), times


def _shown_from(trace: Trace) -> dict[int, int]:
    """The first byte that a view shows, by file."""
    found: dict[int, int] = {}
    for rows in trace.accesses:
        for file, number in np.unique(rows[rows["view"] > 0][["file", "view"]]).tolist():
            view = trace.views[number]
            begin = view.displacement + view.pieces[0][0]
            found[file] = min(begin, found.get(file, begin))
    return found


def _data_sets(
    trace: Trace, path: str, direction: int, in_file: int, notes: list[str]
) -> list[_Part]:
    """What HDF5's calls moved, as bytes of each data set's elements in their order: in the file
    they may be in chunks, and packed by filters. Nothing if that is not known."""
    found: dict[tuple[str, int, int], _Part] = {}
    moves = [one for one in trace.moves.get(path, ()) if one[3] == direction]
    for _, one, _, _ in moves:
        key = (one.name, one.bytes, len(one.dims))
        part = found.setdefault(key, _Part(one.name, (), {}))
        dims = zip_longest((*one.dims, one.bytes), part.dims, fillvalue=0)
        part.dims = tuple(max(both) for both in dims)
    places: dict[tuple[int, tuple[str, int, int]], list[tuple[Numbers, Numbers]]] = {}
    left = arrays.MOST_EXTENTS
    if any(math.prod(part.dims) >= 2**62 for part in found.values()):
        return []
    for rank, one, slabs, _ in moves:
        key = (one.name, one.bytes, len(one.dims))
        known: list[tuple[Numbers, Numbers]] = []
        for slab in slabs or ():
            if some := arrays.bytes_of(slab, found[key].dims, left):
                known.append(some)
                left -= len(some[0])
        if slabs is None or one.kind == VARIABLE_LENGTH or len(known) < len(slabs):
            notes.append(
                f"arrays as they are in the file: some selections of {path}:{one.name} are unknown"
            )
            return []
        if known:
            places.setdefault((rank, key), []).extend(known)
    for (rank, key), known in places.items():
        start, end = (np.concatenate(both) for both in zip(*known, strict=True))
        found[key].by_rank[rank] = extents.union(start, end)
    parts = [part for part in found.values() if part.by_rank]
    if parts:
        packed = ", packed by filters" * any(one.filters for _, one, _, _ in moves)
        size, sets = sum(part.size for part in parts), counted(len(parts), "data set")
        notes.append(
            f"{size} bytes of {sets}, as HDF5's calls have them; in the file, "
            f"{in_file}{packed}: {path}"
        )
    return parts


def _arrays(part: _Part, begin: int) -> list[Array]:
    """What views show, from `begin` on, is no part of an array with the header before it."""
    by_rank = part.by_rank
    if part.dims:
        of_set = [(rank, *mine) for rank, mine in sorted(by_rank.items())]
        return arrays.of_file(of_set, (*part.dims[:-2], math.prod(part.dims[-2:])))
    found: list[Array] = []
    for low, high in ((0, begin), (begin, np.iinfo(np.int64).max)):
        range_ = (np.array([low]), np.array([high]))
        some = [(rank, *extents.shared(mine, range_)) for rank, mine in sorted(by_rank.items())]
        some = [one for one in some if len(one[1])]
        found += arrays.of_file(some) if some else []
    return found


def _apart(by_rank: ByRank, what: str, path: str, notes: list[str]) -> ByRank:
    """Bytes that several processes move go to the lowest one."""
    start = np.concatenate([mine[0] for mine in by_rank.values()])
    end = np.concatenate([mine[1] for mine in by_rank.values()])
    order = np.argsort(start, kind="stable")
    if (start[order][1:] >= np.maximum.accumulate(end[order])[:-1]).all():
        return by_rank
    found: ByRank = {}
    taken = (np.empty(0, np.int64), np.empty(0, np.int64))
    twice = 0
    for rank, mine in sorted(by_rank.items()):
        low, high = np.append(0, taken[1]), np.append(taken[0], end.max())
        kept = extents.shared(mine, (low[high > low], high[high > low]))
        twice += int((mine[1] - mine[0]).sum() - (kept[1] - kept[0]).sum())
        if len(kept[0]):
            found[rank] = kept
        taken = extents.union(*(np.concatenate(pair) for pair in zip(taken, mine, strict=True)))
    notes.append(f"{twice} bytes are {what} processes, and here by the lowest: {path}")
    return found


def _own_files(
    own: dict[int, list[tuple[str, int]]], notes: list[str]
) -> list[list[tuple[str, Array]]]:
    """Files that one process uses: the first ones of all processes are parts of one array."""
    dumps = []
    for k in range(max(len(files) for files in own.values())):
        boxes: dict[int, list[arrays.Box]] = {}
        place = 0
        name = ""
        for rank, files in sorted(own.items()):
            if k < len(files):
                size = files[k][1]
                boxes[rank] = [((place,), (size,))]
                place += size
                name = name or files[k][0]
        dumps.append([(name, arrays.widened(Array((place,), boxes)))])
    count = sum(len(files) for files in own.values())
    notes.append(f"{count} files of one process each are {len(dumps)} shared arrays")
    return dumps


def _encoded(made: WhatIf, trace: Trace) -> bytes:
    parts: list[bytes] = [MAGIC]
    datasets, transfers, size = [], [], 0
    for i, (name, array) in enumerate(made.arrays):
        most = max(len(mine) for mine in array.boxes.values())
        size += most * made.processes * 2 * len(array.dims) * 8
        if size > MOST_BYTES:
            raise CannotReplayError(
                f"{trace.path}: its extents are too irregular for another method: their list takes "
                f"{size} bytes; expected at most {MOST_BYTES}"
            )
        table = np.zeros((made.processes, most, 2, len(array.dims)), "<u8")
        for rank, mine in array.boxes.items():
            table[rank, : len(mine)] = mine
        parts.append(table.tobytes())
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[-NAME_ROOM:]
        datasets.append(
            {
                "name": f"a{i}_{plain}",
                "type": "float64" if array.wide else "byte",
                "dims": array.dims,
            }
        )
        transfers.append({"dataset": i, "parts": most})
    text = json.dumps(
        {
            "format": FORMAT,
            "source": source_of(trace),
            "recorder": trace.log.recorder,
            "processes": made.processes,
            "steps": made.steps,
            "said": made.notes,
            "datasets": datasets,
            "transfers": transfers,
        }
    ).encode()
    return b"".join((*parts, text, LENGTH.pack(len(text)), END))
