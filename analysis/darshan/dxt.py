# SPDX-License-Identifier: BSD-3-Clause
"""The single accesses of a Darshan log (DXT) as arrays, in parts: a log may hold 10^7."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .header import DXT as DXT
from .header import MOST_BYTE, MOST_SECONDS, NAMES, UPDATE, BrokenLogError, Header
from .library import DxtHead
from .versions import KNOWN, absent

FIELDS = [("offset", "<i8"), ("length", "<i8"), ("start", "<f8"), ("end", "<f8")]
SEGMENT = np.dtype(FIELDS)
THREADED_SEGMENT = np.dtype([*FIELDS, ("thread", "<u8")])
HEAD = np.dtype(DxtHead)
UNKNOWN = -1  # offset
MOST_EMPTY = 10**6  # records; more would be damage


@dataclass(frozen=True)
class Block:
    """One process's accesses to a file through a module: so many `writes`, then reads. `set_back`:
    how many end before they begin: the clock was set back meanwhile."""

    module: str
    file: int
    rank: int
    writes: int
    segments: NDArray[np.void]
    host: str = ""
    set_back: int = 0


def blocks(header: Header, name: str, version: int, processes: int) -> Iterator[Block]:
    """All of a module's (`DXT_POSIX`, `DXT_MPIIO`). `BrokenLogError` if it is damaged."""
    if not 0 < version <= KNOWN[name]:
        what = f"{header.log}: {name} has version {version}, this reads up to {KNOWN[name]}"
        raise BrokenLogError(what, UPDATE)
    lacks = absent(name, version)
    kind = (SEGMENT if "thread" in lacks else THREADED_SEGMENT).newbyteorder(header.order)
    first = HEAD.newbyteorder(header.order)
    held, empty = bytearray(), 0
    needed = HEAD.itemsize
    for piece in header.pieces(NAMES.index(name)):
        held += piece
        at = 0
        while len(held) - at >= needed:
            head = np.frombuffer(bytes(held[at : at + HEAD.itemsize]), first)[0]
            needed = _size(header, name, head, processes, kind.itemsize)
            if len(held) - at < needed:
                break
            data = np.frombuffer(bytes(held[at + HEAD.itemsize : at + needed]), kind)
            empty += not len(data)
            if empty > MOST_EMPTY:
                raise BrokenLogError(f"{header.log}: {empty} records without an access in {name}")
            yield _checked(header, name, head, data, "offset" in lacks)
            at, needed = at + needed, HEAD.itemsize
        del held[:at]
    if held:
        raise BrokenLogError(f"{header.log}: {name} ends within a record")


def _size(header: Header, name: str, head: np.void, processes: int, each: int) -> int:
    writes, reads = int(head["writes"]), int(head["reads"])
    if min(writes, reads) < 0 or writes + reads > 2**32:
        raise BrokenLogError(f"{header.log}: {writes} and {reads} segments in {name}")
    if not 0 <= head["rank"] < processes:
        raise BrokenLogError(f"{header.log}: {name} has process {head['rank']} of {processes}")
    return HEAD.itemsize + (writes + reads) * each


def _checked(
    header: Header, name: str, head: np.void, data: NDArray[np.void], unknown: bool
) -> Block:
    whole = np.empty(len(data), SEGMENT)
    for field, _ in FIELDS:
        whole[field] = UNKNOWN if unknown and field == "offset" else data[field]
    start, end = whole["start"], whole["end"]
    if not np.all((np.abs(start) < MOST_SECONDS) & (np.abs(end) < MOST_SECONDS)):
        raise BrokenLogError(f"{header.log}: an invalid time in {name}")
    set_back = int(np.sum(end < start))
    whole["end"] = np.maximum(start, end)
    if len(data) and (whole["length"].min() < 0 or whole["offset"].min() < -1):
        raise BrokenLogError(f"{header.log}: an access of {name} at a negative offset")
    if len(data) and int(whole["offset"].max()) + int(whole["length"].max()) > MOST_BYTE:
        raise BrokenLogError(f"{header.log}: an access of {name} beyond the largest file")
    host = bytes(head["host"]).rstrip(b"\0").decode(errors="replace")
    file, rank, writes = (int(head[field]) for field in ("id", "rank", "writes"))
    return Block(DXT[name], file, rank, writes, whole, host, set_back)


def notes(set_back: int) -> list[str]:
    """What is uncertain about blocks that have so many."""
    text = f"accesses that end before they begin: {set_back}; a clock was set back"
    return [f"{text}, and their order is not certain"] if set_back else []
