# SPDX-License-Identifier: BSD-3-Clause
"""Reads a Darshan log in a separate process (reader.py): Darshan's library may crash or hang. One
JSON document on stdout; exit status 3 and one line on stderr if the log is unusable."""

import ctypes
import json
import math
import resource
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import EXIT_DATA, AnalysisError
from . import header as headers
from . import library as native
from .convert import short_names, write_log
from .header import DXT, MOST_SECONDS, BrokenLogError
from .raw import RawProcess, read_folder
from .reduce import Record, reduce
from .versions import KNOWN, RENAMING, absent

# In POSIX records before this version, from a machine with the other byte order, Darshan's library
# (3.5) leaves some times unswapped: those at the places of these counters
# (darshan-posix-logutils.c: the loop over times tests counters).
ALL_TURNED = 4
# Larger values are damage: bins of a heat map, stripes of a file, and any number with a fraction
# (the largest is a variance of bytes).
MOST_BINS = 10**5
MOST_STRIPES = 10**6
MOST = 1e60
COMMON = 4  # sizes of a data set's calls
# Limits of reading: CPU seconds, and bytes of memory per byte of the log or its traces.
SECONDS, BYTES_PER_SECOND = 60, 2**20
MEMORY, MEMORY_PER_BYTE = 2**31, 64


def read(
    log: Path, *, heat: bool = False, segments: bool = False, ids: bool = False
) -> dict[str, Any]:
    """The log's content as plain data (`Log` in log.py). `heat`: with the heat map; `segments`:
    with each access (DXT); `ids`: with the number of each file."""
    handle = _opened(log)
    job = _job(handle)
    exe = ctypes.create_string_buffer(2 * native.EXE_ROOM)
    if native.library().darshan_log_get_exe(handle, exe) < 0:
        raise BrokenLogError("damaged: its command line cannot be read")
    modules = native.modules(handle)
    header = headers.read_header(log)
    found: dict[str, Any] = {
        "processes": job.processes,
        "start": job.start_seconds + job.start_nanoseconds / 1e9,
        "seconds": (job.end_seconds - job.start_seconds)
        + (job.end_nanoseconds - job.start_nanoseconds) / 1e9,
        "command": exe.value.decode(errors="replace"),
        "metadata": _metadata(job.metadata),
        "partial": list(header.partial),
        "modules": {_name(module): module.version for module in modules},
        "notes": [],
        "files": [],
        "heat": {},
        "segments": [],
        "osts": {},
        "data_sets": [],
    }
    names = native.names(handle)
    if ids:
        found["ids"] = {str(identity): name for identity, name in names.items()}
    for module in modules:
        name = _name(module)
        if not _readable(name, module.version, found["notes"]):
            continue
        if name in native.COUNTED:
            turned = header.order != ("<" if sys.byteorder == "little" else ">")
            found["files"] += list(_files(handle, module, names, job.processes, turned))
        elif name == "LUSTRE":
            found["osts"] = dict(_osts(handle, module, names))
        elif name == "HEATMAP" and heat:
            found["heat"] = _heat(handle, module, names)
        elif name in DXT and segments:
            from . import dxt  # here: numpy is slow to load

            set_back = 0
            for block in dxt.blocks(header, name, module.version, job.processes):
                found["segments"].append(_segments(block, names))
                set_back += block.set_back
            found["notes"] += dxt.notes(set_back)
    return found


def _opened(log: Path) -> int:
    handle: int = native.library().darshan_log_open(str(log).encode())
    if handle:
        return handle
    if log.is_file() and headers.is_compressed(log):
        raise BrokenLogError(
            "compressed as a whole: a log of Darshan 2 (before 2015), or compressed by hand",
            "expected a log of any format since Darshan 3.0, as it was written",
        )
    raise BrokenLogError("not a Darshan log, or truncated")


def _job(handle: int) -> native.Job:
    job = native.Job()
    if native.library().darshan_log_get_job(handle, ctypes.byref(job)) < 0:
        raise BrokenLogError("damaged: its job record cannot be read")
    if not 0 < job.processes < 2**31:
        raise BrokenLogError(f"damaged: {job.processes} processes")
    for seconds in (job.start_seconds, job.end_seconds):
        if not 0 <= seconds < MOST_SECONDS:
            raise BrokenLogError(f"damaged: a job that began or ended {seconds} s after 1970")
    return job


