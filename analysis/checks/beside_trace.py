# SPDX-License-Identifier: BSD-3-Clause
"""Does a result agree with the files that the recorder writes beside its trace?"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from iogauge.common.mounts import IN_MEMORY

from .arithmetic import RATE, READING, Json, clients
from .calls_in_trace import CALLS, DIRECTIONS, OWN_CALLS, name
from .result_file import Check, failures

# One file of each process.
PLANTED = "planted-*"  # repeat, bytes, planted, noticed
OPERATIONS = "operations-*"  # name, calls (or folders read), files, seconds
STORAGE = "storage-*"  # as Storage
HINTS = "hints-*"  # given or used, direction, opens, name, value; host; libraries
DURATIONS = "durations-*"  # POSIX or MPI-IO, reading or writing, nanoseconds, number of calls
LIBRARIES = ("nc_", "pnetcdf_", "hdf5_")  # hints that MPI does not know (kernels/base/hints.def)


def against_the_recorder(doc: Json, folder: Path) -> Iterator[str]:
    """`folder`: of the raw traces. Nothing for a replay."""
    shows = CALLS.get(name(doc))
    if not shows:
        return
    if doc["verification"]["verdict"] == "verified":
        yield from failures(_planted(doc, folder))
    yield from failures(_flushes(doc, folder) if shows.writers else ())
    yield from failures(_operations(doc, folder))
    yield from failures(_processes(doc, folder))
    yield from failures(_machine(doc, folder))
    if doc["asked"]["method"] in OWN_CALLS:
        yield from failures(_durations(doc, folder, "1" if shows.kind else "0"))
    yield from failures(_hints(doc, folder) if shows.kind else ())


def _planted(doc: Json, folder: Path) -> Iterator[Check]:
    """Did the verification notice every planted byte?"""
    rows = [map(int, line.split()) for path in sorted(folder.glob(PLANTED)) for line in path.open()]
    found: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for repeat, *row in rows:
        found[repeat].append(tuple(row))
    for sample in (sample for sample in doc["samples"] if sample["read"]):
        place, here = f"repeat {sample['repeat']}", found[sample["repeat"]]
        wanted = doc["payload"]["bytes"] * (2 if sample.get("direct") else 1)
        size = sum(one[0] for one in here)
        among = f"the {wanted} bytes read, but the verification looked at {size}"
        yield (size != wanted, f"{place}: expected wrong bytes planted among {among}")
        for _, planted, noticed in here:
            text = f"expected {planted} planted wrong bytes noticed, found {noticed}"
            yield noticed < planted, f"{place}: {text}"
        none = size and not any(planted for _, planted, _ in here)
        yield none, f"{place}: expected planted wrong bytes, found none"


def _done(folder: Path, what: str) -> list[list[float]]:
    """An operation's calls (or folders read), files and seconds, one row per process."""
    lines = (line.split() for one in folder.glob(OPERATIONS) for line in one.open())
    return [list(map(float, row)) for called, *row in lines if called == what]


def _flushes(doc: Json, folder: Path) -> Iterator[Check]:
    """Data was written before each fsync."""
    written = doc["asked"]["steps"] * sum(1 for one in doc["samples"] if one["write"])
    found = int(sum(row[0] for row in _done(folder, "flush")))
    yield (
        doc["asked"]["fsync"] and found < written,
        f"fsync: expected after writing, of {written} files, found {found}",
    )


def _operations(doc: Json, folder: Path) -> Iterator[Check]:
    """Each process created, looked up and removed each of its files, and some process found it in a
    folder, within the seconds of the result."""
    servers = doc["system"].get("io_processes")  # create files meanwhile
    series = [sample["series"] for sample in doc["samples"] if sample.get("series")]
    for what in ("stat", "remove", "readdir", *([] if servers else ["create"])):
        took = sum(one[what]["seconds"]["max"] for one in series if one.get(what))
        here = _done(folder, what)
        if took and what != "create":
            yield _all_files(doc, what, here, len(series))
        for calls, _, seconds in here if took and what != "stat" else ():  # other lookups count too
            yield (
                seconds > took * (1 + RATE) + calls * READING / 10,
                f"{what}: took at least {seconds:.6g} s, but the result says {took:.6g} s",
            )


def _all_files(doc: Json, what: str, here: list[list[float]], repeats: int) -> Check:
    each = doc["samples"][0]["series"]["files_per_process"]
    calls, files = (sum(one[i] for one in here) for i in (0, 1))
    least = min(files, calls / repeats)
    if what == "readdir":  # may be cached by a client of several
        least = files / repeats if doc["system"]["nodes"] == 1 else math.inf
    text = f"{what}: expected {each} files of each process, found {files:g} in {calls:g}"
    return least < each * clients(doc), text


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


def _processes(doc: Json, folder: Path) -> Iterator[Check]:
    """No process waited for another during the ceilings; and the memory of the largest."""
    found = storage(folder)
    messages = sum(one.messages for one in found)
    yield (messages, f"ceilings, direct writing: expected no messages meanwhile, found {messages}")
    yield (
        any(one.slowed for one in found),
        "ceilings, direct writing: opened with O_DIRECT or O_DSYNC, and the run is not",
    )
    yield (any(one.full for one in found), "a file had data before it was created")
    system, queues = doc["system"], [s.get("queue") or {} for s in doc["samples"]]
    most = max(doc["memory"]["peak_rss"], 0, *(one.get("peak_rss", 0) for one in queues))
    peak = max((one.peak for one in found), default=0)
    yield (peak > most, f"memory.peak_rss is {most}, but a process had {peak} before the end")
    kind, own = system["filesystem"]["type"], "--own-dir" in " ".join(doc["asked"]["argv"])
    in_memory = any(one.in_memory for one in found) and kind not in IN_MEMORY and not own
    yield (in_memory, f"the file system is said to be {kind}, but the files are in memory")


