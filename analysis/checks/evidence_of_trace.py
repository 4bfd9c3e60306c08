# SPDX-License-Identifier: BSD-3-Clause
"""A result document checked against the run's trace: times, fsync, what was read where and by whom,
the ceilings, and direct writing. Pure; times are compared as in evidence.py."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..darshan.log import FileTrace, Log
from ..ledger.ledger import is_ceiling, is_direct, own_files, stored_bytes
from ..replay.extents import union
from .arithmetic import MIB, Json, clients
from .calls_in_trace import against_the_calls
from .evidence import LARGE, SECONDS, SIDES, SKEW, WITHIN, Outside, ceiling_bytes, fits, spans

# MPI-IO calls whose time continues after they return.
LASTING = ("NB_READS", "NB_WRITES", "SPLIT_READS", "SPLIT_WRITES")

# Bytes of a call that measures a ceiling (kernels/driver/ceilings.c).
CEILING_CALL = 8 * 2**20


def against_the_trace(
    document: Json, log: Log, outside: Outside | None = None, *, ours: bool = True
) -> Iterator[str]:
    """`ours`: the program is iokernel, whose behaviour is known: it reads another process's data,
    says when it flushes, and its ceilings are in its own trace."""
    own = own_files(document)
    posix = [file for file in log.files if file.module == "POSIX"]
    files = [file for file in log.files if own(file.path)]
    mine = [file for file in files if file.module == "POSIX"]
    above = [file for file in files if file.module == "MPI-IO"]
    moves = document["verification"]["verdict"] != "nothing moved"
    if log.processes != document["system"]["processes"]:
        said = document["system"]["processes"]
        yield f"the trace is of {log.processes} processes, the result says {said}"
    yield from _trace_times(document, log, outside)
    yield from _slowest(document, files)
    if not ours:
        return
    yield from _opened(document, above)
    if moves:
        syncs = Counter({file.path: file.count("SYNCS") for file in above})
        yield from _unflushed(document, "the run", mine, _repeats(document, "write"), syncs)
        yield from _reach(document, log, mine)
        yield from _shifted(document, log, own)
        yield from against_the_calls(document, files)
    yield from _direct(document, [file for file in posix if is_direct(file.path)])
    yield from _ceilings(document, [file for file in posix if is_ceiling(file.path)])


def _trace_times(document: Json, log: Log, outside: Outside | None) -> Iterator[str]:
    """A trace of another day; phases outside it."""
    if outside and not outside.clock_was_set:
        slack = SECONDS if outside.local else SKEW
        if not outside.begin - slack <= log.start <= outside.end + slack:
            yield "the trace was not begun within the time of the job: it is another run's"
    if log.by_runtime or (outside and outside.clock_was_set):
        return
    for place, entry in spans(document):
        if not log.start - SECONDS <= entry["begin"] <= entry["end"] + SECONDS or not fits(
            entry["end"] - log.start, log.seconds
        ):
            yield f"{place}: phase {entry['phase']} was not within the time of the trace"
            return


def _slowest(document: Json, files: list[FileTrace]) -> Iterator[str]:
    """No process can be in calls for longer than the phases took."""
    if document["system"].get("io_processes"):
        return  # they write while other processes compute
    took = {
        side: sum(sample[side]["seconds"] for sample in document["samples"] if sample[side])
        for side, _ in SIDES
    }
    for module in ("POSIX", "MPI-IO"):
        through = [file for file in files if file.module == module]
        if any(file.count(*LASTING) for file in through):
            continue
        # Writing may need reads first: sieving, headers.
        for verb, room in (("write", took["write"]), ("read", sum(took.values()))):
            yield from _quick(module, through, room, verb)


def _opened(document: Json, files: list[FileTrace]) -> Iterator[str]:
    """MPI-IO's opens and closes are in the phases too: both clocks are of the same process. (POSIX
    files are also opened between phases, to empty caches.)"""
    if document["system"].get("io_processes") or any(file.count(*LASTING) for file in files):
        return
    times = [(side, s[side]) for s in document["samples"] for side, _ in SIDES if s[side]]
    opening: dict[int, float] = defaultdict(float)
    spent: dict[int, float] = defaultdict(float)
    for file in files:
        opens = file.count("INDEP_OPENS", "COLL_OPENS")
        # A library opens again, or gives hints to a view, in the phase that moves data.
        again = opens > len(file.ranks) * len(times) or file.count("HINTS") > opens
        for work in file.ranks:
            spent[work.rank] += work.seconds
            opening[work.rank] += 0 if again else work.seconds - work.reading - work.writing
    room = sum(one["seconds"] for _, one in times)
    around = sum(
        phase["max"] for side, one in times for name, phase in one["phases"].items() if name != side
    )
    yield from _too_long(opening, around, WITHIN / 20, "in opens and closes of MPI-IO")
    yield from _too_long(spent, room, WITHIN, "in MPI-IO calls with opens and closes")


def _too_long(spent: dict[int, float], room: float, slack: float, what: str) -> Iterator[str]:
    if not fits(most := max(spent.values(), default=0.0), room, slack):
        yield f"a process spent {most:.6g} s {what}, but the result says {room:.6g} s in all"


def _longest(files: list[FileTrace], side: str) -> float:
    """A lower bound of the slowest process's seconds in one direction's calls."""
    if side == "write" and any(file.count("FDSYNCS") for file in files):
        # They count as writing time, and may come from emptying caches, between phases.
        return max((file.values.get("F_MAX_WRITE_TIME", 0.0) for file in files), default=0.0)
    spent: dict[int, float] = defaultdict(float)
    for file in files:
        for work in file.ranks:
            spent[work.rank] += work.writing if side == "write" else work.reading
    return max(spent.values(), default=0.0)


def _repeats(document: Json, side: str) -> int:
    return sum(1 for sample in document["samples"] if sample[side])


def _reach(document: Json, log: Log, mine: list[FileTrace]) -> Iterator[str]:
    """The bytes read are all of the data, not some of it repeatedly."""
    if not _repeats(document, "read") or not _repeats(document, "write"):
        return
    payload = stored_bytes(document)
    places = sum(file.count("MAX_BYTE_READ") + 1 for file in mine if file.count("BYTES_READ"))
    if places < payload:
        yield f"only {places} bytes of the files can have been read, the payload is {payload}"
    size = document.get("file_bytes")
    headers = max(0, size - payload) if size is not None else None
    for file in mine if headers is not None else ():
        read, written = file.count("MAX_BYTE_READ"), file.count("MAX_BYTE_WRITTEN")
        if file.count("BYTES_WRITTEN", "BYTES_READ") and read < written - (headers or 0):
            yield f"{_name(file)} was read only up to byte {read}, and written up to {written}"
            return
    covered: dict[str, list[Any]] = defaultdict(list)
    paths = {file.path for file in mine}
    for one in log.segments:
        if one.module == "POSIX" and one.path in paths:
            covered[one.path] += one.reads
    found = sum(int((end - begin).sum()) for begin, end in map(_union, covered.values()))
    if any(one.reads or one.writes for one in log.segments) and found < payload:
        yield f"the accesses of the trace read {found} different bytes, the payload is {payload}"


def _union(accesses: list[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The begin and end of what they cover."""
    places = np.array([one[:2] for one in accesses], dtype=np.int64).reshape(-1, 2)
    return union(places[:, 0], places.sum(axis=1))


