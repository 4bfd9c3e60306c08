# SPDX-License-Identifier: BSD-3-Clause
"""The library that makes calls go wrong (tests/selftest/injector.h): built, aimed, and its log."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).parent
# The C library's fortified forms would be the compiler's own calls of what is wrapped.
FLAGS = (
    "-D_GNU_SOURCE",
    "-std=gnu11",
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-U_FORTIFY_SOURCE",
)

# What may go wrong in which call. Faults in the data leave the call as if all were well.
DATA = ("flip", "drop", "double", "shift", "stale", "swap")
ERRORS = ("EINTR", "EIO", "ENOSPC", "EDQUOT")
MENDABLE = ("EINTR", "short")  # a program that does right goes on
ENDS = ("kill", "stop", "crash")
FAULTS: dict[str, tuple[str, ...]] = {
    "write": (*DATA, "short", *ERRORS, *ENDS),
    "read": ("flip", "drop", "shift", "stale", "short", "EINTR", "EIO", *ENDS),
    "open": (*ERRORS, "kill"),
    "fsync": (*ERRORS, "kill"),
    "close": ERRORS,
    "truncate": ERRORS,
    "rename": ERRORS,
    "unlink": ("EIO", "kill", "crash"),
}


@dataclass(frozen=True)
class Plan:
    """One fault: the `nth` call of each process, or of the one of `rank`. `milliseconds`: that a
    slow one takes longer. `stagger`: calls that each process begins after the one before."""

    call: str
    fault: str
    nth: int = 1
    times: int | None = 1
    rank: int | None = None
    seed: int = 1
    every: int = 1
    milliseconds: int = 1000
    stagger: int = 0

    @property
    def kind(self) -> str:
        return f"{self.call}:{self.fault}"

    def text(self, below: Path, log: Path | None = None) -> str:
        """For IOGAUGE_INJECT."""
        words = [self.kind, f"nth={self.nth}", f"times={self.times or 'all'}", f"seed={self.seed}"]
        words += [f"every={self.every}", f"ms={self.milliseconds}"]
        words += [f"stagger={self.stagger}"] if self.stagger else []
        words += [] if self.rank is None else [f"rank={self.rank}"]
        return " ".join([*words, f"below={below}", *([f"log={log}"] if log else [])])


COUNT = Plan("any", "count")


@dataclass(frozen=True)
class Fired:
    """A line of the log: `bytes` from `offset` on became wrong, or were not moved. `begin`: of the
    call, -1 where it has no place."""

    rank: int
    kind: str
    number: int
    offset: int
    bytes: int
    begin: int
    path: Path


def build(folder: Path) -> Path:
    """The library, made in `folder`."""
    library = folder / "injector.so"
    sources = [str(path) for path in sorted(SOURCES.glob("*.c"))]
    command = ["cc", *FLAGS, "-fPIC", "-shared", "-o", str(library), *sources, "-ldl", "-pthread"]
    subprocess.run(command, check=True)
    return library


def preload(library: Path, plan: Plan, below: Path, log: Path | None = None) -> dict[str, str]:
    """The variables of a process in which a fault is to be."""
    return {"LD_PRELOAD": str(library), "IOGAUGE_INJECT": plan.text(below, log)}


def read_fired(log: Path) -> list[Fired]:
    """What fired, in its order."""
    found = []
    for line in log.read_text().splitlines() if log.exists() else []:
        rank, kind, *numbers, path = line.split(" ", 6)
        number, offset, size, begin = map(int, numbers)
        found.append(Fired(int(rank), kind, number, offset, size, begin, Path(path)))
    return found


def read_counts(log: Path) -> dict[str, dict[int, int]]:
    """Of each kind of call, how many each process made."""
    counts: dict[str, dict[int, int]] = defaultdict(dict)
    for line in log.read_text().splitlines() if log.exists() else []:
        rank, call, number = line.split()
        counts[call][int(rank)] = int(number)
    return dict(counts)