def _name(module: native.ModuleInfo) -> str:
    return (module.name or b"").decode(errors="replace")


def _readable(name: str, version: int, notes: list[str]) -> bool:
    """Records of an unknown version make the library crash or hang. Without segments or a heat map
    the rest of the log is still usable; without counters it is not."""
    newest = KNOWN.get(name)
    if newest is None:
        notes.append(f"the log's {name} records are left out: this does not read them")
        return False
    if 0 < version <= newest:
        return True
    what = f"{name} has version {version}, this reads up to {newest}"
    if name in native.COUNTED:
        raise BrokenLogError(what, headers.UPDATE)
    notes.append(what)
    return False


def _metadata(text: bytes) -> dict[str, str]:
    lines = [line.partition("=") for line in text.decode(errors="replace").splitlines()]
    return {key: value for key, equals, value in lines if equals}


def _records(handle: int, module: native.ModuleInfo) -> Iterator[int]:
    """The address of each record of a module."""
    lib = native.library()
    while True:
        pointer = ctypes.c_void_p()
        result = lib.darshan_log_get_record(handle, module.index, ctypes.byref(pointer))
        if result == 0:
            return
        if result < 0 or not pointer.value:
            what = f"a record of {_name(module)} cannot be read {headers.OF_OPEN_MPI}"
            raise BrokenLogError(what)
        yield pointer.value
        lib.darshan_free(pointer)


def _files(
    handle: int, module: native.ModuleInfo, names: dict[int, str], processes: int, turned: bool
) -> Iterator[dict[str, Any]]:
    """`turned`: from a machine with the other byte order (Blue Gene)."""
    name = _name(module)
    prefix, skip = native.COUNTED[name]
    kind = native.counted_type(prefix, skip)
    columns = short_names(name)
    lacks = absent(name, module.version)
    by_file: dict[int, list[Record]] = {}
    unturned: list[int] = []
    if name == "POSIX" and module.version < ALL_TURNED and turned:
        unturned = [columns.index(counter) for counter in RENAMING]
    for address in _records(handle, module):
        entry: Any = kind.from_address(address)
        if not -1 <= entry.rank < processes or entry.id not in names:
            why = f"process {entry.rank} of {processes}, or a file without a name"
            raise BrokenLogError(f"damaged: a record of {name}: {why}")
        times = list(entry.times)
        for place in unturned:
            (times[place],) = struct.unpack("<d", struct.pack(">d", times[place]))
        wrong = next((number for number in times if not abs(number) < MOST), None)
        if wrong is not None:
            raise BrokenLogError(f"damaged: a time or sum of {wrong} in {name}")
        pairs = zip(columns, [*entry.counters, *times], strict=True)
        values = {column: value for column, value in pairs if column not in lacks}
        by_file.setdefault(entry.id, []).append(Record(entry.rank, values))
    for identity, records in by_file.items():
        whole = records[0] if len(records) == 1 else reduce(records)
        yield {
            "module": name,
            "path": names[identity],
            "values": whole.values,
            "sizes": sorted(whole.table("ACCESS").items()) if "ACCESS1_ACCESS" in columns else [],
            "ranks": [_work(record) for record in records if record.rank >= 0],
        }


def _work(record: Record) -> list[float]:
    """Rank, bytes read, bytes written, seconds, time of closing, seconds of reading and writing."""
    get = record.values.get
    moved = [int(get(name, 0)) for name in ("BYTES_READ", "BYTES_WRITTEN")]
    times = [get(f"F_{name}", 0.0) for name in ("CLOSE_END_TIMESTAMP", "READ_TIME", "WRITE_TIME")]
    return [int(record.rank), *moved, record.seconds, *times]


