# SPDX-License-Identifier: BSD-3-Clause
"""A C program that writes a traced run's bytes by plain MPI-IO calls, and so fails by itself."""

import json
import re
import subprocess
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from iogauge.analysis.blame.accesses import MPIIO, WRITE, Traced
from iogauge.analysis.blame.races import MAY_COVER, Blame, find
from iogauge.analysis.darshan.raw import CLOSE
from iogauge.common.text import Notice
from reframe_tests.machine.leftovers import own_folder

from .. import iokernel
from .case import Failing, NoProgramError, Runner, fewest

SOURCE = Path(__file__).with_name("repro.c.in")
MOST_LINES = 150
PAGE = 4096
WIDTH = 100
CALLS = 200  # passes per repeat: few rounds are repeated, since they may fail rarely
TOGETHER = ("_all",)
REPEATS = 30  # repeats of the program in one run
RUNS = 5  # of the program that is written: a race may spare all repeats of one run
SUSPECTS = 5  # rounds tried alone
FOUND = re.compile(r"(\d+) of (\d+) repeats had wrong bytes")


@dataclass(frozen=True)
class Round:
    """A collective call, or the writes between two. `pieces`: process, offset, length."""

    together: bool
    pieces: tuple[tuple[int, int, int], ...]

    @property
    def viewed(self) -> bool:
        ranks = [rank for rank, _, _ in self.pieces]
        return self.together and len(set(ranks)) < len(ranks)


def rounds_of(traced: Traced, file: int) -> list[Round]:
    """What was written to a file until it was first closed. Raises NoProgramError."""
    rows, found = traced.accesses, dict[tuple[int, bool], list[tuple[int, int, int]]]()
    assert traced.events is not None
    for rank in range(traced.processes):
        mine = rows[(rows["process"] == rank) & (rows["layer"] == MPIIO) & (rows["file"] == file)]
        events = traced.events[rank]
        closed = events[(events["kind"] == CLOSE) & (events["file"] == file)]["sequence"]
        until = int(closed[0]) if len(closed) else np.iinfo(np.int64).max
        mine = mine[(mine["write"] == WRITE) & (mine["sequence"] < until)]
        mine = mine[np.argsort(mine["sequence"], kind="stable")]
        count, before = 0, None
        for row in mine:
            together = any(word in traced.calls[row["call"]] for word in TOGETHER)
            if together and row["row"] != before:
                count += 1
            before = row["row"]
            key = (count, not together)
            found.setdefault(key, []).append((rank, int(row["offset"]), int(row["length"])))
    if not found:
        raise NoProgramError("the trace does not say which bytes the program's calls wrote")
    return [Round(not alone, tuple(some)) for (_, alone), some in sorted(found.items())]


def suspects(some: Sequence[Round], found: Blame, file: int) -> list[Round]:
    """Rounds whose bytes a read-modify-write covered, or may have, most first."""
    races, rows = found.races, found.traced.accesses
    bad = (races.kind <= MAY_COVER) & (rows["file"][races.a] == file)
    low, high = races.low[bad], races.high[bad]

    def covered(one: Round) -> int:
        begin = min(offset for _, offset, _ in one.pieces)
        end = max(offset + length for _, offset, length in one.pieces)
        return int(((low < end) & (high > begin)).sum())

    return sorted(filter(covered, some), key=covered, reverse=True)


