# SPDX-License-Identifier: BSD-3-Clause
"""What to try against a cause, and a pair of runs that tests it."""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..errors import AnalysisError
from ..session import case_file
from ..session.model import Direction
from ..session.peaks import SHORT, Peaks
from .bottleneck import BY_PEAK, Cause, Facts, Kind, load

ROUNDS = 8  # runs of each kind: enough for an interval
COLLECTIVE = ("hdf5", "cgns", "pnetcdf", "netcdf4", "mpiio")
NO_SCALES = ("file", "log")  # of benchmarks that are given their data


@dataclass(frozen=True)
class Run:
    """Selects the same case again. `fs`, `scale`, `stack`: empty if the folder does not say."""

    test: str
    fs: str
    scale: str
    stack: str
    pattern: str
    method: str
    mode: str
    site: str = ""  # empty: this machine

    @property
    def call(self) -> str:
        return ":".join(filter(None, (self.method, self.mode)))


@dataclass(frozen=True)
class Remedy:
    """`commands` run both kinds and compare them."""

    text: str
    commands: tuple[str, ...]


def run_of(folder: Path, document: dict[str, Any]) -> Run:
    asked = document["asked"]
    kept = case_file.read(folder) or {}
    case = kept.get("case", {})
    parts = folder.resolve().parts
    return Run(
        test=re.sub(r"_[0-9a-f]{8}.*| .*", "", str(case.get("name") or parts[-1])),
        fs=str(case.get("fs") or ""),
        scale=str(case.get("scale") or ""),
        stack=str(case.get("environ") or (parts[-2] if len(parts) > 1 else "")),
        pattern=str(asked["pattern"]),
        method=str(asked["method"]),
        mode=str(asked.get("mode") or ""),
        site=_site(kept),
    )


def _site(kept: dict[str, Any]) -> str:
    """The session's site file, or if that is not known its system's name."""
    system = str(kept.get("case", {}).get("system") or "local")
    words = shlex.split(str(kept.get("session", {}).get("cmdline") or ""))
    file = dict(pairwise(words)).get("-C", system)
    return "" if system == "local" else shlex.quote(file)


def remedy(run: Run, cause: Cause) -> Remedy:
    """The remedy; without a comparison if the run already does what is advised."""
    found = _REMEDIES[cause.kind](run, cause)
    return Remedy(found.text, tuple(filter(None, found.commands)))


def first(
    folder: Path, direction: Direction, peaks: Peaks, decided: bool
) -> tuple[Cause, Remedy] | None:
    """What limited a run most, and what to try; None if unknown. `decided`: as in `foremost`."""
    try:
        loaded = load(folder)
    except AnalysisError:
        return None
    cause = foremost(loaded.causes(peaks), direction, decided)
    return (cause, remedy(run_of(folder, loaded.document), cause)) if cause else None


def foremost(
    found: Iterable[tuple[Facts, Sequence[Cause]]], direction: Direction, decided: bool
) -> Cause | None:
    """None if a repeat was too short; nothing by the peak unless its share is `decided`."""
    causes = (
        cause
        for one, of in found
        if one.direction == direction and one.shortest >= SHORT
        for cause in of
        if decided or cause.kind not in BY_PEAK
    )
    return next(causes, None)


def _calls(run: Run, other: str, text: str) -> Remedy:
    measure = _measure(run, (run.call, other))
    return Remedy(text, (measure, _compare(run, run.call, other, "method")))


def _hints(run: Run, hint: str, text: str) -> Remedy:
    return _two(run, f"-S hints={shlex.quote(hint)}", text, ("none", hint, "hints"))


def _two(run: Run, options: str, text: str, pair: tuple[str, str, str]) -> Remedy:
    """The same case twice, the second time with extra ReFrame `options`."""
    return Remedy(
        text,
        (_measure(run, (run.call,)), _measure(run, (run.call,), options), _compare(run, *pair)),
    )


