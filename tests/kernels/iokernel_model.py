# SPDX-License-Identifier: BSD-3-Clause
"""What stands in iokernel's files, worked out independently from the written definitions.

Values: kernels/driver/values.c says that an element's value is a function of (seed, data set, step,
global index). Layout: kernels/patterns/*.c and /docs say who owns what, and each method's file
says in which order. Nothing here asks the program.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

MASK = (1 << 64) - 1


def _mix(x: int) -> int:
    x = x * 0x9E3779B97F4A7C15 & MASK
    x ^= x >> 32
    x = x * 0xD6E8FEB86659FD93 & MASK
    return x ^ x >> 29


def _words_of(numbers: Words) -> Words:
    x = numbers * np.uint64(0x9E3779B97F4A7C15)
    x = x ^ x >> np.uint64(32)
    return np.asarray(x + (x << np.uint64(21)))


def key(seed: int, dataset: int, step: int) -> int:
    return _mix((_mix(seed + 1) + 3 * _mix(dataset + 1) + step * 0xA24BAED4963EE407) & MASK)


def _words(of: int, first: int, count: int) -> Words:
    return _words_of(np.uint64(of) + np.arange(first, first + count, dtype=np.uint64))


def float64(of: int, count: int) -> Floats:
    """The elements 0..count of a float64 data set: 52 random bits behind 1.0's exponent."""
    bits = _words(of, 0, count) >> np.uint64(12) | np.uint64(0x3FF0000000000000)
    return np.asarray(bits.view(np.float64))


