# SPDX-License-Identifier: BSD-3-Clause
"""Facts of a log that Darshan's library does not report: which modules lost records, and the bytes
of modules newer than the library. Older formats (darshan-log-format.h of 3.0.0, 3.1.0 and 3.2.0)
have room for 16 modules, with other numbers."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import AnalysisError

FORMAT, MAGIC = b"3.41", 6567223
OLDEST = b"3.00"
MODULES = 64
# Version, magic number, compression, flags of incomplete modules, the places of the names and of
# each module; versions of the modules.
HEAD = struct.Struct(f"<8sqB7xQ2Q{2 * MODULES}Q{MODULES}I")
OLD_MODULES = 16
OLD_HEAD = struct.Struct(f"<8sqB3xI2Q{2 * OLD_MODULES}Q{OLD_MODULES}I")
ZLIB = 0
NAMES = (
    "NULL",
    "POSIX",
    "MPI-IO",
    "H5F",
    "H5D",
    "PNETCDF_FILE",
    "PNETCDF_VAR",
    "BG/Q",
    "LUSTRE",
    "STDIO",
    "DXT_POSIX",
    "DXT_MPIIO",
    "MDHIM",
    "APXC",
    "APMPI",
    "HEATMAP",
    "DFS",
    "DAOS",
)
DXT = {"DXT_POSIX": "POSIX", "DXT_MPIIO": "MPI-IO"}  # whose single accesses
# Before PNETCDF_VAR; before that, HDF5 was one module.
OF_320 = tuple(name for name in NAMES if name != "PNETCDF_VAR")[:OLD_MODULES]
OF_300 = tuple(name for name in OF_320 if name != "H5D")[:11]
FORMATS = ((FORMAT, HEAD, NAMES), (b"3.20", OLD_HEAD, OF_320), (OLDEST, OLD_HEAD, OF_300))
MOST_BYTES = 2**30  # of a module; more would be damage
MOST_SECONDS = 1e11  # of a job, or since 1970; likewise
MOST_BYTE = 2**62  # of a file; likewise
PIECE = 2**24
AGAIN = "copy it again, or trace the program again"
UPDATE = "expected a log of Darshan 3.0 to 3.5; try a newer iogauge"
Order = Literal["<", ">"]
# https://github.com/darshan-hpc/darshan/issues/1064 and pull request 1071.
OF_OPEN_MPI = (
    "(Open MPI before 4.1.7, and 5.0 before 5.0.6, damages logs of four processes and more; run "
    "with DARSHAN_LOGHINTS=cb_nodes=1)"
)


class BrokenLogError(AnalysisError):
    """The log is truncated, damaged, or of a format or version that the library does not read."""

    def __init__(self, what: str, remedy: str = AGAIN) -> None:
        super().__init__(f"{what}; {remedy}")


@dataclass(frozen=True)
class Header:
    """`places`: offset and length of each module's bytes in the file. `partial`: modules that lost
    something. `order`: of the bytes, as `struct` writes it."""

    log: Path
    compression: int
    partial: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    order: Order = "<"

    @property
    def cut(self) -> tuple[str, ...]:
        """The modules with incomplete bytes."""
        size = self.log.stat().st_size
        return tuple(
            name for name, (at, n) in zip(NAMES, self.places, strict=False) if n and at + n > size
        )

    def pieces(self, module: int) -> Iterator[bytes]:
        """A module's bytes, in parts: each process compressed its own."""
        offset, length = self.places[module]
        if self.compression != ZLIB:
            raise BrokenLogError(f"{self.log}: compression {self.compression} is not zlib's")
        if offset + length > self.log.stat().st_size:
            raise BrokenLogError(f"{self.log}: {NAMES[module]} is cut off")
        with self.log.open("rb") as file:
            file.seek(offset)
            left, room = length, MOST_BYTES
            rest = b""
            stream = zlib.decompressobj()
            while rest or left:
                if not rest:
                    rest = file.read(min(left, PIECE))
                    left -= len(rest)
                if stream.eof:
                    stream = zlib.decompressobj()
                try:
                    found = stream.decompress(rest, min(PIECE, room))
                except zlib.error as error:
                    what = f"{self.log}: {NAMES[module]} is damaged: {error} {OF_OPEN_MPI}"
                    raise BrokenLogError(what) from None
                room -= len(found)
                if found:
                    yield found
                rest = stream.unused_data if stream.eof else stream.unconsumed_tail
                if not room and not stream.eof:
                    break
            if length and not stream.eof:
                raise BrokenLogError(f"{self.log}: {NAMES[module]} is cut off")


def is_compressed(log: Path) -> bool:
    """Compressed by gzip or bzip2 as a whole, as by Darshan 2."""
    with log.open("rb") as file:
        return file.read(4).startswith((b"\x1f\x8b", b"BZh"))


def read_header(log: Path) -> Header:
    """`BrokenLogError` if the log is truncated or has another format."""
    with log.open("rb") as file:
        head = file.read(HEAD.size)
    format_ = head[: len(FORMAT)]
    layout, names = next(
        ((layout, names) for first, layout, names in FORMATS if first <= format_ <= FORMAT),
        (HEAD, NAMES),
    )
    if len(head) < layout.size:
        raise BrokenLogError(f"{log}: not a Darshan log, or truncated")
    order: Order = ">" if int.from_bytes(head[8:16], "big") == MAGIC else "<"
    of_log = struct.Struct(order + layout.format[1:])
    version, magic, compression, partial, _, _, *rest = of_log.unpack_from(head)
    if magic != MAGIC:
        raise BrokenLogError(f"{log}: not a Darshan log, or damaged: its magic number is {magic}")
    if not OLDEST <= format_ <= FORMAT:
        text = version.rstrip(b"\0").decode(errors="replace")
        raise BrokenLogError(
            f"{log}: log format {text}, this reads {OLDEST.decode()} to {FORMAT.decode()}", UPDATE
        )
    pairs = dict(zip(names, zip(rest[::2], rest[1::2], strict=False), strict=False))
    places = tuple(pairs.get(name, (0, 0)) for name in NAMES)
    lost = tuple(name for i, name in enumerate(names) if partial >> i & 1)
    return Header(log, compression, lost, places, order)
