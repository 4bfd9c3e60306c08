# SPDX-License-Identifier: BSD-3-Clause
"""A Darshan log as plain data, read in a child process with a time limit."""

import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iogauge.common import json_file

from ..errors import AnalysisError
from .header import AGAIN
from .reader import reader

# A reader that takes longer counts as hung: SECONDS, and more for a large log. (The traces of 10^5
# files are 150 MiB and take 45 s.) It limits its CPU time itself, so this is for a waiting one, and
# generous to a loaded or emulated machine.
SECONDS = 600.0
BYTES_PER_SECOND = 2**20
VARIABLES = ("H5D", "PNETCDF_VAR")  # modules with records of data sets
RUNTIME = "Darshan"  # in the recorder's name, if it was Darshan's own
ROOM = (
    "DARSHAN_CONFIG_PATH=FILE with the lines MODMEM 256 and MAX_RECORDS 100000 DXT_POSIX,DXT_MPIIO"
)


class UnreadableLogError(AnalysisError):
    """The log is truncated, damaged or too new, or reading it took too long."""


@dataclass(frozen=True)
class Work:
    """What one process moved through one module in one file: bytes, and seconds in calls. `closed`:
    when it last closed the file, in the log's time; 0 if unknown. `reading`, `writing`: the seconds
    in calls that move data."""

    rank: int
    read: int
    written: int
    seconds: float
    closed: float = 0.0
    reading: float = 0.0
    writing: float = 0.0


@dataclass(frozen=True)
class FileTrace:
    """One file through one module. `values`: Darshan's counters of all processes together, without
    the module's prefix. `sizes`: the most common access sizes with their counts. `ranks`: empty if
    the log holds one record for all processes."""

    module: str
    path: str
    values: dict[str, float]
    sizes: dict[int, int]
    ranks: tuple[Work, ...]

    def count(self, *names: str) -> int:
        """The sum of counters. A missing or unknown one (-1) counts as 0."""
        return sum(max(0, int(self.values.get(name, 0))) for name in names)


@dataclass(frozen=True)
class Heat:
    """Bytes read and written in intervals of `bin_seconds`, for each rank."""

    bin_seconds: float
    ranks: dict[int, tuple[list[int], list[int]]]


@dataclass(frozen=True)
class Segments:
    """Each access of one process to one file: (offset, bytes, start, end), in seconds."""

    module: str
    path: str
    rank: int
    writes: list[tuple[int, int, float, float]]
    reads: list[tuple[int, int, float, float]]


@dataclass(frozen=True)
class Log:
    """A whole log. `recorder`: what wrote it. `start`: the Unix time of its zero. `partial`:
    modules that lost something. `notes`: what was lost, or could not be read and no counter needs.
    `osts`: by path, of files on Lustre. `data_sets`: of HDF5's calls, if it was made of traces."""

    path: Path
    recorder: str
    processes: int
    start: float
    seconds: float
    command: str
    partial: tuple[str, ...]
    notes: tuple[str, ...]
    modules: dict[str, int]
    files: tuple[FileTrace, ...]
    heat: dict[str, Heat] = field(default_factory=dict)
    segments: tuple[Segments, ...] = ()
    ids: dict[int, str] = field(default_factory=dict)
    osts: dict[str, list[int]] = field(default_factory=dict)
    data_sets: tuple[dict[str, Any], ...] = ()

    @property
    def by_runtime(self) -> bool:
        return self.recorder.startswith(f"{RUNTIME} ")


def read_log(
    log: Path,
    *,
    convert: Path | None = None,
    heat: bool = False,
    segments: bool = False,
    ids: bool = False,
    seconds: float | None = None,
) -> Log:
    """Read `log`; with `convert`, a folder of traces, write it first. Raises UnreadableLogError,
    also after `seconds` (default: by its size)."""
    if convert is None and not log.is_file():
        raise UnreadableLogError(f"{log}: expected a Darshan log, found none")
    sources = list(convert.iterdir()) if convert and convert.is_dir() else [log]
    size = sum(path.stat().st_size for path in sources if path.is_file())
    seconds = SECONDS + size / BYTES_PER_SECOND if seconds is None else seconds
    asked = {"log": str(log.absolute()), "heat": heat, "segments": segments, "ids": ids}
    made = {"convert": str(convert.absolute())} if convert else {}
    try:
        done = reader().read({**asked, **made}, seconds)
    except subprocess.TimeoutExpired:
        raise UnreadableLogError(f"{log}: not read within {seconds:.4g} s: damaged?") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        end = f"the reader ended with status {done.returncode}"
        if done.returncode < 0:  # the library's own message helps nobody
            lines, end = [], f"the reader crashed (signal {-done.returncode})"
            if done.returncode not in (-signal.SIGKILL, -signal.SIGTERM):
                end += f": damaged; {AGAIN}"
        if done.returncode == -signal.SIGXCPU:
            raise UnreadableLogError(f"{log}: takes more time than a log of its size: damaged?")
        why = lines[-1].removeprefix(f"{log.absolute()}: ") if lines else end
        if convert and why.startswith(str(convert.absolute())):
            raise UnreadableLogError(why)
        raise UnreadableLogError(f"{convert or log}: {why}")
    try:
        return _log(log, json_file.parse(done.stdout))
    except (json_file.Unreadable, ValueError, KeyError, TypeError) as error:
        raise UnreadableLogError(f"{log}: the reader gave no usable answer: {error!r}") from None


def _log(path: Path, data: dict[str, Any]) -> Log:
    metadata = data.pop("metadata")
    files = (
        {**one, "sizes": dict(one["sizes"]), "ranks": tuple(Work(*work) for work in one["ranks"])}
        for one in data["files"]
    )
    segments = (
        {**one, **{name: [tuple(row) for row in one[name]] for name in ("writes", "reads")}}
        for one in data["segments"]
    )
    heat = {
        layer: Heat(
            one["bin_seconds"], {rank: (reads, writes) for rank, reads, writes in one["ranks"]}
        )
        for layer, one in data["heat"].items()
    }
    why = metadata.get("lost", "a process left no trace, or an incomplete one")
    if "recorder" not in metadata:
        why = f"{', '.join(data['partial'])} lost records; for all of them: {ROOM}"
    made = {
        "recorder": metadata.get("recorder") or f"{RUNTIME} {metadata.get('lib_ver', 'unknown')}",
        "partial": tuple(data["partial"]),
        "notes": (*[f"the log is partial: {why}"] * bool(data["partial"]), *data["notes"]),
        "files": tuple(FileTrace(**one) for one in files),
        "segments": tuple(Segments(**one) for one in segments),
        "heat": heat,
        "data_sets": tuple({**one, "sizes": dict(one["sizes"])} for one in data["data_sets"]),
        "ids": {int(identity): name for identity, name in data.get("ids", {}).items()},
    }
    return Log(path, **{**data, **made})