def _shifted(document: Json, log: Log, own: Callable[[str], bool]) -> Iterator[str]:
    """Each process reads what another wrote: visible if each file has one writer, or with single
    accesses if processes share a file that no library writes for them."""
    if clients(document) < 2 or not _repeats(document, "read"):
        return
    layers: dict[str, FileTrace] = {}
    for module in ("POSIX", "MPI-IO"):  # the program's own calls, if there are any
        layers |= {f.path: f for f in log.files if f.module == module and own(f.path) and f.ranks}
    written = {path: file for path, file in layers.items() if file.count("BYTES_WRITTEN")}
    writers = {
        path: {work.rank for work in file.ranks if work.written} for path, file in written.items()
    }
    of_one_each = all(len(ranks) == 1 for ranks in writers.values())
    if of_one_each and len(set().union(*writers.values())) > 1:
        for path, file in written.items():
            by_itself = sum(work.read for work in file.ranks if work.rank in writers[path])
            if by_itself and 2 * by_itself >= file.count("BYTES_READ"):
                yield f"{_name(file)} was read back by the process that wrote it"
                return
    above = {file.path for file in log.files if file.module != "POSIX"}
    for path in {one.path for one in log.segments if one.module == "POSIX" and own(one.path)}:
        both = [one for one in log.segments if one.module == "POSIX" and one.path == path]
        if path in above or sum(1 for one in both if one.writes) < 2:
            continue
        again = sum(_common(one.writes, one.reads) for one in both)
        if again and 2 * again >= sum(size for one in both for _, size, *_ in one.reads):
            yield f"processes read back their own parts of {path.rpartition('/')[2]}"
            return


