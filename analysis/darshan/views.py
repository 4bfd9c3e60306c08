# SPDX-License-Identifier: BSD-3-Clause
"""The bytes of a file that MPI-IO calls move, through the view set before them."""

import numpy as np
from numpy.typing import NDArray

from .raw import EVENT, OPEN, VIEW, RawProcess, RawView

# raw.MARK as an array.
MARK = np.dtype([("at", "<i8"), ("sequence", "<u4"), ("call", "<u4")])
MOST_PIECES = 4_000_000  # of one process and file
WHOLE = RawView(0, 1, 1, 1, ((0, 1),))


def places(
    rows: NDArray[np.void], at: NDArray[np.int64], process: RawProcess, file: int
) -> tuple[NDArray[np.void], list[str]]:
    """`rows`: calls to one file; `at`: their offsets in elements of the view. Returns a row per
    piece of bytes; calls at unknown offsets are left out and reported."""
    changes = [(0, WHOLE)]
    for identity, a, _, _, _, sequence, kind, _ in EVENT.iter_unpack(process.events):
        if identity == file and kind in (OPEN, VIEW):
            changes.append((sequence, process.views[a] if kind == VIEW else WHOLE))
    since = np.array([sequence for sequence, _ in changes])
    which = np.searchsorted(since, rows["sequence"], side="right") - 1
    found, left, count = [], 0, 0
    for i in np.unique(which):
        view, mine = changes[int(i)][1], np.flatnonzero((which == i) & (rows["length"] > 0))
        if len(view.pieces) == 1 and view.size == view.extent == view.pieces[0][1]:
            known = mine[at[mine] >= 0]
            some = rows[known].copy()
            some["offset"] = view.displacement + view.pieces[0][0] + at[known] * view.element
            found.append(some)
            left += len(mine) - len(known)
            continue
        for k in mine:
            many = pieces(rows[k], int(at[k]), view, MOST_PIECES - count)
            left += many is None
            if many is not None:
                found.append(many)
                count += len(many)
    calls = f"{left} MPI-IO calls of process {process.rank}"
    notes = [f"{calls} are left out, as it is not known which bytes they move"] * (left > 0)
    return np.concatenate([*found, np.empty(0, rows.dtype)]), notes


def pieces(row: np.void, at: int, view: RawView, most: int) -> NDArray[np.void] | None:
    """One call's pieces, in order; None if unknown or too many."""
    if at < 0 or not view.pieces or view.size <= 0:
        return None
    first, last = at * view.element, at * view.element + int(row["length"])
    tiles = np.arange(first // view.size, -(-last // view.size))
    if len(tiles) * len(view.pieces) > most:
        return None
    offsets, lengths = np.array(view.pieces, np.int64).T
    where = np.cumsum(lengths) - lengths  # of each piece, in a tile's data
    start = (tiles[:, None] * view.size + where).ravel()
    offset = (view.displacement + tiles[:, None] * view.extent + offsets).ravel()
    length = np.broadcast_to(lengths, (len(tiles), len(lengths))).ravel()
    low, high = np.maximum(start, first), np.minimum(start + length, last)
    keep = low < high
    made = np.repeat(np.array([row], row.dtype), int(keep.sum()))
    made["offset"] = (offset + low - start)[keep]
    made["length"] = (high - low)[keep]
    return made
