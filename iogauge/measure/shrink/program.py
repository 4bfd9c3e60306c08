# SPDX-License-Identifier: BSD-3-Clause
"""A C program alone that writes what a traced run wrote: the user's bytes and places through plain
MPI-IO calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from iogauge.analysis.blame.accesses import MPIIO, WRITE, Traced
from iogauge.analysis.blame.races import MAY_COVER, Blame
from iogauge.analysis.darshan.raw import CLOSE

from .case import CannotShrinkError

SOURCE = Path(__file__).with_name("repro.c.in")
MOST_LINES = 150
PAGE = 4096
WIDTH = 100
CALLS = 200  # of a repeat: few rounds are done again and again, as they may fail seldom
TOGETHER = ("_all",)


@dataclass(frozen=True)
class Round:
    """One call of all processes, or what each of them writes alone between two of those.
    `pieces`: process, offset, length."""

    together: bool
    pieces: tuple[tuple[int, int, int], ...]

    @property
    def viewed(self) -> bool:
        ranks = [rank for rank, _, _ in self.pieces]
        return self.together and len(set(ranks)) < len(ranks)


def rounds(traced: Traced, file: int) -> list[Round]:
    """What was written to a file until it was first closed. `CannotShrinkError` where the trace
    does not say."""
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
        raise CannotShrinkError("the trace does not say which bytes the program's calls wrote")
    return [Round(not alone, tuple(some)) for (_, alone), some in sorted(found.items())]


def suspects(some: Sequence[Round], found: Blame, file: int) -> list[Round]:
    """Those whose bytes a read-modify-write covered, or may have: the most of them first."""
    races, rows = found.races, found.traced.accesses
    bad = (races.kind <= MAY_COVER) & (rows["file"][races.a] == file)
    low, high = races.low[bad], races.high[bad]
    counts = []
    for r in some:
        begins, ends = (
            np.array([p[1] for p in r.pieces]),
            np.array([p[1] + p[2] for p in r.pieces]),
        )
        counts.append(int(((low < ends.max()) & (high > begins.min())).sum()) if len(begins) else 0)
    order = sorted(range(len(some)), key=lambda i: -counts[i])
    return [some[i] for i in order if counts[i]]


def text(
    some: Sequence[Round], processes: int, command: str, repeats: int, library: str,
    most: int = MOST_LINES,
) -> str:  # fmt: skip
    """The program. `CannotShrinkError` where it has too many lines."""
    lowest = min((offset for r in some for _, offset, _ in r.pieces), default=0)
    lowest -= lowest % PAGE
    highest = max((offset + length for r in some for _, offset, length in r.pieces), default=0)
    highest += -highest % PAGE
    rows = [
        f"{{{i}, {rank}, {offset - lowest}, {length}}},"
        for i, r in enumerate(some)
        for rank, offset, length in r.pieces
    ]
    made = (
        SOURCE.read_text()
        .replace("@TABLE@", "\n".join(_wrapped(rows)))
        .replace("@KIND@", ", ".join(str(int(r.together) + int(r.viewed)) for r in some))
        .replace("@ROUNDS@", str(len(some)))
        .replace("@COPIES@", str(max(1, CALLS // len(some))))
        .replace("@SPAN@", str(highest - lowest))
        .replace("@PROCESSES@", str(processes))
        .replace("@REPEATS@", str(repeats))
        .replace("@COMMAND@", command)
        .replace("@LIBRARY@", library)
    )
    lines = made.count("\n")
    if lines > most:
        raise CannotShrinkError(f"a program of {lines} lines; right is at most {most}")
    return made


def _wrapped(words: Sequence[str]) -> list[str]:
    lines, line = [], "   "
    for word in words:
        if len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = "   "
        line += f" {word}"
    return [*lines, line]
