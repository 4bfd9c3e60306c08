# SPDX-License-Identifier: BSD-3-Clause
"""One job with one setting: how it is started, and what became of it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from iogauge.analysis.statistics.surrogate import Config
from iogauge.common import processes
from iogauge.common.guard import Guard
from iogauge.common.hints import sort_hints
from iogauge.common.run_folder import DOCUMENT, JOB_SCRIPT
from iogauge.measure import iokernel
from iogauge.measure.iokernel import Ended
from iogauge.measure.tune.space import CALL, Space
from reframe_tests.machine.leftovers import MARKER

Kind = Literal["ok", "wrong bytes", "failed", "crashed", "hung", "too slow"]
Wish = Literal["write", "read", "both"]
KINDS: Mapping[str, Kind] = {
    "wrong bytes": "wrong bytes", "hung": "hung", "late": "too slow", "crashed": "crashed",
}  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """`why`: of all but `ok`. Bandwidths in MiB/s, `seconds` of the whole job, `peak` in bytes of
    the largest process. `ignored`: hints that the library did not take."""

    kind: Kind
    why: str = ""
    write: float | None = None
    read: float | None = None
    seconds: float = 0.0
    peak: int = 0
    ignored: tuple[str, ...] = ()

    def speed(self, wish: Wish) -> float | str:
        """For the search: MiB/s, or why there is none. Of both: bytes over the sum of the times."""
        if self.kind != "ok":
            return f"{self.kind}: {self.why}"
        if wish == "both" and self.write and self.read:
            return 2 / (1 / self.write + 1 / self.read)
        found = self.read if wish == "read" else self.write
        return found or f"failed: it says no {wish} bandwidth"


def is_wrong(why: str) -> bool:
    return why.startswith("wrong bytes")


@dataclass(frozen=True)
class Job:
    """What all trials of a search have in common. `launch`: the words up to the program; `place`:
    of the file system."""

    launch: tuple[str, ...]
    program: Path
    pattern: tuple[str, ...]
    place: Path
    fsync: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    def command(self, space: Space, arm: Config) -> tuple[list[str], dict[str, str]]:
        """The words but for folder and document, and the variables of this setting."""
        hints, variables, options = split(space.places(arm))
        sorted_hints = sort_hints(hints)
        method, _, mode = dict(arm)[CALL].partition(":")
        words = [*self.launch, str(self.program), *self.pattern, "--method", method]
        words += ["--mode", mode] if mode else []
        words += [word for k, v in sorted_hints.mpi.items() for word in ("--hint", f"{k}={v}")]
        words += [*options, *(["--fsync"] if self.fsync else [])]
        return words, {**sorted_hints.environment, **variables}


def split(places: Sequence[str]) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """Hints, variables and options of what a setting says."""
    hints, variables, options = dict[str, str](), dict[str, str](), list[str]()
    for place in places:
        key, _, value = place.partition("=")
        if key.startswith("--"):
            options += [key, value]
        elif key.startswith("$"):
            variables[key[1:]] = value
        else:
            hints[key] = value
    return hints, variables, options


class Runner:
    """Runs trials; what they have started is ended with this process, whichever way that ends."""

    def __init__(self, job: Job, space: Space) -> None:
        self.job, self.space = job, space
        self.guard = Guard(signal.SIGTERM, iokernel.POLITE)

    def __call__(self, arm: Config, keep: Path, limit: float) -> Outcome:
        """One job, of `limit` seconds at most; its document and its script are left in `keep`."""
        keep.mkdir(parents=True, exist_ok=True)
        words, variables = self.job.command(self.space, arm)
        variables = {**self.job.environment, **variables}
        with _own_folder(self.job.place) as folder:
            words += ["--dir", str(folder), "--json", str(keep / DOCUMENT)]
            _write_script(keep / JOB_SCRIPT, words, variables)
            done = iokernel.execute(
                words, variables, seconds=limit, document=keep / DOCUMENT, guard=self.guard
            )
        (keep / "stderr").write_text(done.stderr)
        return outcome(done)


def outcome(done: Ended) -> Outcome:
    """What a job's document and its last words say."""
    if done.kind != "right" or done.document is None:
        return Outcome(KINDS.get(done.kind, "failed"), done.why, seconds=done.seconds)
    summary = done.document["summary"]
    return Outcome(
        "ok",
        write=summary.get("write_bw"),
        read=summary.get("read_bw"),
        seconds=done.seconds,
        peak=int(done.document["memory"]["peak_rss"]),
        ignored=tuple(done.document["used"]["hints_ignored"]),
    )


@contextlib.contextmanager
def _own_folder(place: Path) -> Iterator[Path]:
    """With a marker that says whose it is: what a kill leaves is found and removed later."""
    folder = place / f"iogauge.{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    (folder / MARKER).write_text(f"{processes.identity(os.getpid())} -\n")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write_script(path: Path, words: Sequence[str], variables: Mapping[str, str]) -> None:
    """What ran, for a reader; it can be run again."""
    lines = [f"export {key}={shlex.quote(value)}" for key, value in variables.items()]
    path.write_text("\n".join(["#!/bin/sh", *lines, shlex.join(words)]) + "\n")
