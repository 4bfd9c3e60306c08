# SPDX-License-Identifier: BSD-3-Clause
"""Were the data moved by the method and mode of the result? Pure; counters are Darshan's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..darshan.log import FileTrace
from .arithmetic import RATE, READING, Json, clients

KINDS = {
    "COLL": "collective",
    "INDEP": "independent",
    "NB": "nonblocking",
    "SPLIT": "split collective",
}
DIRECTIONS = (("write", "WRITES"), ("read", "READS"))
OWN_CALLS = ("posix", "posix-shared", "mpiio")  # the calls counted are the trace's
TRANSFER, PART = "transfer", "part"  # a call for all arrays of a transfer, or for each array
COLL_METADATA = "hdf5_coll_metadata"  # the hint with which HDF5's metadata is collective


@dataclass(frozen=True)
class Shows:
    """What a trace must show for a call.

    `kind`: of the MPI-IO calls that move the data; empty: there must be no MPI-IO call. `unit`:
    each process makes at least one such call for a `TRANSFER`, or for each array of it (`PART`);
    empty: one in all. `merged`: and fewer than one for each array. `others`: kinds that may occur
    besides, for metadata. `reads`: the rule holds for reads too. `views`: file views may occur.
    `writers`: `several` processes if no process has all data, `one` for each file, or any number
    (empty).
    """

    kind: str = ""
    unit: str = ""
    others: tuple[str, ...] = ()
    merged: bool = False
    reads: bool = True
    views: bool = True
    writers: str = "several"


_AT_ONCE = Shows("COLL", TRANSFER, ("INDEP",))
_BY_ARRAY = Shows("COLL", PART, ("INDEP",))
_ALONE = Shows("INDEP")
_METADATA_TOGETHER = Shows("INDEP", others=("COLL",))

# One row for each method and mode; or for a method before others, and the one behind it.
CALLS: dict[str, Shows] = {
    "null": Shows(writers=""),
    "posix": Shows(writers="several, one for each file"),
    "posix-shared": Shows(),
    "master": Shows(writers="one"),
    "twophase": Shows(writers=""),
    "mpiio:collective": _AT_ONCE,
    "mpiio:external32": _AT_ONCE,
    "mpiio:ordered": Shows("COLL", TRANSFER, views=False),
    "mpiio:independent": _ALONE,
    "mpiio:nonblocking": Shows("NB", PART, ("INDEP",)),
    "hdf5:collective": _BY_ARRAY,
    "hdf5:collective-metadata": _BY_ARRAY,
    "hdf5:independent": _ALONE,
    "hdf5:chunked": _BY_ARRAY,
    # HDF5 reads filtered chunks independently, and writes them with other calls.
    "hdf5:filtered": Shows("COLL", others=("INDEP",), reads=False),
    "hdf5:multi": Shows("COLL", TRANSFER, ("INDEP",), merged=True),
    "pnetcdf:collective": _BY_ARRAY,
    "pnetcdf:independent": _ALONE,
    "pnetcdf:nonblocking": Shows("COLL", TRANSFER, ("INDEP",), merged=True),
    "netcdf4:collective": _BY_ARRAY,
    "netcdf4:independent": _METADATA_TOGETHER,
    # ADIOS2's engines choose their transport.
    "adios2:collective": Shows(writers=""),
    "adios2:independent": Shows(writers=""),
    "cgns:collective": _BY_ARRAY,
    "cgns:collective-metadata": _BY_ARRAY,
    "cgns:independent": _METADATA_TOGETHER,
    "cgns:multi": _AT_ONCE,
    "cgns:serial": Shows(),
    "ioserver:posix": Shows(writers=""),
    "ioserver:mpiio": Shows("INDEP", writers=""),
    "ioserver:hdf5": Shows("INDEP", writers=""),
    "ioserver:pnetcdf": Shows("INDEP", writers=""),
}


def name(document: Json) -> str:
    """The call's name in `CALLS`."""
    asked = document["asked"]
    second = asked.get("mode") or (asked.get("method_options") or {}).get("inner")
    return f"{asked['method']}:{second}" if second else str(asked["method"])