def _cut(of: int, first: int, count: int, size: int) -> NDArray[Any]:
    """Values of less than 8 bytes are cut from 64-bit words, lowest first."""
    each = 8 // size
    word = first // each
    words = _words(of, word, (first + count - 1) // each - word + 1).astype("<u8")
    return words.view(f"<u{size}")[first - each * word : first - each * word + count]


def int64(of: int, count: int) -> NDArray[np.int64]:
    """63 random bits: never negative."""
    return np.asarray((_words(of, 0, count) >> np.uint64(1)).astype(np.int64))


def bytes_(of: int, first: int, count: int) -> Bytes:
    return _cut(of, first, count, 1)


def int32(of: int, first: int, count: int) -> NDArray[np.int32]:
    """31 random bits."""
    return np.asarray(_cut(of, first, count, 4) & np.uint32(0x7FFFFFFF)).view(np.int32)


def float32(of: int, first: int, count: int) -> NDArray[np.float32]:
    """23 random bits behind 1.0's exponent."""
    bits = _cut(of, first, count, 4) >> np.uint32(9) | np.uint32(0x3F800000)
    return np.asarray(bits).view(np.float32)


def calm_words(of: int, words: int, calm: int) -> Words:
    """Words from 0 on; of each 128 the last `calm` are the group's last."""
    number = np.arange(words, dtype=np.uint64)
    group = np.uint64(127)
    number = np.where((number & group) < np.uint64(128 - calm), number, number | group)
    return _words_of(np.uint64(of) + number)


# By type: what is made of a value's bits, and of which numpy type they are.
_MADE: dict[str, tuple[str, int, int]] = {
    # numpy type, mask, bits that are set
    "int8": ("<u1", 0xFF, 0), "uint8": ("<u1", 0xFF, 0), "char": ("<u1", 0x3F, 0x30),
    "int16": ("<u2", 0x7FFF, 0), "uint16": ("<u2", 0xFFFF, 0),
    "int32": ("<u4", 0x7FFFFFFF, 0), "uint32": ("<u4", 0xFFFFFFFF, 0), "uint64": ("<u8", MASK, 0),
}  # fmt: skip


def values(kind: str, of: int, count: int, calm: int = 0) -> NDArray[Any]:
    """The elements 0..count of a data set of a type; `char` as numbers."""
    words = calm_words(of, count, calm).astype("<u8")  # at least enough of them
    if kind == "int64":
        return np.asarray((words[:count] >> np.uint64(1)).astype(np.int64))
    if kind == "float64":
        bits = words[:count] >> np.uint64(12) | np.uint64(0x3FF0000000000000)
        return np.asarray(bits.view(np.float64))
    if kind == "float32":
        half = words.view("<u4")[:count] >> np.uint32(9) | np.uint32(0x3F800000)
        return np.asarray(half).view(np.float32)
    code, mask, more = _MADE[kind]
    cut = words.view(code)[:count]
    made = (cut & cut.dtype.type(mask)) + cut.dtype.type(more)
    return np.asarray(made if kind == "char" else made.view(kind))


@dataclass(frozen=True)
class S3d:
    """A dump of S3D: x, y, z fastest to slowest in `grid` and `procs`."""

    grid: tuple[int, int, int] = (13, 11, 7)
    procs: tuple[int, int, int] = (1, 2, 1)
    seed: int = 1

    NAMES = ("yspecies", "u", "pressure", "temp")
    LEADING = {"yspecies": (11,), "u": (3,), "pressure": (), "temp": ()}

    @property
    def processes(self) -> int:
        return int(np.prod(self.procs))

    def options(self) -> list[str]:
        grid, procs = ("x".join(map(str, n)) for n in (self.grid, self.procs))
        return ["--grid", grid, "--procs-grid", procs, "--seed", str(self.seed)]

    def shape(self, name: str) -> tuple[int, ...]:
        return (*self.LEADING[name], *reversed(self.grid))

    def array(self, name: str, step: int) -> Floats:
        shape = self.shape(name)
        values = float64(key(self.seed, self.NAMES.index(name), step), int(np.prod(shape)))
        return values.reshape(shape)

    def box(self, rank: int) -> tuple[slice, slice, slice]:
        """The slices along z, y, x of a process; x goes round fastest."""
        px, py, _ = self.procs
        at = (rank % px, rank // px % py, rank // (px * py))
        slices = []
        for length, parts, place in zip(self.grid, self.procs, at, strict=True):
            piece = np.array_split(np.arange(length), parts)[place]
            slices.append(slice(int(piece[0]), int(piece[-1]) + 1))
        return slices[2], slices[1], slices[0]

    def share(self, rank: int, step: int) -> Floats:
        """A process's data, data set after data set."""
        box = (..., *self.box(rank))
        return np.concatenate([self.array(name, step)[box].ravel() for name in self.NAMES])

    def owner(self, index: tuple[int, ...]) -> int:
        for rank in range(self.processes):
            inside = zip(index[-3:], self.box(rank), strict=True)
            if all(s.start <= i < s.stop for i, s in inside):
                return rank
        raise ValueError(index)

    def canonical(self, step: int) -> Floats:
        return np.concatenate([self.array(name, step).ravel() for name in self.NAMES])

    def place(self, name: str, index: tuple[int, ...]) -> int:
        """Byte offset in the canonical raw file."""
        before = sum(int(np.prod(self.shape(n))) for n in self.NAMES[: self.NAMES.index(name)])
        return 8 * (before + int(np.ravel_multi_index(index, self.shape(name))))

    def place_in_share(self, name: str, index: tuple[int, ...]) -> int:
        """Byte offset in its owner's data."""
        box = self.box(self.owner(index))
        local = (*index[:-3], *(i - s.start for i, s in zip(index[-3:], box, strict=True)))
        sizes = {n: (*self.LEADING[n], *(s.stop - s.start for s in box)) for n in self.NAMES}
        before = sum(int(np.prod(sizes[n])) for n in self.NAMES[: self.NAMES.index(name)])
        return 8 * (before + int(np.ravel_multi_index(local, sizes[name])))


@dataclass(frozen=True)
class Ior:
    """One file of IOR: `segments` of one `block` for each process, moved in `transfer`s."""

    block: int = 1001
    transfer: int = 77
    segments: int = 3
    processes: int = 2
    seed: int = 1

    def options(self) -> list[str]:
        sizes = {"-b": self.block, "-t": self.transfer, "-s": self.segments, "--seed": self.seed}
        return [word for name, size in sizes.items() for word in (name, str(size))]

    @property
    def own(self) -> int:
        return self.block * self.segments

    def shared(self, step: int = 0) -> Bytes:
        return bytes_(key(self.seed, 0, step), 0, self.own * self.processes)

    def file_of(self, rank: int, step: int = 0) -> Bytes:
        """With -F each process has different values."""
        return bytes_(key(self.seed, 0, step), rank * self.own, self.own)

    def ordered(self) -> list[int]:
        """The data set's index of each byte of an ordered file: call after call, rank by rank."""
        order: list[int] = []
        for segment in range(self.segments):
            for transfer in range(self.block // self.transfer):
                for rank in range(self.processes):
                    first = (segment * self.processes + rank) * self.block
                    first += transfer * self.transfer
                    order += range(first, first + self.transfer)
        return order


# S3D-IO's `tstep = 1e-6/time_ref`: both are Fortran's literals of single precision.
S3D_INTERVAL = float(np.float32(1e-6)) / float(np.float32(1.29889001100892417e-005))


def s3d_name(step: int, extension: str) -> str:
    """S3D-IO writes the time, step x 1e-6 s, as Fortran's 1pe10.3."""
    return f"pressure_wave_test.{step * 1e-6:.3E}.field{extension}"


def cdf5_begins(path: Path) -> dict[str, int]:
    """The variables' first bytes, from the header as the CDF-5 format specification defines it."""
    data = path.read_bytes()
    assert data[:4] == b"CDF\x05", f"{path}: not CDF-5"
    at = 4 + 8  # magic, number of records

    def number(size: int = 8) -> int:
        nonlocal at
        (value,) = struct.unpack_from({4: ">i", 8: ">q"}[size], data, at)
        at += size
        return int(value)

    def name() -> str:
        nonlocal at
        length = number()
        text = data[at : at + length].decode()
        at += (length + 3) // 4 * 4
        return text

    def attributes() -> None:
        nonlocal at
        number(4)
        for _ in range(number()):
            name()
            size = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}[number(4)]
            length = number() * size  # before `at` is read: it moves it
            at += (length + 3) // 4 * 4

    number(4)
    for _ in range(number()):  # dimensions
        name(), number()
    attributes()
    begins = {}
    number(4)
    for _ in range(number()):
        variable = name()
        for _ in range(number()):
            number()
        attributes()
        number(4), number()  # type, size
        begins[variable] = number()
    return begins