def _measure(run: Run, calls: tuple[str, ...], options: str = "", scales: str = "") -> str:
    """`scales`: separated by commas."""
    either = "|".join(dict.fromkeys(calls))
    words = [f"-n '{run.test}.*%call=({either})(%|\\Z)'"]
    scale = "" if run.scale in NO_SCALES else run.scale
    known = {"site": run.site, "fs": run.fs, "scale": scales or scale}
    words += [f"--{key} {value}" for key, value in known.items() if value]
    words += [f"-- --repeat {ROUNDS}", f"-p {run.stack}"][: 1 + bool(run.stack)]
    words += [options] if options else []
    return f"iogauge run {' '.join(words)}"


def _compare(run: Run, a: str, b: str, by: str) -> str:
    if a == b:
        return ""
    keys = {"pattern": run.pattern, "stack": run.stack, "fs": run.fs, "scale": run.scale}
    where = " ".join(f"--where {key}={v}" for key, v in keys.items() if v and key != by)
    names = f"{shlex.quote(a)} {shlex.quote(b)}"
    return f"iogauge compare {names} --by {by} {where}"


def _sieving(run: Run, cause: Cause) -> Remedy:
    hint = f"romio_ds_{cause.direction}=disable"
    return _hints(run, hint, f"switch data sieving off (ROMIO: {hint}), or use collective calls")


def _small(run: Run, _: Cause) -> Remedy:
    if run.mode in ("collective", "collective-metadata"):
        return _hints(run, "cb_buffer_size=16777216", "larger buffers for collective calls")
    other = f"{run.method}:collective" if run.method in COLLECTIVE else "mpiio:collective"
    return _calls(run, other, "combine the processes' pieces: collective calls")


def _metadata(run: Run, _: Cause) -> Remedy:
    if run.method in ("hdf5", "cgns") and run.mode == "collective":
        text = "collective metadata: one process reads and writes headers for all"
        return _calls(run, f"{run.method}:collective-metadata", text)
    own = run.scale or "smoke"
    larger = "laptop" if own == "smoke" else "node"
    return Remedy(
        "more data for each file: opening and closing cost the same for any size",
        (_measure(run, (run.call,), scales=f"{own},{larger}"), _compare(run, own, larger, "scale")),
    )


_REMEDIES: dict[Kind, Callable[[Run, Cause], Remedy]] = {
    "sieving": _sieving,
    "holes": lambda run, _: _hints(
        run,
        "romio_cb_write=disable",
        "write without collective buffering, which reads to fill holes",
    ),
    "small calls": _small,
    "exchange": lambda run, _: _calls(
        run,
        f"{run.method}:independent",
        "independent calls, if each process's data is in large pieces; or fewer and larger "
        "exchanges (hints cb_nodes, cb_buffer_size)",
    ),
    "metadata": _metadata,
    "shared file": lambda run, _: _calls(
        run, "posix", "a file per process, or fewer writers (hint cb_nodes)"
    ),
    "straggler": lambda run, _: _calls(
        run,
        "posix",
        "check its node, or where the file lies: if the same one is slow with "
        "posix too, where no process waits for another, the machine is the cause",
    ),
    "slow calls": lambda run, _: _calls(
        run, "posix", "find what pauses the storage: if posix has slow calls too, it is the storage"
    ),
    "flush": lambda run, _: _two(
        run,
        "-S fsync=false",
        "the storage is slow: if the data need not be durable at once, omit fsync",
        ("true", "false", "fsync"),
    ),
    "cold reads": lambda run, _: _two(
        run,
        "-S drop_caches=false",
        "read larger pieces, or ahead; cached reads show the cost of the calls themselves",
        ("dropped", "cached", "caches"),
    ),
    "library": lambda run, _: _calls(
        run,
        "posix"
        if run.method == "mpiio"
        else f"mpiio:{run.mode if run.mode in ('collective', 'independent') else 'collective'}",
        "move the same data without the library to see its cost",
    ),
    "storage": lambda run, _: Remedy(
        "nothing in the program: use more nodes, or another file system",
        (_measure(run, (run.call,)), "iogauge compare last peak"),
    ),
}