def against_the_calls(document: Json, files: list[FileTrace]) -> Iterator[str]:
    """`files`: of the trace, the run's own. Nothing for a run without a method (a replay)."""
    call = name(document)
    shows = CALLS.get(call)
    if not shows:
        return
    above, posix = ([f for f in files if f.module == module] for module in ("MPI-IO", "POSIX"))
    for direction, word in DIRECTIONS:
        repeats = sum(1 for sample in document["samples"] if sample[direction])
        if repeats and (shows.reads or direction == "write"):
            counts = {kind: sum(f.count(f"{kind}_{word}") for f in above) for kind in KINDS}
            for problem in _kinds(document, shows, counts, repeats):
                yield f"method {call}, {direction}: {problem}"
        if document["asked"]["method"] in OWN_CALLS:
            yield from _counted(document, direction, word, above or posix)
    if above and document["asked"]["method"] in OWN_CALLS:  # libraries may open again
        each = document["asked"]["steps"] * clients(document)
        wanted = each * sum(1 for s in document["samples"] for side, _ in DIRECTIONS if s[side])
        opens = sum(file.count("COLL_OPENS", "INDEP_OPENS") for file in above)
        if opens > wanted:
            yield f"method {call}: expected {wanted} opens of its files, found {opens}"
    if not shows.views and any(file.count("VIEWS") for file in above):
        yield f"method {call}: expected the shared file pointer, found file views"
    if any(sample["write"] for sample in document["samples"]):
        for problem in _writers(document, shows, above if shows.kind else posix):
            yield f"method {call}: {problem}"


def _counted(document: Json, direction: str, word: str, files: list[FileTrace]) -> Iterator[str]:
    """The number of calls, and the slowest."""
    sides = [sample[direction] for sample in document["samples"] if sample[direction]]
    said = sum(side["library_calls"] for side in sides) * clients(document)
    made = sum(file.count(word, *(f"{kind}_{word}" for kind in KINDS)) for file in files)
    if sides and made > said:
        yield f"{direction}: the trace has {made} calls, the result says at most {said}"
    slowest = max((f.values.get(f"F_MAX_{word[:-1]}_TIME", 0.0) for f in files), default=0.0)
    most = max(((side.get("latency") or {}).get("max", slowest) for side in sides), default=slowest)
    if slowest > most * (1 + RATE) + READING:
        yield f"{direction}: a call took {slowest:.6g} s, but the result says {most:.6g} s at most"


def _kinds(document: Json, shows: Shows, counts: dict[str, int], repeats: int) -> Iterator[str]:
    if not shows.kind:
        if sum(counts.values()):
            yield f"expected no MPI-IO calls, found {sum(counts.values())}"
        return
    payload, found = document["payload"], counts[shows.kind]
    small = sum(1 for one in payload["datasets"] if one.get("small"))
    files = repeats * document["asked"]["steps"] * clients(document)  # each process opens each
    large = len(payload["datasets"]) - small
    # Small arrays may share a transfer; documents before 0.3 do not say which they are.
    transfers = max(payload["calls"] - max(small, 1), min(large, 1))
    units = {TRANSFER: transfers, PART: max(transfers, large)}
    least = units[shows.unit] * files if shows.unit else min(large, 1)
    kind = KINDS[shows.kind]
    if found < least:
        yield f"expected at least {least} {kind} MPI-IO calls, found {found}"
    # A library splits calls of more than 2 GiB.
    small_enough = document["memory"]["data"] < 2**31
    together = (document["asked"].get("hints") or {}).get(COLL_METADATA) == "true"
    fewer = shows.merged and small_enough and not together and payload["calls"] < large
    if fewer and found >= large * files:
        yield f"expected a {kind} MPI-IO call for several arrays, found {found} calls"
    for other, count in counts.items():
        allowed = other in shows.others or (other == "COLL" and together)
        if count and other != shows.kind and not allowed:
            yield f"expected {kind} MPI-IO calls only, found {count} {KINDS[other]}"


def _writers(document: Json, shows: Shows, layer: list[FileTrace]) -> Iterator[str]:
    written = [file for file in layer if file.count("BYTES_WRITTEN")]
    if any(not file.ranks for file in written):
        return  # Darshan's runtime reduced them
    writers = [{work.rank for work in file.ranks if work.written} for file in written]
    every = set().union(*writers)
    most = document["memory"]["data"] * document["asked"]["steps"]
    least = -(-document["payload"]["bytes"] // most) if most and every else 0
    if document["asked"]["method"] not in OWN_CALLS:  # a library may hand them to others
        least = min(least, 2)
    if "several" in shows.writers and len(every) < least:
        yield f"expected data written by each process, by {least} at least, found {len(every)}"
    if "one" in shows.writers:
        for file, some in zip(written, writers, strict=True):
            if len(some) > 1:
                path = file.path.rpartition("/")[2]
                yield f"expected one process to write {path}, found {len(some)}"
                return
