# SPDX-License-Identifier: BSD-3-Clause
"""A program's replay, and its data through other methods, in turn: which would have been faster."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from iogauge.common import json_file
from iogauge.common.methods import BEHIND
from iogauge.common.run_folder import RECORDER
from iogauge.common.spelling import unknown

from ..errors import UsageError
from .trace import POSIX, CannotReplayError, Trace

LOGGED = "as logged"
USAGE = 2  # exit status of iokernel: the method cannot hold this, or is not here
BEST = 3  # ways that are decided: with one more it took more than seven rounds
SHOWN = 500  # characters of a message

Say = Callable[[str], None]
Known = Mapping[str, tuple[list[str], int]]  # methods' words, and how many processes each keeps


@dataclass
class Way:
    """`words`: of iokernel. `seconds`: of writing, by round. `why`: it was left out, or is
    wrong."""

    name: str
    words: list[str]
    processes: int
    hints: tuple[str, ...] = ()
    seconds: dict[int, float] = field(default_factory=dict)
    why: str = ""
    wrong: bool = False

    @property
    def title(self) -> str:
        """With the hints that it is run with."""
        return f"{self.name} with {', '.join(self.hints)}" if self.hints else self.name


@dataclass(frozen=True)
class Bench:
    """How runs are made. `launch`: what starts processes, up to `-n N`. `data`: the folder that
    they write in. `work`: where their documents and traces go; every process sees it."""

    iokernel: Path
    launch: tuple[str, ...]
    data: Path
    work: Path

    @property
    def recorder(self) -> Path | None:
        """The library that records a run: beside the program, or where it is installed."""
        here = self.iokernel.parent
        places = (here, here.parent / "lib", here.parent / "lib64")
        return next((place / RECORDER for place in places if (place / RECORDER).is_file()), None)

    def run(self, way: Way, more: Sequence[str] = (), traces: Path | None = None) -> Any:
        """Its result document; None where it failed, and then `way` says why. With `traces`, each
        of its accesses is recorded there."""
        document = self.work / "result.json"
        document.unlink(missing_ok=True)
        hints = [word for hint in way.hints for word in ("--hint", hint)]
        command = [
            *self.launch, "-n", str(way.processes), *self._recorded(traces), str(self.iokernel),
            *way.words, *more, *hints, "--dir", str(self.data), "--json", str(document),
        ]  # fmt: skip
        os.sync()  # or the pages of one run would be written while the next is timed
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            way.wrong = done.returncode != USAGE
            way.why = _reason(done)
            return None
        found = json_file.parse(document.read_text())
        if found["verification"]["verdict"] != "verified":
            way.wrong, way.why = True, f"verification: {found['verification']['verdict']}"
            return None
        return found

    def _recorded(self, traces: Path | None) -> list[str]:
        if traces is None:
            return []
        traces.mkdir()
        return [
            "env", f"LD_PRELOAD={self.recorder}", f"IOGAUGE_TRACE_DIR={traces}",
            f"IOGAUGE_TRACE_INCLUDE={self.data}", "IOGAUGE_TRACE_SEGMENTS=0",
        ]  # fmt: skip

    def listing(self) -> Mapping[str, Any]:
        """What this iokernel can do."""
        command = [*self.launch, "-n", "1", str(self.iokernel), "--list", "--json", "-"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        try:
            found: Mapping[str, Any] = json_file.parse(done.stdout)
            return found
        except json_file.Unreadable:
            raise CannotReplayError(f"{' '.join(command)}: {_reason(done)}") from None


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    said = [line for line in done.stderr.splitlines() if "iokernel" in line]
    said = said or [line for line in done.stderr.splitlines() if line.strip(" -")]
    return said[0].strip()[:SHOWN] if said else f"exit status {done.returncode}"


def methods(listing: Mapping[str, Any]) -> Known:
    """Each method and mode that moves data."""
    return {name: (words, servers) for name, words, servers in _methods(listing)}


def _methods(listing: Mapping[str, Any]) -> Iterator[tuple[str, list[str], int]]:
    alone = {mode["name"] for mode in listing["modes"] if mode["one_process"]}
    here = {method["name"] for method in listing["methods"] if method["available"]}
    for method in listing["methods"]:
        name = method["name"]
        words = ["--method", name]
        if not method["available"] or method["moves_nothing"]:
            continue
        if name in BEHIND:
            for inner in BEHIND[name]:
                if inner in here:
                    yield f"{name}:{inner}", [*words, "--inner", inner], 1
            continue
        for mode in [mode for mode in method["modes"] if mode not in alone]:
            yield f"{name}:{mode}", [*words, "--mode", mode], 0
        if not method["modes"]:
            yield name, words, 0


def logged(trace: Trace, planned: Path, options: Sequence[str] = ()) -> Way:
    """The replay."""
    return Way(LOGGED, ["replay", "--schedule", str(planned), *options], trace.processes)


@dataclass(frozen=True)
class Others:
    """What is asked for. `extents`, `steps`: the data, as what_if.make left it."""

    extents: Path
    steps: int
    names: Sequence[str] = ()
    hints: tuple[str, ...] = ()

    def ways(self, replay: Way, trace: Trace, known: Known) -> list[Way]:
        """Those that are asked for; first, with hints, the replay itself, if its calls take any."""
        again = self.hints and any(one.level != POSIX for one in trace.files)
        found = [replace(replay, hints=self.hints, seconds={})] if again else []
        words = ["extents", "--extents", str(self.extents), "--steps", str(self.steps)]
        for name in chosen(self.names, known):
            more, servers = known[name]
            found.append(Way(name, [*words, *more], trace.processes + servers, self.hints))
        return found


def chosen(names: Sequence[str], known: Known) -> list[str]:
    """The methods of these names (`mpiio`: in each mode), or all. `UsageError` for an unknown
    one."""
    found: dict[str, None] = {}
    for asked in names or known:
        some = [name for name in known if asked in (name, name.partition(":")[0])]
        if not some:
            first = dict.fromkeys(name.partition(":")[0] for name in known)
            raise UsageError(f"--method {unknown(asked, {**known, **first})}")
        found |= dict.fromkeys(some)
    return list(found)


def seconds(document: Mapping[str, Any]) -> float:
    """Of writing: creating, writing, flushing and closing."""
    return sum(float(sample["write"]["seconds"]) for sample in document["samples"])


def flushes(document: Mapping[str, Any]) -> bool:
    return any(s["write"]["phases"]["flush"]["max"] > 0 for s in document["samples"])


@dataclass
class Race:
    """`ways`: the replay, then the others. `flush`: the log has flushes, so the methods flush too.
    After a round of all, the `best` fastest go on: that round chose them, and counts no more."""

    bench: Bench
    ways: Sequence[Way]
    say: Say
    flush: bool = False
    best: int = BEST
    seed: int = 1
    decided: list[Way] = field(default_factory=list)

    def run(self, rounds: int) -> None:
        order = random.Random(self.seed)
        replay, *others = self.ways
        if len(others) > self.best:
            self._round(0, list(self.ways), order)
            self.say(f"a first round of {len(others)}: the fastest {self.best} go on")
        ran = [way for way in others if not way.why]
        self.decided = sorted(ran, key=lambda way: way.seconds.get(0, 0.0))[: self.best]
        for number in range(1, rounds + 1):
            self._round(number, [way for way in (replay, *self.decided) if not way.why], order)
            self.say(f"round {number} of {rounds}")

    def _round(self, number: int, todo: list[Way], order: random.Random) -> None:
        """All of them once, in a random order."""
        order.shuffle(todo)
        for way in todo:
            more = ["--fsync"] if self.flush and way.name != LOGGED else []
            found = self.bench.run(way, more)
            if found:
                way.seconds[number] = seconds(found)