def _lines(folder: Path) -> Iterator[tuple[int, str, str, str, str]]:
    """Process, kind, number of opens, name, value."""
    for path in folder.glob(HINTS):
        for line in path.read_text(errors="replace").rstrip("\n").split("\n"):
            kind, count, key, value = line.split("\t", 3)
            yield int(path.name.split("-")[1]), kind, count, key, value


def _machine(doc: Json, folder: Path) -> Iterator[Check]:
    """Processes ran on the hosts of the result, with its libraries, as these say themselves."""
    lines = list(_lines(folder))
    for _, kind, _, key, value in lines:
        known = doc["libraries"].get(key) if kind == "library" else None
        yield (
            known and f" {known} " not in f" {value.replace(',', ' ')} ",
            f"libraries.{key} is {known}, but the library says {value}",
        )
    hosts = {process: value for process, kind, _, _, value in lines if kind == "host"}
    if hosts:
        yield from _hosts(doc["system"], hosts)
        yield from _slow_hosts(doc, hosts)


def _hosts(system: Json, hosts: dict[int, str]) -> Iterator[Check]:
    names = Counter(hosts.values())
    other = {*names} != {*system["hosts"]} or len(system["hosts"]) != system["nodes"]
    listed = f"{system['hosts']}, system.nodes is {system['nodes']}"
    yield (other, f"system.hosts is {listed}, but processes ran on {sorted(names)}")
    each, found = system["processes_per_node"], max(names.values())
    whole = len(hosts) == system["processes"] and len(names) == system["nodes"]
    yield (
        whole and found != each,
        f"system.processes_per_node is {each}, but {found} ran on a host",
    )


def _slow_hosts(doc: Json, hosts: dict[int, str]) -> Iterator[Check]:
    sides = (
        (direction, sample[direction]) for sample in doc["samples"] for direction, _ in DIRECTIONS
    )
    for direction, side in () if doc["system"].get("io_processes") else sides:
        slow = ((side or {}).get("latency") or {}).get("slowest") or {"process": -1, "host": ""}
        right, host = hosts.get(slow["process"], ""), slow["host"]
        one = f"{direction}: the slowest process {slow['process']}"
        yield (right and not right.startswith(host), f"{one} ran on {right}, not on {host}")


PARTS = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "max": 1.0}  # of the calls


def _durations(doc: Json, folder: Path, layer: str) -> Iterator[Check]:
    """All calls together take no longer than their percentiles say."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    rows = (line.split() for path in folder.glob(DURATIONS) for line in path.open())
    for module, direction, least, calls in rows:
        found[module + direction].append((int(least), int(calls)))
    for number, direction in enumerate(("read", "write")):
        mine = found[f"{layer}{number}"]
        took = sum(1e-9 * least * calls for least, calls in mine)
        sides = [sample[direction] for sample in doc["samples"] if sample[direction]]
        most = sum(map(_most, filter(None, (side.get("latency") for side in sides))))
        slack = READING / 10 * sum(calls for _, calls in mine)
        text = f"calls took {took:.6g} s, by their percentiles {most:.6g} s at most"
        yield (most and took > most * (1 + RATE) + slack, f"{direction}: {text}")


def _most(latency: Json) -> float:
    ends = [0, *(math.floor(part * latency["calls"]) for part in PARTS.values())]
    parts = zip(PARTS, ends, ends[1:], strict=False)
    return float(sum((b - a) * latency[name] for name, a, b in parts))


Opens = Counter[tuple[str, str, str]]  # by kind, name and value: the most of any process


def _hints(doc: Json, folder: Path) -> Iterator[Check]:
    """Those listed as used are in force; those asked for were given to each file."""
    opens: Opens = Counter()
    for _, kind, count, key, value in _lines(folder):
        opens[kind, key, value] = max(opens[kind, key, value], int(count))
    yield from _used(doc, opens)
    given = doc["asked"].get("hints") or {}
    for hint in {*given} - {*(doc["asked"].get("hints_environment") or {})}:
        only, _, key = hint.rpartition(":")
        for direction, _ in DIRECTIONS:
            if only in ("", direction) and not key.startswith("hdf5_"):
                yield _given(doc, hint, direction, opens)


def _used(doc: Json, opens: Opens) -> Iterator[Check]:
    asked, used = doc["asked"], doc["used"]
    for key, value in used["hints"].items():
        seen = any(opens[f"used-{direction}", key, value] for direction, _ in DIRECTIONS)
        yield (
            not seen and not key.startswith(LIBRARIES),
            f"hint {key}={value} is listed as used, but MPI did not list it for any file",
        )
    native = asked["mode"] == "external32" and not opens["view", "representation", asked["mode"]]
    yield (native, "mode external32: expected file views in this representation, found none")
    for hint in used["hints_ignored"]:
        there = opens["used-write", hint.rpartition(":")[2], asked["hints"].get(hint)]
        yield (there, f"hint {hint} is listed as ignored, but MPI lists it as in force")


def _given(doc: Json, hint: str, direction: str, opens: Opens) -> Check:
    asked, key = doc["asked"], hint.rpartition(":")[2]
    values = [v for other, v in asked["hints"].items() if other.rpartition(":")[2] == key]
    files = asked["steps"] * sum(1 for sample in doc["samples"] if sample[direction])
    least = min(files, 1) if doc["system"].get("io_processes") else files
    given = sum(opens[f"given-{direction}", key, value] for value in values)
    calls = f"expected in at least {least} calls of MPI_File_open, found in {given}"
    return given < least, f"hint {hint}={asked['hints'][hint]}, {direction}: {calls}"