def _common(writes: list[Any], reads: list[Any]) -> int:
    """Bytes read that had been written, counted each time."""
    mine = list(zip(*_union(writes), strict=True))
    return sum(
        max(0, min(end, at + size) - max(begin, at))
        for at, size, *_ in reads
        for begin, end in mine
    )


def _direct(document: Json, files: list[FileTrace]) -> Iterator[str]:
    """Direct writing, which a method with servers also measures, is checked like any run."""
    samples = [sample for sample in document["samples"] if sample.get("direct")]
    if not samples:
        return
    wanted = document["payload"]["bytes"] * len(samples)
    for _, word in SIDES[: 2 if _repeats(document, "read") else 1]:
        found = sum(file.count(f"BYTES_{word}") for file in files)
        if found < wanted:
            yield f"direct: of {wanted} bytes the trace has {found} {word.lower()}"
    yield from _quick("direct", files, sum(s["direct"]["seconds"] for s in samples), "write")
    by_library = (document["asked"].get("method_options") or {}).get("inner") != "posix"
    yield from _unflushed(
        document, "direct", files, len(samples), Counter() if by_library else None
    )


def _ceilings(document: Json, files: list[FileTrace]) -> Iterator[str]:
    """Check both kinds in both directions: bytes as stated, no faster than their calls."""
    measured = [sample["ceilings"] for sample in document["samples"] if sample["ceilings"]]
    amount = ceiling_bytes(document)
    small = [file for file in files if "-small" in file.path.rpartition("/")[2]]
    for side, _ in SIDES:  # accesses a second
        rates = [one["small"][side] for one in measured if one.get("small")]
        calls = sum(file.count(f"{side.upper()}S") for file in small)
        if rates and all(rates):
            yield from _quick("ceilings (small)", small, calls / min(rates), side)
    for kind in LARGE:
        of_kind = [file for file in files if f"-{kind}" in file.path.rpartition("/")[2]]
        for side, word in SIDES:
            known = [one[kind] for one in measured if one[kind][side]]
            passes = sum(one.get("passes", 1) for one in known)
            wanted = amount * passes
            found = sum(file.count(f"BYTES_{word}") for file in of_kind)
            if found < wanted:
                yield f"ceilings: of {wanted} bytes to {side} ({kind}) the trace has {found}"
                return
            seconds = sum(one.get("passes", 1) * amount / one[side] / MIB for one in known)
            transfers = -(-document["memory"]["data"] // CEILING_CALL) * clients(document)
            most = 2 * transfers * passes  # a call may move less than it was asked for
            calls = sum(file.count(f"{side.upper()}S") for file in of_kind)
            if known and calls > most:
                yield f"ceilings ({kind}): expected at most {most} calls to {side}, found {calls}"
                return
            if known:
                yield from _quick(f"ceilings ({kind})", of_kind, seconds, side)
        if measured:
            steps = sum(one[kind].get("passes", 1) for one in measured)
            repeats = steps // document["asked"]["steps"]  # of each file
            yield from _unflushed(document, f"ceilings ({kind})", of_kind, repeats)


def _quick(what: str, files: list[FileTrace], seconds: float, side: str) -> Iterator[str]:
    most = _longest(files, side)
    if not fits(most, seconds, WITHIN):
        spent = f"{what}: to {side}, a process spent {most:.6g} s in calls"
        yield f"{spent}, but the result says {seconds:.6g} s in all"


def _unflushed(
    document: Json,
    what: str,
    files: list[FileTrace],
    repeats: int,
    syncs: Counter[str] | None = None,
) -> Iterator[str]:
    """Each written file must be flushed in each repeat; emptying caches uses fdatasync. What the
    run is compared with (without `syncs`: of MPI-IO) must not be flushed more often."""
    sides = [sample["write"] for sample in document["samples"] if sample["write"]]
    said = document["asked"]["fsync"] and all("flush" in side["phases"] for side in sides)
    most = repeats * clients(document) if document["asked"]["fsync"] else 0
    for file in files:
        calls = max(file.count("FSYNCS"), (syncs or Counter())[file.path])
        if syncs is None and calls > most:
            yield f"{what}: expected {most} fsyncs of {_name(file)} at most, found {calls}"
            return
        if said and file.count("BYTES_WRITTEN") and calls < repeats:
            found = f"the trace has {calls} of {_name(file)}"
            yield f"{what}: fsync is claimed for {repeats} repeats, but {found}"
            return


def _name(file: FileTrace) -> str:
    return file.path.rpartition("/")[2]
