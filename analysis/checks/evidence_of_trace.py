# SPDX-License-Identifier: BSD-3-Clause
"""A result document checked against the run's trace: times, fsync, who read what and where,
the ceilings, and direct writing. Pure; times are compared as in evidence.py."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..darshan.log import FileTrace, Log, Segments
from ..ledger.ledger import is_ceiling, is_direct, own_files, stored_bytes
from ..replay.extents import union
from .arithmetic import MIB, Json, clients
from .calls_in_trace import against_the_calls
from .evidence import LARGE, SECONDS, SIDES, WITHIN, Outside, ceiling_bytes, fits, spans
from .result_file import Check, failures, first

# MPI-IO calls whose time continues after they return.
LASTING = ("NB_READS", "NB_WRITES", "SPLIT_READS", "SPLIT_WRITES")

# Bytes of a call that measures a ceiling (kernels/driver/ceilings.c).
CEILING_CALL = 8 * 2**20


def against_the_trace(
    doc: Json, log: Log, outside: Outside | None = None, *, ours: bool = True
) -> Iterator[str]:
    """`ours`: the program is iokernel, whose behaviour is known: it reads another process's data,
    says when it flushes, and its ceilings are in its own trace."""
    own = own_files(doc)
    files = [file for file in log.files if own(file.path)]
    yield from failures(_trace_times(doc, log, outside))
    yield from failures(_slowest(doc, files))
    if ours:
        yield from failures(_opened(doc, _of_module(files, "MPI-IO")))
        if doc["verification"]["verdict"] != "nothing moved":
            yield from failures(_moved(doc, log, files, own))
            yield from against_the_calls(doc, files)
        posix = _of_module(log.files, "POSIX")
        yield from failures(_direct(doc, [file for file in posix if is_direct(file.path)]))
        yield from failures(_ceilings(doc, [file for file in posix if is_ceiling(file.path)]))


def _of_module(files: Iterable[FileTrace], module: str) -> list[FileTrace]:
    return [file for file in files if file.module == module]


def _moved(
    doc: Json, log: Log, files: list[FileTrace], own: Callable[[str], bool]
) -> Iterator[Check]:
    mine, above = _of_module(files, "POSIX"), _of_module(files, "MPI-IO")
    syncs = Counter({file.path: file.count("SYNCS") for file in above})
    yield from _unflushed(doc, "the run", mine, _repeats(doc, "write"), syncs)
    if _repeats(doc, "read") and _repeats(doc, "write"):
        yield from _reach(doc, log, mine)
    if clients(doc) > 1 and _repeats(doc, "read"):
        yield from first(_shifted(log, own))


def _trace_times(doc: Json, log: Log, outside: Outside | None) -> Iterator[Check]:
    """A trace of another run or day; phases outside it."""
    found, wanted = log.processes, doc["system"]["processes"]
    yield (
        found != wanted,
        f"the trace is of {found} processes, the result says {wanted}",
    )
    if outside and outside.clock_was_set:
        return
    another = outside and not outside.holds(log.start, log.start)
    yield (
        another,
        "the trace was not begun within the time of the job: it is another run's",
    )
    yield from first(
        (
            not log.by_runtime and not _within(log, entry),
            f"{place}: phase {entry['phase']} was not within the time of the trace",
        )
        for place, entry in spans(doc)
    )


def _within(log: Log, entry: Json) -> bool:
    begun = log.start - SECONDS <= entry["begin"] <= entry["end"] + SECONDS
    return begun and fits(entry["end"] - log.start, log.seconds)


def _slowest(doc: Json, files: list[FileTrace]) -> Iterator[Check]:
    if doc["system"].get("io_processes"):
        return  # they write while other processes compute
    writing, reading = (
        sum(sample[side]["seconds"] for sample in doc["samples"] if sample[side])
        for side, _ in SIDES
    )
    for module in ("POSIX", "MPI-IO"):
        through = _of_module(files, module)
        if not any(file.count(*LASTING) for file in through):
            # Writing may need reads first: sieving, headers.
            yield _quick(module, through, writing, "write")
            yield _quick(module, through, writing + reading, "read")


def _opened(doc: Json, files: list[FileTrace]) -> Iterator[Check]:
    """MPI-IO's opens and closes are in the phases too: both clocks are of the same process. (POSIX
    files are also opened between phases, to empty caches.)"""
    if doc["system"].get("io_processes") or any(file.count(*LASTING) for file in files):
        return
    times = [(side, s[side]) for s in doc["samples"] for side, _ in SIDES if s[side]]
    once = [file for file in files if not _opens_again(file, len(times))]
    opening = _most((w.rank, w.seconds - w.reading - w.writing) for f in once for w in f.ranks)
    spent = _most((work.rank, work.seconds) for file in files for work in file.ranks)
    room = sum(one["seconds"] for _, one in times)
    around = sum(
        phase["max"] for side, one in times for name, phase in one["phases"].items() if name != side
    )
    yield _too_long(opening, around, WITHIN / 20, "in opens and closes of MPI-IO")
    yield _too_long(spent, room, WITHIN, "in MPI-IO calls with opens and closes")


def _opens_again(file: FileTrace, times: int) -> bool:
    """A library opens again, or gives hints to a view, in the phase that moves data."""
    opens = file.count("INDEP_OPENS", "COLL_OPENS")
    return opens > len(file.ranks) * times or file.count("HINTS") > opens


def _most(spent: Iterable[tuple[int, float]]) -> float:
    """The total of the process that spent the most seconds."""
    found: dict[int, float] = defaultdict(float)
    for rank, seconds in spent:
        found[rank] += seconds
    return max(found.values(), default=0.0)


def _too_long(most: float, room: float, slack: float, what: str) -> Check:
    text = f"a process spent {most:.6g} s {what}, but the result says {room:.6g} s in all"
    return not fits(most, room, slack), text


def _longest(files: list[FileTrace], side: str) -> float:
    """A lower bound of the slowest process's seconds in one direction's calls."""
    if side == "write" and any(file.count("FDSYNCS") for file in files):
        # They count as writing; emptying caches may make them between phases.
        return max((file.values.get("F_MAX_WRITE_TIME", 0.0) for file in files), default=0.0)
    works = (work for file in files for work in file.ranks)
    return _most((work.rank, work.writing if side == "write" else work.reading) for work in works)


def _repeats(doc: Json, side: str) -> int:
    return sum(1 for sample in doc["samples"] if sample[side])


def _reach(doc: Json, log: Log, mine: list[FileTrace]) -> Iterator[Check]:
    """The bytes read are all of the data, not some of it repeatedly."""
    payload, size = stored_bytes(doc), doc.get("file_bytes")
    places = sum(file.count("MAX_BYTE_READ") + 1 for file in mine if file.count("BYTES_READ"))
    yield (
        places < payload,
        f"only {places} bytes of the files can have been read, the payload is {payload}",
    )
    headers = math.inf if size is None else max(0, size - payload)
    yield from first(_read_to_its_end(file, headers) for file in mine)
    paths = {file.path for file in mine}
    covered: dict[str, list[Any]] = defaultdict(list)
    for one in (one for one in log.segments if one.module == "POSIX" and one.path in paths):
        covered[one.path] += one.reads
    found = sum(int((end - begin).sum()) for begin, end in map(_union, covered.values()))
    single = any(one.reads or one.writes for one in log.segments)
    yield (
        single and found < payload,
        f"the accesses of the trace read {found} different bytes, the payload is {payload}",
    )


def _read_to_its_end(file: FileTrace, headers: float) -> Check:
    read, written = file.count("MAX_BYTE_READ"), file.count("MAX_BYTE_WRITTEN")
    moved = file.count("BYTES_WRITTEN", "BYTES_READ")
    text = f"{_name(file)} was read only up to byte {read}, and written up to {written}"
    return moved and read < written - headers, text


def _union(accesses: list[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The begin and end of what they cover."""
    places = np.array([one[:2] for one in accesses], dtype=np.int64).reshape(-1, 2)
    return union(places[:, 0], places.sum(axis=1))


