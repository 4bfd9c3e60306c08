# SPDX-License-Identifier: BSD-3-Clause
"""What Darshan's library does not tell of a log: which modules lost records, and the bytes of
modules that are newer than the library. It reads log format 3.41; all of an older one the library
tells by itself."""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import AnalysisError

FORMAT, MAGIC = b"3.41", 6567223
OLDEST = b"3.00"
MODULES = 64
# Version, magic number, compression, flags of what is partial, the place of the names, then of
# each module; versions of the modules.
HEAD = struct.Struct(f"<8sqB7xQ2Q{2 * MODULES}Q{MODULES}I")
ZLIB = 0
NAMES = (
    "NULL", "POSIX", "MPI-IO", "H5F", "H5D", "PNETCDF_FILE", "PNETCDF_VAR", "BG/Q", "LUSTRE",
    "STDIO", "DXT_POSIX", "DXT_MPIIO", "MDHIM", "APXC", "APMPI", "HEATMAP", "DFS", "DAOS",
)  # fmt: skip
MOST_BYTES = 2**30  # of a module; more would be damage
PIECE = 2**24


class HeaderError(AnalysisError):
    """The log is of another format, or a module in it is damaged."""


@dataclass(frozen=True)
class Header:
    """`places`: offset and length of each module's bytes in the file. `partial`: modules that lost
    something."""

    log: Path
    compression: int
    partial: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    @property
    def cut(self) -> tuple[str, ...]:
        """The modules whose bytes are not all there."""
        size = self.log.stat().st_size
        return tuple(
            name for name, (at, n) in zip(NAMES, self.places, strict=False) if n and at + n > size
        )

    def data(self, module: int) -> bytes:
        """All of a module's bytes."""
        return b"".join(self.pieces(module))

    def pieces(self, module: int) -> Iterator[bytes]:
        """A module's bytes, some at a time. Each process has compressed its own: one stream after
        the other."""
        offset, length = self.places[module]
        if self.compression != ZLIB:
            raise HeaderError(f"{self.log}: compressed in way {self.compression}, not by zlib")
        if offset + length > self.log.stat().st_size:
            raise HeaderError(f"{self.log}: {NAMES[module]} is cut off")
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
                    what = f"{self.log}: {NAMES[module]} is damaged: {error}"
                    raise HeaderError(what) from None
                room -= len(found)
                if found:
                    yield found
                rest = stream.unused_data if stream.eof else stream.unconsumed_tail
                if not room and not stream.eof:
                    break
            if length and not stream.eof:
                raise HeaderError(f"{self.log}: {NAMES[module]} is cut off")


def is_older(log: Path) -> bool:
    """Of a format before this one. Such a log may be shorter than this format's head."""
    with log.open("rb") as file:
        return OLDEST <= file.read(len(FORMAT)) < FORMAT


def is_packed_whole(log: Path) -> bool:
    """Packed by gzip or bzip2 as a whole, as Darshan 2 did."""
    with log.open("rb") as file:
        return file.read(4).startswith((b"\x1f\x8b", b"BZh"))


def is_of_other_order(log: Path) -> bool:
    """Of a machine of the other byte order (Blue Gene)."""
    with log.open("rb") as file:
        head = file.read(HEAD.size)
    return int.from_bytes(head[8:16], "big" if sys.byteorder == "little" else "little") == MAGIC


def read_header(log: Path) -> Header:
    """`HeaderError` where the log is cut or of another format."""
    with log.open("rb") as file:
        head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        raise HeaderError(f"{log}: no Darshan log, or a cut one")
    version, magic, compression, partial, _, _, *rest = HEAD.unpack(head)
    if not version.startswith(FORMAT) or magic != MAGIC:
        text = version.rstrip(b"\0").decode(errors="replace")
        raise HeaderError(f"{log}: log format {text}, this reads {FORMAT.decode()}")
    places = tuple(zip(rest[: 2 * MODULES : 2], rest[1 : 2 * MODULES : 2], strict=True))
    lost = tuple(name for i, name in enumerate(NAMES) if partial >> i & 1)
    return Header(log, compression, lost, places)