def _heat(handle: int, module: native.ModuleInfo, names: dict[int, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for address in _records(handle, module):
        head = native.HeatmapHead.from_address(address)
        if not 0 < head.bins < MOST_BINS:
            raise BrokenLogError(f"damaged: a heat map of {head.bins} bins")
        if not 0 < head.bin_seconds < MOST_SECONDS:
            raise BrokenLogError(f"damaged: a heat map with bins of {head.bin_seconds} s")
        values = (ctypes.c_int64 * (2 * head.bins)).from_address(address + ctypes.sizeof(head))
        layer = found.setdefault(
            names.get(head.id, "").removeprefix("heatmap:").replace("MPIIO", "MPI-IO"),
            {"bin_seconds": head.bin_seconds, "ranks": []},
        )
        written, read_bins = values[: head.bins], values[head.bins :]
        layer["ranks"].append([head.rank, _trimmed(read_bins), _trimmed(written)])
    return found


def _osts(
    handle: int, module: native.ModuleInfo, names: dict[int, str]
) -> Iterator[tuple[str, list[int]]]:
    for address in _records(handle, module):
        entry = native.LustreRecord.from_address(address)
        if not 0 <= entry.stripes <= MOST_STRIPES or entry.id not in names:
            raise BrokenLogError(f"damaged: a file with {entry.stripes} stripes in LUSTRE")
        # Not where the record says: the library moves them as it drops unused components.
        behind = ctypes.sizeof(native.LustreRecord) + max(entry.components, 0) * native.COMPONENT
        osts = (ctypes.c_int64 * (entry.stripes * (entry.components > 0))).from_address(
            address + behind
        )
        yield names[entry.id], [ost for ost in osts if ost >= 0]


def _trimmed(bins: Sequence[int]) -> list[int]:
    last = max((i for i, value in enumerate(bins) if value), default=-1)
    return list(bins[: last + 1])


def _segments(block: Any, names: dict[int, str]) -> dict[str, Any]:
    rows = block.segments.tolist()
    return {
        "module": block.module,
        "path": names.get(block.file, ""),
        "rank": block.rank,
        "writes": rows[: block.writes],
        "reads": rows[block.writes :],
    }


def _data_sets(processes: Sequence[RawProcess]) -> list[dict[str, Any]]:
    """The data sets that HDF5 calls moved, as rows of ledger/seconds.py."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for process in processes:
        paths = {record.id: record.path for record in process.records}
        for one, elements, _, direction, together, seconds in process.moves:
            key = (paths[one.file], one.name)
            row = found.setdefault(key, {"read": 0, "written": 0, "sizes": Counter()})
            row[("read", "written")[direction]] += elements * one.bytes
            row["sizes"][elements * one.bytes] += 1
            row |= {
                "file": key[0],
                "name": key[1],
                "dimensions": len(one.dims),
                "elements": math.prod(one.dims),
                "element_bytes": one.bytes,
                "chunk": one.chunk,
                "calls": row.get("calls", 0) + 1,
                "collective": row.get("collective", False) or together,
                "seconds": row.get("seconds", 0.0) + seconds,
            }
    return [{**row, "sizes": row["sizes"].most_common(COMMON)} for row in found.values()]


def limit(sources: Sequence[Path]) -> None:
    """Ends this process before it fills the machine or runs for ever."""
    size = sum(path.stat().st_size for path in sources if path.is_file())
    seconds, memory = SECONDS + size // BYTES_PER_SECOND, MEMORY + MEMORY_PER_BYTE * size
    set_limits([(resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory)])


def set_limits(limits: Sequence[tuple[int, int]]) -> None:
    """Memory is what the process takes from now on: a fork has its parent's."""
    own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    has = {resource.RLIMIT_AS: own}
    for what, more in (*limits, (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(what)
        most = has.get(what, 0) + more
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (allowed, hard))


def main(log: str, convert: str | None = None, **parts: bool) -> int:
    """The exit status. `convert`: a folder of traces of which to make the log; `parts` as `read`
    has them."""
    path, traces = Path(log), Path(convert) if convert else None
    limit([path, *(traces.glob("*") if traces else ())])
    try:
        processes = read_folder(traces) if traces else []
        if processes:
            write_log(processes, path)
        found = read(path, **parts)
        found["data_sets"] = _data_sets(processes)
        # json.dumps is in C, json.dump is not.
        sys.stdout.write(json.dumps(found, allow_nan=False))
        sys.stdout.flush()  # a fork of reader.py does not end as a program does
    except AnalysisError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except (ArithmeticError, LookupError, MemoryError, ValueError) as error:
        # Nothing in a damaged log is certain: any computation with it may fail.
        what = f"{log}: damaged: {type(error).__name__} {error}".rstrip()
        print(BrokenLogError(what), file=sys.stderr)
        return EXIT_DATA
    return 0