def _shifted(log: Log, own: Callable[[str], bool]) -> Iterator[Check]:
    """Each process reads what another wrote: visible if each file has one writer, or with single
    accesses if processes share a file that no library writes for them."""
    layers: dict[str, FileTrace] = {}
    for module in ("POSIX", "MPI-IO"):  # the program's own calls, if there are any
        layers |= {f.path: f for f in _of_module(log.files, module) if own(f.path) and f.ranks}
    written = [file for file in layers.values() if file.count("BYTES_WRITTEN")]
    writers = [{work.rank for work in file.ranks if work.written} for file in written]
    if all(len(ranks) == 1 for ranks in writers) and len(set().union(*writers)) > 1:
        yield from map(_by_its_writer, written, writers)
    above = {file.path for file in log.files if file.module != "POSIX"}
    of: dict[str, list[Segments]] = defaultdict(list)
    for one in log.segments:
        if one.module == "POSIX" and own(one.path) and one.path not in above:
            of[one.path].append(one)
    yield from (_own_parts(path, some) for path, some in of.items())


def _by_its_writer(file: FileTrace, writers: set[int]) -> Check:
    by_itself = sum(work.read for work in file.ranks if work.rank in writers)
    wrong = by_itself and 2 * by_itself >= file.count("BYTES_READ")
    return wrong, f"{_name(file)} was read back by the process that wrote it"


def _own_parts(path: str, some: list[Segments]) -> Check:
    """`some`: of a file, by process."""
    shared = sum(1 for one in some if one.writes) > 1
    again = sum(_common(one.writes, one.reads) for one in some) if shared else 0
    wrong = again and 2 * again >= sum(size for one in some for _, size, *_ in one.reads)
    return wrong, f"processes read back their own parts of {path.rpartition('/')[2]}"


