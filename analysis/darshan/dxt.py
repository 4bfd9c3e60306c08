# SPDX-License-Identifier: BSD-3-Clause
"""The single accesses of a Darshan log (DXT) as arrays, in parts: a log may hold 10^7."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .child import DXT, KNOWN, MOST_SECONDS, THREADED, BrokenLogError
from .header import NAMES, Header
from .library import DxtHead

FIELDS = [("offset", "<i8"), ("length", "<i8"), ("start", "<f8"), ("end", "<f8")]
SEGMENT = np.dtype(FIELDS)
THREADED_SEGMENT = np.dtype([*FIELDS, ("thread", "<u8")])
_HEAD = ctypes.sizeof(DxtHead)


@dataclass(frozen=True)
class Block:
    """One process's accesses to one file through one module: so many `writes`, then reads."""

    module: str
    file: int
    rank: int
    writes: int
    segments: NDArray[np.void]
    host: str = ""


def blocks(header: Header, name: str, version: int, processes: int) -> Iterator[Block]:
    """All of a module's (`DXT_POSIX`, `DXT_MPIIO`). `BrokenLogError` if it is damaged."""
    if not 0 < version <= KNOWN[name]:
        raise BrokenLogError(f"{header.log}: {name} has version {version}, not up to {KNOWN[name]}")
    kind = SEGMENT if version < THREADED[name] else THREADED_SEGMENT
    held = bytearray()
    needed = _HEAD
    for piece in header.pieces(NAMES.index(name)):
        held += piece
        at = 0
        while len(held) - at >= needed:
            head = DxtHead.from_buffer_copy(held, at)
            needed = _size(header, name, head, processes, kind.itemsize)
            if len(held) - at < needed:
                break
            count = head.writes + head.reads
            data = np.frombuffer(bytes(held[at + _HEAD : at + needed]), kind, count)
            yield _checked(header, name, head, data)
            at, needed = at + needed, _HEAD
        del held[:at]
    if held:
        raise BrokenLogError(f"{header.log}: {name} ends within a record")


def _size(header: Header, name: str, head: DxtHead, processes: int, each: int) -> int:
    if min(head.writes, head.reads) < 0 or head.writes + head.reads > 2**32:
        raise BrokenLogError(f"{header.log}: {head.writes} and {head.reads} segments in {name}")
    if not 0 <= head.rank < processes:
        raise BrokenLogError(f"{header.log}: {name} has a process {head.rank} of {processes}")
    return _HEAD + int(head.writes + head.reads) * each


def _checked(header: Header, name: str, head: DxtHead, data: NDArray[np.void]) -> Block:
    whole = np.empty(len(data), SEGMENT)
    for field, _ in FIELDS:
        whole[field] = data[field]
    times = np.abs(np.stack([whole["start"], whole["end"]]))
    if len(data) and not np.all(times < MOST_SECONDS):
        raise BrokenLogError(f"{header.log}: a time that is none in {name}")
    if len(data) and (whole["length"].min() < 0 or whole["offset"].min() < -1):
        raise BrokenLogError(f"{header.log}: an access of {name} before the beginning of its file")
    if len(data) and int(whole["offset"].max()) + int(whole["length"].max()) > 2**62:
        raise BrokenLogError(f"{header.log}: an access of {name} behind all places")
    host = head.host.decode(errors="replace")
    return Block(DXT[name], int(head.id), int(head.rank), int(head.writes), whole, host)
