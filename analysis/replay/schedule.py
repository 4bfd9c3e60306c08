# SPDX-License-Identifier: BSD-3-Clause
"""The file that `iokernel replay --schedule` reads (kernels/base/schedule.h says what is in it)."""

import json
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from iogauge.common import json_file, schemas
from iogauge.common.files import writing_whole

from ..darshan.raw import RawView
from . import own
from .trace import MODULE_OF, CannotReplayError

ANEW = "make it again with iogauge replay plan"
MAGIC, END, FORMAT = b"IOGSCHED", b"IOGS-END", "iogauge.schedule/2"
OPEN, CLOSE, READ, WRITE, READ_ALL, WRITE_ALL, SYNC, PHASE, VIEW, WAIT = (*range(9), 19)
# The acts of reading and of writing, by `form` of an access.
MOVES = {
    own.SINGLE: (READ, WRITE),
    own.ALL: (READ_ALL, WRITE_ALL),
    own.LATER: (9, 10),
    own.ALL_LATER: (11, 12),
    own.SPLIT: (13, 14),
    own.ORDERED: (15, 16),
    own.SHARED: (17, 18),
    own.SHARED | own.LATER: (20, 21),
}
READS, WRITES = zip(*MOVES.values(), strict=True)
VIEW_BITS = 32  # a file view is the upper half of an act's file
ACT = np.dtype(
    [
        ("kind", "<u8"),
        ("file", "<u8"),
        ("offset", "<u8"),
        ("length", "<u8"),
        ("stride", "<i8"),
        ("count", "<u8"),
    ]
)
EXTENT = np.dtype([("file", "<u8"), ("start", "<u8"), ("end", "<u8")])
LENGTH = struct.Struct("<Q")


class Writer:
    """The acts of each process, in order, then the extents; `finish` writes the rest."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._out.write(MAGIC)
        self.each: list[list[int]] = []

    def process(self, acts: NDArray[np.void]) -> None:
        sums = [
            int(value)
            for some in (acts[np.isin(acts["kind"], kinds)] for kinds in (READS, WRITES))
            for value in (some["count"].sum(), (some["count"] * some["length"]).sum())
        ]
        self.each.append([len(acts), *sums])
        self._out.write(acts.tobytes())

    def extents(self, extents: NDArray[np.void]) -> int:
        self._out.write(extents.tobytes())
        return len(extents)

    def views(self, views: Sequence[RawView]) -> int:
        """Write the views from number 1 on. Returns how many numbers were written."""
        count = 0
        for view in views[1:]:
            numbers = np.array([view.displacement, view.extent, len(view.pieces)], "<u8")
            self._out.write(numbers.tobytes() + np.array(view.pieces, "<u8").tobytes())
            count += len(numbers) + 2 * len(view.pieces)
        return count

    def finish(self, header: dict[str, Any]) -> None:
        text = json.dumps({"format": FORMAT, **header, "each": self.each}).encode()
        self._out.write(text + LENGTH.pack(len(text)) + END)


@contextmanager
def writing(path: Path) -> Iterator[Writer]:
    """A regular file gets its name once it is complete."""
    with writing_whole(path) as out:
        yield Writer(out)


def read_header(path: Path) -> dict[str, Any]:
    """The document at the end. `CannotReplayError` if it is not a schedule, or incomplete."""
    data = path.read_bytes() if path.is_file() else b""
    tail = LENGTH.size + len(END)
    if not data.startswith(MAGIC) or not data.endswith(END) or len(data) < len(MAGIC) + tail:
        raise CannotReplayError(f"{path}: expected a schedule, as `iogauge replay plan` makes it")
    (length,) = LENGTH.unpack(data[-tail : -len(END)])
    try:
        header: dict[str, Any] = json_file.parse(data[-tail - length : -tail].decode())
        schemas.check(header, FORMAT, "format")
        header = {**header, "gap": float(header["gap"]), "said": list(header["said"])}
        levels = {one["level"] for one in header["files"]} - MODULE_OF.keys()
    except schemas.UnknownSchema as error:
        raise CannotReplayError(f"{path}: {error}") from None
    except (json_file.Unreadable, KeyError, TypeError, ValueError) as error:
        raise CannotReplayError(f"{path}: its end is damaged: {error!r}; {ANEW}") from None
    if levels:
        raise CannotReplayError(f"{path}: a file with unknown level {min(levels)}; {ANEW}")
    return header