def _common(writes: list[Any], reads: list[Any]) -> int:
    """Bytes read that had been written, counted each time."""
    mine = list(zip(*_union(writes), strict=True))
    return sum(
        max(0, min(end, at + size) - max(begin, at))
        for at, size, *_ in reads
        for begin, end in mine
    )


def _direct(doc: Json, files: list[FileTrace]) -> Iterator[Check]:
    """Direct writing, also measured by a method with servers, is checked like any run."""
    samples = [sample for sample in doc["samples"] if sample.get("direct")]
    if not samples:
        return
    wanted = doc["payload"]["bytes"] * len(samples)
    for _, word in SIDES[: 2 if _repeats(doc, "read") else 1]:
        found = sum(file.count(f"BYTES_{word}") for file in files)
        yield (
            found < wanted,
            f"direct: of {wanted} bytes the trace has {found} {word.lower()}",
        )
    yield _quick("direct", files, sum(s["direct"]["seconds"] for s in samples), "write")
    by_library = (doc["asked"].get("method_options") or {}).get("inner") != "posix"
    syncs = Counter[str]() if by_library else None
    yield from _unflushed(doc, "direct", files, len(samples), syncs)


def _ceilings(doc: Json, files: list[FileTrace]) -> Iterator[Check]:
    """Check both kinds in both directions: bytes as stated, no faster than their calls."""
    measured = [sample["ceilings"] for sample in doc["samples"] if sample["ceilings"]]
    small = _of_ceiling(files, "small")
    for side, _ in SIDES:  # accesses a second
        rates = [one["small"][side] for one in measured if one.get("small")]
        calls = sum(file.count(f"{side.upper()}S") for file in small)
        if rates and all(rates):
            yield _quick("ceilings (small)", small, calls / min(rates), side)
    for kind in LARGE:
        of_kind = _of_ceiling(files, kind)
        yield from first(_large(doc, kind, of_kind, measured))
        steps = sum(one[kind].get("passes", 1) for one in measured)
        repeats = steps // doc["asked"]["steps"]  # of each file
        if measured:
            yield from _unflushed(doc, f"ceilings ({kind})", of_kind, repeats)


def _of_ceiling(files: list[FileTrace], kind: str) -> list[FileTrace]:
    return [file for file in files if f"-{kind}" in _name(file)]


def _large(doc: Json, kind: str, files: list[FileTrace], measured: list[Json]) -> Iterator[Check]:
    amount = ceiling_bytes(doc)
    transfers = -(-doc["memory"]["data"] // CEILING_CALL) * clients(doc)
    for side, word in SIDES:
        known = [one[kind] for one in measured if one[kind][side]]
        passes = sum(one.get("passes", 1) for one in known)
        wanted, most = amount * passes, 2 * transfers * passes  # a call may move less than asked
        found, calls = (
            sum(file.count(name) for file in files)
            for name in (f"BYTES_{word}", f"{side.upper()}S")
        )
        yield (
            found < wanted,
            f"ceilings: of {wanted} bytes to {side} ({kind}) the trace has {found}",
        )
        yield (
            known and calls > most,
            f"ceilings ({kind}): expected at most {most} calls to {side}, found {calls}",
        )
        seconds = sum(one.get("passes", 1) * amount / one[side] / MIB for one in known)
        if known:
            yield _quick(f"ceilings ({kind})", files, seconds, side)


def _quick(what: str, files: list[FileTrace], seconds: float, side: str) -> Check:
    wrong, text = _too_long(_longest(files, side), seconds, WITHIN, "in calls")
    return wrong, f"{what}: to {side}, {text}"


def _unflushed(
    doc: Json,
    what: str,
    files: list[FileTrace],
    repeats: int,
    syncs: Counter[str] | None = None,
) -> Iterator[Check]:
    """Each written file must be flushed in each repeat; emptying caches uses fdatasync. What the
    run is compared with (without `syncs`: of MPI-IO) must not be flushed more often."""
    sides = [sample["write"] for sample in doc["samples"] if sample["write"]]
    claimed = doc["asked"]["fsync"] and all("flush" in side["phases"] for side in sides)
    most = repeats * clients(doc) if doc["asked"]["fsync"] else 0
    counts = [(f, max(f.count("FSYNCS"), (syncs or Counter())[f.path])) for f in files]
    often = [(file, calls) for file, calls in counts if syncs is None and calls > most]
    for file, calls in often[:1]:
        yield (
            True,
            f"{what}: expected {most} fsyncs of {_name(file)} at most, found {calls}",
        )
    few = [(file, n) for file, n in counts if file.count("BYTES_WRITTEN") and n < repeats]
    for file, calls in few[: 1 if claimed and not often else 0]:
        found = f"the trace has {calls} of {_name(file)}"
        yield (
            True,
            f"{what}: fsync is claimed for {repeats} repeats, but {found}",
        )


def _name(file: FileTrace) -> str:
    return file.path.rpartition("/")[2]