def text_of(
    some: Sequence[Round],
    processes: int,
    command: str,
    repeats: int,
    library: str,
    most: int = MOST_LINES,
) -> str:
    """The program. Raises NoProgramError if it has too many lines."""
    lowest = min((offset for r in some for _, offset, _ in r.pieces), default=0)
    lowest -= lowest % PAGE
    highest = max((offset + length for r in some for _, offset, length in r.pieces), default=0)
    highest += -highest % PAGE
    rows = [
        f"{{{i},{rank},{offset - lowest},{length}}},"
        for i, r in enumerate(some)
        for rank, offset, length in r.pieces
    ]
    values = {
        "TABLE": textwrap.indent(textwrap.fill(" ".join(rows), WIDTH - 4), " " * 4),
        "KIND": ", ".join(str(int(r.together) + int(r.viewed)) for r in some),
        "ROUNDS": len(some),
        "COPIES": max(1, CALLS // len(some)),
        "SPAN": highest - lowest,
        "PROCESSES": processes,
        "REPEATS": repeats,
        "COMMAND": command,
        "LIBRARY": library,
    }
    made = SOURCE.read_text()
    for name, value in values.items():
        made = made.replace(f"@{name}@", str(value))
    lines = made.count("\n")
    if lines > most:
        raise NoProgramError(f"a program of {lines} lines: expected at most {most}")
    return made


def traced(runner: Runner, case: Failing, how: str, tries: int, folder: Path) -> None:
    """Run until a run fails, and keep its traces."""
    for _ in range(10 * tries):
        for old in folder.glob("*.trace"):
            old.unlink()
        if runner.end(case, folder) == how:
            return
    raise NoProgramError(f"{10 * tries} runs with the recorder did not fail: {case}")


class Program:
    def __init__(self, runner: Runner, case: Failing, work: Path) -> None:
        self.runner, self.case, self.work = runner, case, work
        launch = " ".join(["mpiexec", "-n", str(case.processes)])
        self.command = " ".join([*(f"{k}={v}" for k, v in case.environment), launch])
        self.library = _library(runner.stack.program)

    def text(self, rounds: Sequence[Round]) -> str:
        words = (self.case.processes, self.command, REPEATS, self.library)
        return text_of(rounds, *words)

    def failed(self, text: str) -> tuple[int, int]:
        """The number of repeats, and of those with wrong bytes."""
        source, binary = self.work / "repro.c", self.work / "repro"
        source.write_text(text)
        stack, compiler = replace(self.runner.stack, program=binary), ["-Wall", "-Wextra", "-O1"]
        subprocess.run(
            [f"mpicc.{stack.name}", *compiler, str(source), "-o", str(binary)], check=True
        )
        with own_folder(self.runner.folder) as place:
            done = iokernel.run(
                stack,
                self.case.processes,
                [str(place / "repro.bin"), str(REPEATS)],
                env=dict(self.case.environment),
                seconds=self.runner.seconds,
                guard=self.runner.guard,
            )
        match = FOUND.search(done.stdout)
        if not match:
            late = done.status is None
            how = "had to be ended" if late else f"ended with status {done.status}"
            raise NoProgramError(f"the program {how}, after {self.runner.seconds:g} s at most")
        return int(match[1]), int(match[2])


def _library(iokernel: Path) -> str:
    done = subprocess.run([str(iokernel), "--version"], capture_output=True, text=True, check=False)
    document = done.stdout[done.stdout.find("{") :]
    return str(json.loads(document)["mpi"]) if done.returncode == 0 else "an unknown MPI"


def make(made: Program, traces: Path, tries: int, notice: Notice) -> tuple[str, int, int]:
    """The text, how often it failed, and the number of repeats."""
    blamed = find(traces)
    found = blamed.traced
    rows = found.accesses[found.accesses["layer"] == MPIIO]
    if not len(rows):
        raise NoProgramError("the case does not write through MPI-IO")
    ((file, _),) = Counter(rows["file"].tolist()).most_common(1)
    rounds = rounds_of(found, file)
    accused = suspects(rounds, blamed, file)
    notice(f"{len(rounds)} rounds of MPI-IO calls are recorded, {len(accused)} of them raced")

    def fails(some: Sequence[Round]) -> bool:
        try:
            text = made.text(some)
        except NoProgramError:  # still too long to print
            text = text_of(some, made.case.processes, "", REPEATS, "", most=10**6)
        return any(made.failed(text)[0] for _ in range(tries))

    one = next(([r] for r in accused[:SUSPECTS] if fails([r])), None)
    if one is None and not fails(rounds):
        raise NoProgramError("its MPI-IO calls alone did not fail")
    rounds = one or fewest(rounds, fails)
    text = made.text(rounds)
    counts = [made.failed(text) for _ in range(RUNS)]
    return text, sum(wrong for wrong, _ in counts), sum(of for _, of in counts)
