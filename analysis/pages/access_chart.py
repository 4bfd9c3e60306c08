# SPDX-License-Identifier: BSD-3-Clause
"""Charts of file accesses over time and over a file's bytes; several traces share the axes.
Accesses are snapped to a grid, in units of 1/GRID, so a page of 10^7 is no larger."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from iogauge.common.text import time_unit

from ..darshan.log import Log
from ..replay.extents import union
from ..replay.trace import ACCESS, NUMBER_OF, READ, WRITE, Trace
from ..session.model import DIRECTIONS
from . import colours

GRID = 1000
MOST_MARKS = 6000  # marks in a picture; above it, the grid gets coarser
MOST_RANKS = 1 << 20  # above it, the log is damaged
MOST_PROCESSES = 64  # above it, a line is thinner than a letter
ROW, LEAST_HEIGHT, MOST_HEIGHT = 22, 70, 420  # pixels
PLACES_HEIGHT = 260
COLOURS = colours.of_names(DIRECTIONS)
TICKS = 5
OF_A_LOG = ["file", "write", "offset", "length", "start", "end"]  # fields of an access

Marks = NDArray[np.int64]
Tick = tuple[float, str]  # percent of the axis, label


@dataclass(frozen=True)
class Path:
    """Marks of one direction: `d` as SVG says it, with `title` for who points at it."""

    colour: str
    d: str
    title: str


@dataclass(frozen=True)
class Picture:
    """`sides`: one for each trace."""

    name: str
    text: str
    unit: str
    height: int
    x: list[Tick]
    y: list[Tick]
    sides: list[list[Path]]


def of_log(log: Log) -> Trace | None:
    """The single accesses (DXT) of the POSIX layer that moved data; None if the log has none."""
    if not any(one.module == "POSIX" for one in log.segments) or log.processes > MOST_RANKS:
        return None
    rows: list[list[tuple[float, ...]]] = [[] for _ in range(log.processes)]
    for one in log.segments:
        if one.module == "POSIX" and 0 <= one.rank < len(rows):
            for direction, entries in ((WRITE, one.writes), (READ, one.reads)):
                rows[one.rank] += [(0, direction, *entry) for entry in entries if entry[1]]
    return Trace(log.path, log, [], [_accesses(own) for own in rows], [])


def _accesses(rows: Sequence[tuple[float, ...]]) -> NDArray[np.void]:
    """Sorted by start. Fields that the log lacks are 0."""
    known = np.array(rows, [(name, ACCESS[name]) for name in OF_A_LOG])
    found = np.zeros(len(rows), ACCESS)
    found[OF_A_LOG] = np.sort(known, order="start", kind="stable")
    return found


def seconds(traces: Sequence[Trace]) -> float:
    """Length of the time axis: the longest trace."""
    return max(_last(trace) - _first(trace) for trace in traces) or 1e-6


def timeline(traces: Sequence[Trace]) -> Picture:
    whole = seconds(traces)
    processes = max(trace.processes for trace in traces)
    shown = np.unique(np.linspace(0, processes - 1, min(processes, MOST_PROCESSES)).astype(int))
    directions = [d for d in NUMBER_OF.values() if any(_has(trace, d) for trace in traces)]
    text = "Each bar is an access in the line of its process; bars that touch are joined"
    if len(shown) < processes:
        text += f"; {len(shown)} of {processes} processes are drawn"
    height, labels = lines(shown.tolist())
    draw = partial(_bars, shown=shown.tolist(), directions=directions, whole=whole)
    sides = [_paths(trace, directions, draw) for trace in traces]
    return Picture(
        "Time line of the processes", text, "process", height, ticks(whole, "s"), labels, sides
    )


def lines(shown: Sequence[int]) -> tuple[int, list[Tick]]:
    labels = [((i + 0.5) * 100 / len(shown), f"{rank}") for i, rank in enumerate(shown)]
    height = max(LEAST_HEIGHT, min(MOST_HEIGHT, ROW * len(shown)))
    return height, labels[:: math.ceil(len(labels) * 12 / height)]  # a label is 12 pixels


def places(traces: Sequence[Trace]) -> Picture | None:
    """Offsets over time in the file with the most bytes; None if a trace lacks them."""
    log = traces[0]
    moved = np.zeros(len(log.files))
    for rows in log.accesses:
        np.add.at(moved, rows["file"], rows["length"])
    file = int(moved.argmax())
    own = [[rows[rows["file"] == file] for rows in trace.accesses] for trace in traces]
    if any((rows["offset"] < 0).any() for side in own for rows in side):
        return None
    whole = seconds(traces)
    size = max(int((r["offset"] + r["length"]).max()) for side in own for r in side if len(r))
    unit = _unit(size)
    draw = partial(_boxes, file=file, size=size, whole=whole)
    sides = [_paths(trace, tuple(NUMBER_OF.values()), draw) for trace in traces]
    text = f"Each box is an access: its time, and its bytes of {log.files[file].path}"
    if len(log.files) > 1:
        text += f", the file of {len(log.files)} that moved most"
    y = [(100 - at, label) for at, label in ticks(size / unit[1], unit[0])]
    return Picture("Offsets in the file", text, "", PLACES_HEIGHT, ticks(whole, "s"), y, sides)


def ticks(whole: float, unit: str) -> list[Tick]:
    """Round numbers from 0 to `whole`, at most TICKS and 0. Of seconds, in their best unit."""
    if unit == "s":
        unit, size = time_unit(whole)
        whole /= size
    rough = whole / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(n * power for n in (1, 2, 5, 10) if n * power >= rough * 0.999999)
    n = int(whole / step * 1.000001)
    return [(100 * i * step / whole, f"{i * step:.6g} {unit}" if i else "0") for i in range(n + 1)]


def _unit(size: int) -> tuple[str, int]:
    powers = ("bytes", "KiB", "MiB", "GiB", "TiB")
    n = max(n for n in range(len(powers)) if n == 0 or 1024**n <= size)
    return powers[n], 1024**n


def _first(trace: Trace) -> float:
    return min((float(rows["start"].min()) for rows in trace.accesses if len(rows)), default=0.0)


def _last(trace: Trace) -> float:
    return max((float(rows["end"].max()) for rows in trace.accesses if len(rows)), default=0.0)


def _has(trace: Trace, direction: int) -> bool:
    return any((rows["write"] == direction).any() for rows in trace.accesses)


def _paths(trace: Trace, directions: Sequence[int], marks: Callable[..., Marks]) -> list[Path]:
    """The marks of each direction, on the finest grid that keeps their number in bounds."""
    found = []
    for name, direction in NUMBER_OF.items():
        if direction not in directions:
            continue
        grid = GRID
        mine = marks(trace, direction, grid=grid)
        while len(mine) > MOST_MARKS and grid > 50:
            grid //= 2
            mine = marks(trace, direction, grid=grid)
        rows = [some["length"][some["write"] == direction] for some in trace.accesses]
        calls, moved = sum(map(len, rows)), sum(int(some.sum()) for some in rows)
        title = f"{calls:,} {name}s, {moved:,} bytes"
        boxes = "".join(f"M{x} {y}h{w}v{h}h-{w}z" for x, y, w, h in mine.tolist())
        found.append(Path(COLOURS[name], boxes, title))
    return found


def _bars(
    trace: Trace,
    direction: int,
    *,
    shown: Sequence[int],
    directions: Sequence[int],
    whole: float,
    grid: int,
) -> Marks:
    """`shown`, `directions`: the processes and directions with a separate line."""
    first, found = _first(trace), [np.empty((0, 4), np.int64)]
    row = GRID / len(shown)
    high = row * 0.86 / len(directions)
    for i, rank in enumerate(shown):
        if rank >= trace.processes:
            continue
        rows = trace.accesses[rank]
        mine = rows[(rows["write"] == direction) & (rows["length"] > 0)]
        start, end = union(mine["start"], mine["end"], gap=whole / grid)
        x = _at(start - first, whole)
        y = np.full_like(x, row * (i + 0.07) + high * directions.index(direction))
        wide = np.maximum(_at(end - first, whole) - x, 1)
        found.append(np.column_stack((x, y, wide, np.full_like(x, high))))
    return np.concatenate(found)


def _boxes(trace: Trace, direction: int, *, file: int, size: int, whole: float, grid: int) -> Marks:
    first, found = _first(trace), []
    step = GRID // grid
    for rows in trace.accesses:
        mine = rows[(rows["write"] == direction) & (rows["file"] == file) & (rows["length"] > 0)]
        times = (_at(mine[name] - first, whole) for name in ("start", "end"))
        bytes_of = (_at(mine["offset"] + more, size) for more in (0, mine["length"]))
        left, right, low, high = (edge // step * step for edge in (*times, *bytes_of))
        high = np.maximum(high, low + step)
        box = (left, GRID - high, np.maximum(right - left, step), high - low)
        found.append(np.unique(np.column_stack(box), axis=0))
    return np.unique(np.concatenate(found), axis=0)


def _at(values: NDArray[np.float64], whole: float) -> NDArray[np.int64]:
    return np.round(values / whole * GRID).astype(np.int64)


def legend(traces: Sequence[Trace]) -> Iterator[tuple[str, str]]:
    for name, direction in NUMBER_OF.items():
        if any(_has(trace, direction) for trace in traces):
            yield name, COLOURS[name]
