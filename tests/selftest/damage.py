# SPDX-License-Identifier: BSD-3-Clause
"""Kept files of every format with single wrong bytes, each read back by one process.

A wrong byte of payload must be seen, and one in a chunk if its values change: not each bit of what
was compressed counts. Of one in a header or in padding a library may make nothing; those are judged
apart. Whatever is said of a byte, the file has it."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.selftest import payload
from tests.selftest.cases import Subject
from tests.selftest.judge import BROKEN, CAUGHT, HUNG, MENDED, MISSED, SILENT, Judgement
from tests.selftest.run import Outcome, Place

PAYLOAD, CHUNKS, METADATA = "byte:payload", "byte:chunks", "byte:metadata"
OF_METADATA = 0.4  # of the runs, where there is any
AT_ONCE = 8
LARGEST_ELEMENT = 8  # bytes
BYTE = re.compile(r"byte (\d+)(?: of|,)")


@dataclass(frozen=True)
class Kept:
    """Files that a run left, and what reads them."""

    subject: Subject
    folder: Path
    regions: payload.Regions

    def counts_elements(self, path: Path) -> bool:
        """A file without known data sets may be text, or have marks between them."""
        return bool(self.regions.ranges) and path.suffix != ".txt"

    def command(self, document: Path) -> list[str]:
        words = [str(self.subject.program), *self.subject.words(self.folder)]
        return [*words, "--read-only", "--json", str(document)]


def keep(place: Place, subjects: Iterable[Subject]) -> list[Kept]:
    """Each method's files of each pattern, written by one process without a launcher."""
    found = []
    for subject in subjects:
        one = replace(subject, processes=1)
        folder = place.base.parent / "kept" / one.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        words = [*one.words(folder), "--write-only", "--keep", "--json", str(place.document)]
        _good(place, [str(one.program), *words])
        kept = Kept(one, folder, payload.Regions(()))
        # Reading, each library knows where its data sets are; writing, some do not yet.
        document = _good(place, kept.command(place.document))
        found.append(replace(kept, regions=payload.regions(document)))
    return found


def _good(place: Place, command: list[str]) -> dict[str, Any]:
    outcome = place.run(command)
    if not outcome.good or outcome.document is None:
        raise RuntimeError(f"{outcome.command}: {outcome.said}")
    return outcome.document


def _choose(kept: Kept, chance: random.Random) -> tuple[Path, list[int], str]:
    """A file, bytes of it, and which kind of bytes they are: one of metadata or of a chunk, or
    AT_ONCE of payload, each in another element, because wrong elements are counted. Data sets are
    chosen alike, whatever their sizes; so none can be left out."""
    path = chance.choice(payload.files(kept.folder))
    inside = kept.regions.of(path)
    outside = _gaps(inside, path.stat().st_size)
    if outside and (not inside or chance.random() < OF_METADATA):
        return path, [chance.randrange(*chance.choice(outside))], METADATA
    words: dict[tuple[int, int], int] = {}
    for _ in range(AT_ONCE if kept.counts_elements(path) else 1):
        begin, end = chance.choice(inside)
        at = chance.randrange(begin, end)
        words[begin, (at - begin) // LARGEST_ELEMENT] = at
    known = payload.is_known(path, kept.regions)
    return path, list(words.values()), PAYLOAD if known else CHUNKS


def _gaps(inside: Iterable[payload.Range], size: int) -> list[payload.Range]:
    found, at = [], 0
    for begin, end in sorted(inside):
        if at < begin:
            found.append((at, begin))
        at = max(at, end)
    return [*found, (at, size)] if at < size else found


def spoil(path: Path, offset: int, mask: int) -> None:
    """Done twice it undoes itself."""
    with path.open("r+b") as file:
        file.seek(offset)
        (byte,) = file.read(1)
        file.seek(offset)
        file.write(bytes([byte ^ mask]))


def impossible(outcome: Outcome, size: int) -> list[str]:
    """Lines that speak of a byte which the file does not have; it may end at its size."""
    return [line for line in outcome.errors if any(int(byte) > size for byte in BYTE.findall(line))]


def one(place: Place, kept: Kept, chance: random.Random) -> Judgement:
    """Of a run that reads a file with wrong bytes."""
    path, offsets, kind = _choose(kept, chance)
    mask = chance.randint(1, 255)
    size, values = path.stat().st_size, None
    place.document.unlink(missing_ok=True)
    try:
        for offset in offsets:
            spoil(path, offset, mask)
        outcome = place.run(kept.command(place.document))
        if kind == CHUNKS and outcome.status == 0:
            values = payload.values(path)
    finally:
        for offset in offsets:
            spoil(path, offset, mask)
    if values is not None and values == payload.values(path):
        kind = METADATA
    verdict, why = verdict_of(outcome, kind, len(offsets), size)
    reason = f"{why}: bytes {offsets} of {path} with 0x{mask:02x}".lstrip(": ")
    return Judgement.of(kept.subject, kind, (verdict, reason), replace(outcome, left=[]), "")


def verdict_of(outcome: Outcome, kind: str, wrong: int, size: int) -> tuple[str, str]:
    """And why, of a run that reads a file of `size` bytes, `wrong` of which are."""
    if outcome.status is None:
        return HUNG, "the run did not end"
    if lines := impossible(outcome, size):
        return BROKEN, lines[0]
    if outcome.status and not outcome.errors:
        return SILENT, "no line says why"
    if (seen := _seen(outcome, wrong)) == wrong:
        return CAUGHT, ""
    return (MENDED if kind == METADATA else MISSED), f"{seen} of {wrong} seen"


def _seen(outcome: Outcome, wrong: int) -> int:
    """How many of the wrong bytes a run has noticed. It counts wrong elements."""
    if outcome.status == 0:
        return 0
    if wrong == 1:
        return 1
    verification = (outcome.document or {}).get("verification") or {}
    return min(wrong, int(verification.get("mismatches") or 0))


def run(place: Place, subjects: Iterable[Subject], number: int, seed: int) -> Iterator[Judgement]:
    """So many runs, each kept format in its turn."""
    place.clear()
    # With an inner method the files are the inner method's.
    kept = keep(place, [subject for subject in subjects if not subject.inner][:number])
    for turn in range(number if kept else 0):
        yield one(place, kept[turn % len(kept)], random.Random(f"{seed} {turn}"))
