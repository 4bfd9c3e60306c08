# SPDX-License-Identifier: BSD-3-Clause
"""Were the data moved by the method and mode of the result? Pure; counters are Darshan's."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..darshan.log import FileTrace
from .arithmetic import RATE, READING, Json, clients
from .result_file import Check, failures, first

KINDS = {
    "COLL": "collective",
    "INDEP": "independent",
    "NB": "nonblocking",
    "SPLIT": "split collective",
}
DIRECTIONS = (("write", "WRITES"), ("read", "READS"))
OWN_CALLS = ("posix", "posix-shared", "mpiio")  # the calls counted are the trace's
TRANSFER, PART = "transfer", "part"  # a call for all arrays of it, or for each
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

# For each method and mode; or for a method before others, and the one behind it.
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
    # HDF5 reads filtered chunks independently, and writes them otherwise.
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


def name(doc: Json) -> str:
    """The call's name in `CALLS`."""
    asked = doc["asked"]
    second = asked.get("mode") or (asked.get("method_options") or {}).get("inner")
    return f"{asked['method']}:{second}" if second else str(asked["method"])


def against_the_calls(doc: Json, files: list[FileTrace]) -> Iterator[str]:
    """`files`: of the trace, the run's own. Nothing for a run without a method (a replay)."""
    shows = CALLS.get(name(doc))
    if shows:
        above, posix = ([f for f in files if f.module == module] for module in ("MPI-IO", "POSIX"))
        if doc["asked"]["method"] in OWN_CALLS:
            for direction, word in DIRECTIONS:
                yield from failures(_counted(doc, direction, word, above or posix))
        for what, check in _by_the_method(doc, shows, above, posix):
            yield from (f"method {name(doc)}{what}: {text}" for text in failures(check))


def _by_the_method(
    doc: Json, shows: Shows, above: list[FileTrace], posix: list[FileTrace]
) -> Iterator[tuple[str, Iterable[Check]]]:
    """Each with what it is about."""
    for direction, word in DIRECTIONS:
        repeats = sum(1 for sample in doc["samples"] if sample[direction])
        if repeats and (shows.reads or direction == "write"):
            counts = {kind: sum(f.count(f"{kind}_{word}") for f in above) for kind in KINDS}
            yield f", {direction}", _kinds(doc, shows, counts, repeats)
    if doc["asked"]["method"] in OWN_CALLS:  # libraries may open again
        yield "", [_opens(doc, above)]
    viewed = any(file.count("VIEWS") for file in above)
    text = "expected the shared file pointer, found file views"
    yield "", [(not shows.views and viewed, text)]
    if any(sample["write"] for sample in doc["samples"]):
        yield "", _writers(doc, shows, above if shows.kind else posix)


def _opens(doc: Json, above: list[FileTrace]) -> Check:
    each = doc["asked"]["steps"] * clients(doc)
    wanted = each * sum(1 for s in doc["samples"] for side, _ in DIRECTIONS if s[side])
    opens = sum(file.count("COLL_OPENS", "INDEP_OPENS") for file in above)
    return opens > wanted, f"expected {wanted} opens of its files, found {opens}"


def _counted(doc: Json, direction: str, word: str, files: list[FileTrace]) -> Iterator[Check]:
    """The number of calls, and the slowest."""
    sides = [sample[direction] for sample in doc["samples"] if sample[direction]]
    wanted = sum(side["library_calls"] for side in sides) * clients(doc)
    made = sum(file.count(word, *(f"{kind}_{word}" for kind in KINDS)) for file in files)
    yield (
        sides and made > wanted,
        f"{direction}: the trace has {made} calls, the result says at most {wanted}",
    )
    slowest = max((f.values.get(f"F_MAX_{word[:-1]}_TIME", 0.0) for f in files), default=0.0)
    most = max(((side.get("latency") or {}).get("max", slowest) for side in sides), default=slowest)
    text = f"a call took {slowest:.6g} s, but the result says {most:.6g} s at most"
    yield slowest > most * (1 + RATE) + READING, f"{direction}: {text}"


def _kinds(doc: Json, shows: Shows, counts: dict[str, int], repeats: int) -> Iterator[Check]:
    if not shows.kind:
        found = sum(counts.values())
        yield found, f"expected no MPI-IO calls, found {found}"
        return
    payload, found, kind = doc["payload"], counts[shows.kind], KINDS[shows.kind]
    large = sum(1 for one in payload["datasets"] if not one.get("small"))
    files = repeats * doc["asked"]["steps"] * clients(doc)  # each process opens each
    least = _least(payload, shows, large, files)
    yield (found < least, f"expected at least {least} {kind} MPI-IO calls, found {found}")
    # A library splits calls of more than 2 GiB.
    small_enough = doc["memory"]["data"] < 2**31
    together = (doc["asked"].get("hints") or {}).get(COLL_METADATA) == "true"
    fewer = shows.merged and small_enough and not together and payload["calls"] < large
    yield (
        fewer and found >= large * files,
        f"expected a {kind} MPI-IO call for several arrays, found {found} calls",
    )
    allowed = {shows.kind, *shows.others, *(["COLL"] if together else [])}
    for other, count in counts.items():
        yield (
            count and other not in allowed,
            f"expected {kind} MPI-IO calls only, found {count} {KINDS[other]}",
        )


def _least(payload: Json, shows: Shows, large: int, files: int) -> int:
    """Calls. Small arrays may share a transfer; documents before 0.3 do not say which they are."""
    small = len(payload["datasets"]) - large
    transfers = max(payload["calls"] - max(small, 1), min(large, 1))
    units = {TRANSFER: transfers * files, PART: max(transfers, large) * files}
    return int(units.get(shows.unit, min(large, 1)))


def _writers(doc: Json, shows: Shows, layer: list[FileTrace]) -> Iterator[Check]:
    written = [file for file in layer if file.count("BYTES_WRITTEN")]
    if any(not file.ranks for file in written):
        return  # Darshan's runtime reduced them
    writers = [{work.rank for work in file.ranks if work.written} for file in written]
    found = len(set().union(*writers))
    most = doc["memory"]["data"] * doc["asked"]["steps"]
    least = -(-doc["payload"]["bytes"] // most) if most and found else 0
    if doc["asked"]["method"] not in OWN_CALLS:  # a library may hand them to others
        least = min(least, 2)
    yield (
        "several" in shows.writers and found < least,
        f"expected data written by each process, by {least} at least, found {found}",
    )
    of_files = (
        (len(some) > 1, f"{file.path.rpartition('/')[2]}, found {len(some)}")
        for file, some in zip(written, writers, strict=True)
    )
    for wrong, text in first(of_files):
        yield "one" in shows.writers and wrong, f"expected one process to write {text}"
