# SPDX-License-Identifier: BSD-3-Clause
"""Does a result agree with the files that the recorder writes beside its trace?"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from iogauge.common.mounts import IN_MEMORY

from .arithmetic import RATE, READING, Json, clients
from .calls_in_trace import CALLS, DIRECTIONS, name

# One file of each process.
PLANTED = "planted-*"  # repeat, bytes, planted, noticed
OPERATIONS = "operations-*"  # name, calls (or folders read), files, seconds
STORAGE = "storage-*"  # as Storage
HINTS = "hints-*"  # given or used and the direction, number of opens, name, value
LIBRARIES = ("nc_", "pnetcdf_", "hdf5_")  # hints that MPI does not know (kernels/base/hints.def)


def against_the_recorder(document: Json, folder: Path) -> Iterator[str]:
    """`folder`: of the raw traces. Nothing for a replay."""
    shows = CALLS.get(name(document))
    if shows and document["verification"]["verdict"] == "verified":
        yield from _planted(document, folder)
    if shows:
        yield from _operations(document, folder, flushes=bool(shows.writers) and not shows.kind)
        yield from _processes(document, folder)
    if shows and shows.kind:
        yield from _hints(document, folder)


def _planted(document: Json, folder: Path) -> Iterator[str]:
    """Did the verification notice every planted byte?"""
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
            among = f"the {wanted} bytes read, but the verification looked at {size}"
            yield f"{place}: expected wrong bytes planted among {among}"
        for _, planted, noticed in here:
            if noticed < planted:
                yield f"{place}: expected {planted} planted wrong bytes noticed, found {noticed}"
        if size and not any(planted for _, planted, _ in here):
            yield f"{place}: expected planted wrong bytes, found none"


def _operations(document: Json, folder: Path, *, flushes: bool) -> Iterator[str]:
    """Each process looked up and removed each of its files, and some process found it in a folder,
    within the seconds of the result. `flushes`: data was written before each fsync."""
    found = [line.split() for one in folder.glob(OPERATIONS) for line in one.open()]
    written = document["asked"]["steps"] * sum(1 for one in document["samples"] if one["write"])
    flushed = sum(int(one[1]) for one in found if one[0] == "flush")
    if flushes and document["asked"]["fsync"] and flushed < written:
        yield f"fsync: expected after writing, of {written} files, found {flushed}"
    for what in ("stat", "remove", "readdir"):
        series = [s["series"].get(what) for s in document["samples"] if s.get("series")]
        if not (said := sum(one["seconds"]["max"] for one in filter(None, series))):
            continue
        each = document["samples"][0]["series"]["files_per_process"]
        here = [list(map(float, one[1:])) for one in found if one[0] == what]
        calls, files = (sum(one[i] for one in here) for i in (0, 1))
        least = min(files, calls / len(series))
        if what == "readdir":  # a client of several may list what it had cached
            least = files / len(series) if document["system"]["nodes"] == 1 else math.inf
        if least < each * clients(document):
            yield f"{what}: expected {each} files of each process, found {files:g} in {calls:g}"
        for some, _, seconds in here if what != "stat" else ():  # other lookups count too
            if seconds > said * (1 + RATE) + some * READING / 10:
                yield f"{what}: took at least {seconds:.6g} s, but the result says {said:.6g} s"


class Storage(NamedTuple):
    """What a process read from storage, in bytes; its messages while ceilings were measured; its
    memory when it last began to read, in bytes; whether a file was in memory; files beside the run
    that were opened to be slow, and those that had data before they were made."""

    own: int
    ceilings: int
    messages: int = 0
    peak: int = 0
    in_memory: int = 0
    slowed: int = 0
    full: int = 0


def storage(folder: Path) -> list[Storage]:
    return [Storage(*map(int, one.read_text().split())) for one in folder.glob(STORAGE)]


def _processes(document: Json, folder: Path) -> Iterator[str]:
    """No process waited for another during the ceilings; and the memory of the largest."""
    found = storage(folder)
    if messages := sum(one.messages for one in found):
        yield f"ceilings, direct writing: expected no messages meanwhile, found {messages}"
    if any(one.slowed for one in found):
        yield "ceilings, direct writing: opened with O_DIRECT or O_DSYNC, and the run is not"
    if any(one.full for one in found):
        yield "a file had data before it was created"
    system, said = document["system"], document["memory"]["peak_rss"]
    peak = max((one.peak for one in found), default=0)
    if peak > said and not system.get("io_processes"):
        yield f"memory.peak_rss is {said}, but a process had {peak} before the end"
    kind, own = system["filesystem"]["type"], "--own-dir" in " ".join(document["asked"]["argv"])
    if any(one.in_memory for one in found) and kind not in IN_MEMORY and not own:
        yield f"the file system is said to be {kind}, but the files are in memory"


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
    if asked["mode"] == "external32" and not opens["view", "representation", asked["mode"]]:
        yield "mode external32: expected file views in this representation, found none"
    others = {*used["hints_ignored"], *(asked.get("hints_environment") or {})}
    for hint in {*(asked.get("hints") or {})} - others:
        only, _, key = hint.rpartition(":")
        values = [v for other, v in asked["hints"].items() if other.rpartition(":")[2] == key]
        for direction, _ in DIRECTIONS:
            files = asked["steps"] * sum(1 for sample in document["samples"] if sample[direction])
            least = min(files, 1) if document["system"].get("io_processes") else files
            given = sum(opens[f"given-{direction}", key, value] for value in values)
            if given < least and only in ("", direction) and not key.startswith("hdf5_"):
                calls = f"{least} calls of MPI_File_open, found in {given}"
                what = f"hint {hint}={asked['hints'][hint]}, {direction}"
                yield f"{what}: expected in at least {calls}"
