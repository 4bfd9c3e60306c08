# SPDX-License-Identifier: BSD-3-Clause
"""Does a result agree with what the recorder left beside its trace: the wrong bytes planted in what
the run had read (kernels/recorder/planted.c), and the hints that MPI was given
(kernels/recorder/hints.c)?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from .arithmetic import Json
from .calls_in_trace import CALLS, DIRECTIONS, name

# One file of each process.
PLANTED = "planted-*"  # repeat, bytes, planted, noticed
HINTS = "hints-*"  # given or used and the direction, number of opens, name, value
LIBRARIES = ("nc_", "pnetcdf_", "hdf5_")  # hints that MPI does not know (kernels/base/hints.def)


def against_the_recorder(document: Json, folder: Path) -> Iterator[str]:
    """`folder`: of the raw traces. Nothing for a replay."""
    shows = CALLS.get(name(document))
    if shows and document["verification"]["verdict"] == "verified":
        yield from _planted(document, folder)
    if shows and shows.kind:
        yield from _hints(document, folder)


def _planted(document: Json, folder: Path) -> Iterator[str]:
    """Did the verification notice all?"""
    found: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for path in sorted(folder.glob(PLANTED)):
        for line in path.read_text().splitlines():
            repeat, size, planted, noticed = map(int, line.split())
            found[repeat].append((size, planted, noticed))
    for sample in document["samples"]:
        if not sample["read"]:
            continue
        here = found[sample["repeat"]]
        place = f"repeat {sample['repeat']}"
        wanted = document["payload"]["bytes"] * (2 if sample.get("direct") else 1)
        size = sum(one[0] for one in here)
        if size != wanted:
            yield (
                f"{place}: expected wrong bytes planted among the {wanted} bytes that were read, "
                f"but the verification looked at {size}"
            )
        for _, planted, noticed in here:
            if noticed < planted:
                yield f"{place}: expected {planted} planted wrong bytes noticed, found {noticed}"
        if size and not any(planted for _, planted, _ in here):
            yield f"{place}: expected planted wrong bytes, found none"


def _hints(document: Json, folder: Path) -> Iterator[str]:
    """Those listed as used are in force, and those asked for were given to each file."""
    asked, used = document["asked"], document["used"]
    opens: Counter[tuple[str, str, str]] = Counter()  # the most of any process
    for path in folder.glob(HINTS):
        for line in path.read_text(errors="replace").rstrip("\n").split("\n"):
            kind, count, key, value = line.split("\t", 3)
            opens[kind, key, value] = max(opens[kind, key, value], int(count))
    for key, value in used["hints"].items():
        seen = any(opens[f"used-{direction}", key, value] for direction, _ in DIRECTIONS)
        if not seen and not key.startswith(LIBRARIES):
            yield f"hint {key}={value} is listed as used, but MPI did not list it for any file"
    others = {*used["hints_ignored"], *(asked.get("hints_environment") or {})}
    for hint in {*(asked.get("hints") or {})} - others:
        only, _, key = hint.rpartition(":")
        values = [v for other, v in asked["hints"].items() if other.rpartition(":")[2] == key]
        for direction, _ in DIRECTIONS:
            files = asked["steps"] * sum(1 for sample in document["samples"] if sample[direction])
            least = min(files, 1) if document["system"].get("io_processes") else files
            given = sum(opens[f"given-{direction}", key, value] for value in values)
            if given < least and only in ("", direction) and not key.startswith("hdf5_"):
                yield (
                    f"hint {hint}={asked['hints'][hint]}, {direction}: expected in at least "
                    f"{least} calls of MPI_File_open, found in {given}"
                )
