# SPDX-License-Identifier: BSD-3-Clause
"""The typed rows that everything after the loader uses: nothing here knows ReFrame or documents."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from ..errors import UsageError

Direction = Literal["write", "read"]
Ceiling = Literal["fpp", "shared"]
Status = Literal["ok", "failed", "skipped"]

DIRECTIONS: tuple[Direction, ...] = ("write", "read")
OPERATIONS = ("create", "readdir", "stat", "open", "remove")  # of many small files
CEILINGS: tuple[Ceiling, ...] = ("fpp", "shared")
LATENCY = ("p50", "p99", "max")  # seconds of single calls, as `write_p99`

# The names of what is measured, as the store has them: bandwidths, and what patterns of many small
# files have instead; those that a peak test of small files has too.
BANDWIDTHS: dict[Direction, str] = {"write": "write_bw", "read": "read_bw"}
RATES: dict[Direction, str] = {"write": "series_create_rate", "read": "series_open_rate"}
PEAK_RATES = ("series_create_rate", "series_stat_rate", "series_remove_rate")
USUAL = (*BANDWIDTHS.values(), *RATES.values())  # unless a user names others
SHORT = {"mib_s": "MiB/s", "files_s": "files/s"}  # units in the names of columns
# The unit of a quantity by a word of its name, and whether more (1) or less (-1) of it is better.
_QUANTITIES = (
    ("MiB/s", 1, {"bw", "ceiling"}),
    ("1/s", 1, {"ceilings"}),  # of small accesses, and of small files
    ("files/s", 1, {"rate"}),
    ("s", -1, {"phase", "stretch", "seconds", "busy", "blocked", *LATENCY}),
    ("bytes", 0, {"payload", "limit"}),
    ("bytes", -1, {"bytes", "overhead", "peak"}),
    ("1", 1, {"speedup"}),
    ("1", -1, {"amplification", "calls"}),
)


@functools.cache
def _about(quantity: str) -> tuple[str, int]:
    words = set(quantity.split("_"))
    return next(((unit, sign) for unit, sign, of in _QUANTITIES if words & of), ("1", 0))


def unit_of(quantity: str) -> str:
    return _about(quantity)[0]


def better(quantity: str) -> int:
    return _about(quantity)[1]


def speeds(quantity: str, values: Iterable[float]) -> list[float]:
    """The values as speeds: inverted where less is better."""
    found = list(values)
    if not better(quantity):
        raise UsageError(f"{quantity}: neither more nor less of it is better: no verdict on it")
    if min(found, default=1) <= 0:
        raise UsageError(f"{quantity}: a run has {min(found):g}; expected values above 0")
    return found if better(quantity) > 0 else [1 / value for value in found]


@dataclass(frozen=True)
class Sample:
    """One repeat: bandwidths in MiB/s; None if that direction was not asked for. `ceilings`: the
    file system's in the same job (MiB/s). `values`: all else that was measured, named after its
    place: `write_seconds`, `write_phase_create` (the slowest process, s)."""

    repeat: int
    write: float | None
    read: float | None
    ceilings: dict[tuple[Ceiling, Direction], float] = field(default_factory=dict)
    values: dict[str, float] = field(default_factory=dict)

    def bandwidth(self, direction: Direction) -> float | None:
        return self.write if direction == "write" else self.read


@dataclass(frozen=True)
class Result:
    """What the analysis needs from one result document (docs/result-format.md)."""

    error: str | None
    pattern: str
    method: str
    mode: str | None
    fsync: bool
    processes: int
    nodes: int
    cores: int | None  # of all nodes; None if unknown
    hosts: tuple[str, ...]
    kernel: str
    fs_type: str
    caches: str
    payload_bytes: int
    verdict: str
    mismatch: str | None
    program: str
    libraries: dict[str, str]
    samples: tuple[Sample, ...]
    hints: dict[str, str] = field(default_factory=dict)  # asked for
    mpi_io: str = ""  # the MPI-IO implementation
    time: str = ""  # when the run took place, ISO 8601
    # With many small files: files per second by operation, medians over repeats.
    rates: dict[str, float] = field(default_factory=dict)
    inner: str = ""  # the method behind I/O processes
    buffer: str = "whole"  # of the data in memory; or reused
    file_bytes: int | None = None  # of the files of a repeat; None if unknown


@dataclass(frozen=True)
class Run:
    """One test case, whether it ended well, failed or was skipped. `case` names the test with its
    parameters, `variant` those without a column. Without a `result`, `reason` says why."""

    session: str
    test: str
    case: str
    variant: str
    system: str
    partition: str
    stack: str
    fs: str
    pattern: str
    method: str
    mode: str
    scale: str
    processes: int | None
    status: Status
    reason: str
    is_peak: bool
    result: Result | None
    document: Path | None
    job_script: Path | None
    published_peak: str = ""
    order: int = 0  # its place in the session's start order
    repeat: int = 0  # ReFrame's counter of --repeat
    # VERSION/HASH of each package by name, if the stack is a Spack environment.
    packages: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path | None:
        known = self.document or self.job_script
        return known.parent if known else None

    @property
    def call(self) -> str:
        """METHOD or METHOD:MODE; the test's name where there is no method."""
        return f"{self.method}:{self.mode}" if self.mode else self.method or self.test

    @property
    def verdict(self) -> str:
        """The verification's verdict; empty if nothing ran."""
        return self.result.verdict if self.result else ""

    @property
    def counts(self) -> bool:
        """Whether its numbers count, as GOOD in the store does: also if it missed its reference."""
        good = self.status == "ok" or self.reason.startswith("performance error: ")
        return good and self.verdict != "mismatch"

    @property
    def samples(self) -> tuple[Sample, ...]:
        return self.result.samples if self.result else ()


@dataclass(frozen=True)
class Session:
    uuid: str
    report: Path
    output: Path
    started: datetime
    seconds: float
    host: str
    harness: str
    command: str
    runs: tuple[Run, ...]
    interrupted: bool = False  # it ended before all its cases had
    order_seed: int | None = None  # seed of the random order of its jobs
