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
from .calls_in_trace import CALLS, DIRECTIONS, OWN_CALLS, name

# One file of each process.
PLANTED = "planted-*"  # repeat, bytes, planted, noticed
OPERATIONS = "operations-*"  # name, calls (or folders read), files, seconds
STORAGE = "storage-*"  # as Storage
HINTS = "hints-*"  # given or used and the direction, number of opens, name, value; host; libraries
DURATIONS = "durations-*"  # POSIX or MPI-IO, reading or writing, nanoseconds, number of calls
LIBRARIES = ("nc_", "pnetcdf_", "hdf5_")  # hints that MPI does not know (kernels/base/hints.def)


def against_the_recorder(document: Json, folder: Path) -> Iterator[str]:
    """`folder`: of the raw traces. Nothing for a replay."""
    shows = CALLS.get(name(document))
    if shows and document["verification"]["verdict"] == "verified":
        yield from _planted(document, folder)
    if shows:
        yield from _operations(document, folder, flushes=bool(shows.writers))
        yield from _processes(document, folder)
        yield from _machine(document, folder)
        if document["asked"]["method"] in OWN_CALLS:
            yield from _durations(document, folder, "1" if shows.kind else "0")
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
    """Each process created, looked up and removed each of its files, and some process found it in a
    folder, within the seconds of the result. `flushes`: data was written before each fsync."""
    found = [line.split() for one in folder.glob(OPERATIONS) for line in one.open()]
    written = document["asked"]["steps"] * sum(1 for one in document["samples"] if one["write"])
    flushed = sum(int(one[1]) for one in found if one[0] == "flush")
    if flushes and document["asked"]["fsync"] and flushed < written:
        yield f"fsync: expected after writing, of {written} files, found {flushed}"
    servers = document["system"].get("io_processes")  # create files meanwhile
    for what in ("stat", "remove", "readdir", *([] if servers else ["create"])):
        series = [s["series"].get(what) for s in document["samples"] if s.get("series")]
        if not (said := sum(one["seconds"]["max"] for one in filter(None, series))):
            continue
        each = document["samples"][0]["series"]["files_per_process"]
        here = [list(map(float, one[1:])) for one in found if one[0] == what]
        calls, files = (sum(one[i] for one in here) for i in (0, 1))
        least = min(files, calls / len(series))
        if what == "readdir":  # a client of several may list what it had cached
            least = files / len(series) if document["system"]["nodes"] == 1 else math.inf
        if least < each * clients(document) and what != "create":
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
    system, queues = document["system"], [s.get("queue") or {} for s in document["samples"]]
    said = max(document["memory"]["peak_rss"], 0, *(one.get("peak_rss", 0) for one in queues))
    peak = max((one.peak for one in found), default=0)
    if peak > said:
        yield f"memory.peak_rss is {said}, but a process had {peak} before the end"
    kind, own = system["filesystem"]["type"], "--own-dir" in " ".join(document["asked"]["argv"])
    if any(one.in_memory for one in found) and kind not in IN_MEMORY and not own:
        yield f"the file system is said to be {kind}, but the files are in memory"


def _lines(folder: Path) -> Iterator[tuple[int, str, str, str, str]]:
    """Process, kind, number of opens, name, value."""
    for path in folder.glob(HINTS):
        for line in path.read_text(errors="replace").rstrip("\n").split("\n"):
            kind, count, key, value = line.split("\t", 3)
            yield int(path.name.split("-")[1]), kind, count, key, value


def _machine(document: Json, folder: Path) -> Iterator[str]:
    """Processes ran on the hosts of the result, with its libraries, as these say themselves."""
    system, hosts = document["system"], dict[int, str]()
    for process, kind, _, key, value in _lines(folder):
        said = document["libraries"].get(key)
        if kind == "host":
            hosts[process] = value
        elif kind == "library" and said and f" {said} " not in f" {value.replace(',', ' ')} ":
            yield f"libraries.{key} is {said}, but the library says {value}"
    if not hosts:
        return
    names = Counter(hosts.values())
    if {*names} != {*system["hosts"]} or len(system["hosts"]) != system["nodes"]:
        said = f"{system['hosts']}, system.nodes is {system['nodes']}"
        yield f"system.hosts is {said}, but processes ran on {sorted(names)}"
    each, whole = system["processes_per_node"], len(hosts) == system["processes"]
    if whole and len(names) == system["nodes"] and max(names.values()) != each:
        yield f"system.processes_per_node is {each}, but {max(names.values())} ran on a host"
    for sample in document["samples"]:
        for direction, _ in DIRECTIONS:
            slow = ((sample[direction] or {}).get("latency") or {}).get("slowest") or {}
            right = None if system.get("io_processes") else hosts.get(slow.get("process", -1))
            if right and not right.startswith(slow["host"]):
                one = f"{direction}: the slowest process {slow['process']}"
                yield f"{one} ran on {right}, not on {slow['host']}"


PARTS = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "max": 1.0}  # of the calls


def _durations(document: Json, folder: Path, layer: str) -> Iterator[str]:
    """All calls together take no longer than their percentiles say."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for path in folder.glob(DURATIONS):
        for module, direction, least, calls in map(str.split, path.open()):
            found[module + direction].append((int(least), int(calls)))
    for way, direction in enumerate(("read", "write")):
        mine, most = found[f"{layer}{way}"], 0.0
        took = sum(1e-9 * least * calls for least, calls in mine)
        sides = [sample[direction] for sample in document["samples"] if sample[direction]]
        for said in filter(None, (side.get("latency") for side in sides)):
            ends = [0, *(math.floor(part * said["calls"]) for part in PARTS.values())]
            most += sum((b - a) * said[p] for p, a, b in zip(PARTS, ends, ends[1:], strict=False))
        slack = READING / 10 * sum(calls for _, calls in mine)
        if most and took > most * (1 + RATE) + slack:
            yield f"{direction}: calls took {took:.6g} s, by their percentiles {most:.6g} s at most"


def _hints(document: Json, folder: Path) -> Iterator[str]:
    """Those listed as used are in force, and those asked for were given to each file."""
    asked, used = document["asked"], document["used"]
    opens: Counter[tuple[str, str, str]] = Counter()  # the most of any process
    for _, kind, count, key, value in _lines(folder):
        opens[kind, key, value] = max(opens[kind, key, value], int(count))
    for key, value in used["hints"].items():
        seen = any(opens[f"used-{direction}", key, value] for direction, _ in DIRECTIONS)
        if not seen and not key.startswith(LIBRARIES):
            yield f"hint {key}={value} is listed as used, but MPI did not list it for any file"
    if asked["mode"] == "external32" and not opens["view", "representation", asked["mode"]]:
        yield "mode external32: expected file views in this representation, found none"
    for hint in used["hints_ignored"]:
        if opens["used-write", hint.rpartition(":")[2], asked["hints"].get(hint)]:
            yield f"hint {hint} is listed as ignored, but MPI lists it as in force"
    for hint in {*(asked.get("hints") or {})} - {*(asked.get("hints_environment") or {})}:
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
