# SPDX-License-Identifier: BSD-3-Clause
"""Traces of Recorder (uiuc-hpc, 2.3 to 2.5) as its program recorder2text writes them: a folder
`_text` with a file of each process, a call in each line:

    0.0014199 0.0014318 write 0 0 ( /scratch/me/dump %p 1024 )

That is start, end, call, depth, layer, and what the call was given; not what it gave back."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..darshan.dxt import SEGMENT, Block
from ..darshan.log import FileTrace, Log
from ..errors import AnalysisError

FOLDER, RECORDER, POSIX = "_text", "Recorder (uiuc-hpc)", "POSIX"
LINE = re.compile(r"(\d+\.\d+) (\d+\.\d+) (\S+) (?:\d+ )+\((.*) \)\n")
# Words after the file's name, and which of them is the number of bytes, and the offset.
AT = {f"p{call}{wide}": (3, -2, -1) for call in ("read", "write") for wide in ("", "64")}
NEXT = {"read": (2, -1), "write": (2, -1), "readv": (2, -2), "writev": (2, -2)}
SEEKS, OPENS, SYNCS = ("lseek", "lseek64"), ("open", "open64"), ("fsync", "fdatasync")
CREATES = ("creat", "creat64")
STREAMS = ("fread", "fwrite", "fprintf")
STEP = 1e-9  # seconds: keeps the order of calls with equal times

Segment = tuple[int, int, float, float]


class BrokenTextError(AnalysisError):
    """The file is not the output of recorder2text, or is incomplete."""


@dataclass
class _File:
    """One process's file. `position`: None if the trace does not tell the end of the file."""

    position: int | None = 0
    moved: dict[str, list[Segment]] = field(default_factory=lambda: {"READ": [], "WRITE": []})
    opens: int = 0
    syncs: int = 0


def folder_of(source: Path) -> Path | None:
    """The folder of its text; None if there is none."""
    for folder in (source / FOLDER, source):
        if folder.name == FOLDER and folder.is_dir():
            return folder
    return None


def read(source: Path, folder: Path) -> tuple[Log, list[Block], list[str]]:
    """The log, its accesses, and what a replay must know about it."""
    texts = {int(path.stem): path for path in folder.glob("*.txt") if path.stem.isdigit()}
    if not texts or sorted(texts) != list(range(len(texts))):
        raise BrokenTextError(f"{folder}: expected a file of each process, from 0.txt on")
    blocks: list[Block] = []
    files: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    numbers: dict[str, int] = {}
    through: set[str] = set()
    seconds = 0.0
    for rank in sorted(texts):
        for path, one in _of_process(texts[rank], through).items():
            number = numbers.setdefault(path, len(numbers) + 1)
            some = [*one.moved["WRITE"], *one.moved["READ"]]
            segments = np.array(some, SEGMENT)
            if len(some):
                seconds = max(seconds, float(segments["end"].max()))
            blocks.append(Block(POSIX, number, rank, len(one.moved["WRITE"]), segments))
            counters = files[path]
            counters["OPENS"] += one.opens
            counters["FSYNCS"] += one.syncs
            for direction, mine in one.moved.items():
                counters[f"{direction}S"] += len(mine)
    log = Log(
        source,
        RECORDER,
        len(texts),
        0.0,
        seconds,
        "",
        (),
        (),
        {POSIX: 1},
        tuple(FileTrace(POSIX, path, dict(some), {}, ()) for path, some in files.items()),
        ids={number: path for path, number in numbers.items()},
    )
    return log, blocks, _notes(through)


def _notes(through: set[str]) -> list[str]:
    notes = ["the trace has the bytes that a call asked for: one that moved less counts in full"]
    if any(call.startswith("MPI_File_") for call in through):
        notes.append(
            "replayed as the POSIX calls of its MPI library: the text has no sizes of types"
        )
    stdio = [call for call in STREAMS if call in through]
    return [*notes, *([f"not replayed: {', '.join(stdio)}"] if stdio else [])]


def _calls(path: Path) -> Iterator[tuple[float, float, str, list[str]]]:
    with path.open(encoding="utf-8", errors="surrogateescape") as lines:
        before = -STEP
        for number, line in enumerate(lines, 1):
            match = LINE.fullmatch(line)
            if not match:
                raise BrokenTextError(f"{path}: line {number} is not a call: {line[:80].strip()}")
            before = max(float(match[1]), before + STEP)
            yield before, max(float(match[2]), before), match[3], match[4].split(" ")[1:]


def _of_process(path: Path, through: set[str]) -> dict[str, _File]:
    """The files of a process. `through`: the calls that were seen."""
    found: dict[str, _File] = defaultdict(_File)
    for start, end, call, words in _calls(path):
        through.add(call)
        try:
            if call in AT or call in NEXT:
                _move(found, call, words, start, end)
            elif call in SEEKS:
                _seek(found[" ".join(words[:-2])], int(words[-2]), int(words[-1]))
            elif call in (*OPENS, *CREATES):
                _open(found, call, words)
            elif call in SYNCS:
                found[" ".join(words)].syncs += 1
        except (ValueError, IndexError) as error:
            raise BrokenTextError(f"{path}: {call} at {start:.7f} s: {error}") from None
    return found


def _move(found: dict[str, _File], call: str, words: list[str], start: float, end: float) -> None:
    behind, size, *place = AT[call] if call in AT else NEXT[call]
    one = found[" ".join(words[:-behind])]
    length = int(words[size])
    offset = int(words[place[0]]) if place else one.position
    if offset is None:
        raise ValueError("it begins at the end of the file, whose size is not in the trace")
    if min(offset, length) < 0:
        raise ValueError("a negative offset or size")
    if not place:
        one.position = offset + length
    one.moved["READ" if "read" in call else "WRITE"].append((offset, length, start, end))


def _seek(one: _File, offset: int, whence: int) -> None:
    if whence == os.SEEK_CUR and one.position is not None:
        offset += one.position
    one.position = None if whence == os.SEEK_END else offset


def _open(found: dict[str, _File], call: str, words: list[str]) -> None:
    """`open` has a third word if it may create."""
    makes = call in OPENS and len(words) > 2 and words[-2].isdigit() and int(words[-2]) & os.O_CREAT
    flags = 0 if call in CREATES else int(words[-2 if makes else -1])
    one = found[" ".join(words[: -2 if makes else -1])]
    one.opens += 1
    one.position = None if flags & os.O_APPEND else 0
