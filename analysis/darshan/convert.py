# SPDX-License-Identifier: BSD-3-Clause
"""The embedded recorder's traces as a genuine Darshan log."""

import ctypes
import functools
import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

from iogauge.common.files import permit

from ..errors import AnalysisError
from . import library as native
from .raw import READ, SEGMENT, WRITE, RawHeat, RawProcess, RawRecord, lost
from .reduce import Record, reduce

ZLIB = 0
# Module name -> its id, the id of its segments, and the versions of the log format to write.
MODULES = {"POSIX": (1, native.DXT_POSIX, 4, 1), "MPI-IO": (2, native.DXT_MPIIO, 3, 2)}
HEATMAP_NAMES = {"POSIX": b"heatmap:POSIX", "MPI-IO": b"heatmap:MPIIO"}
HEATMAP_VERSION = 1
ALL_MODULES = [1, 2, native.DXT_POSIX, native.DXT_MPIIO, native.HEATMAP]

Files = dict[tuple[str, int], list[tuple[RawProcess, Record]]]


def write_log(processes: Sequence[RawProcess], log: Path, *, reduce_shared: bool = False) -> None:
    """`processes`: at least one, by rank; several with one rank if a process forked.
    `reduce_shared`: one record of a file that all processes opened, as Darshan's runtime makes."""
    lib = native.library()
    log.unlink(missing_ok=True)  # the library makes it read-only
    partial = sum(1 << module for module in ALL_MODULES) if lost(processes) else 0
    handle = lib.darshan_log_create(str(log).encode(), ZLIB, partial)
    if not handle:
        raise AnalysisError(f"{log}: cannot be made")
    try:
        names = _put_head(handle, processes)
        files = _files(processes)
        # By ascending module id: else the library fails, and removes the log.
        for module in MODULES:
            _put_counters(handle, module, files, len({p.rank for p in processes}), reduce_shared)
        for module in MODULES:
            _put_segments(handle, module, processes)
        _put_heat(handle, processes)
    finally:
        lib.darshan_log_close(handle)
    del names  # the library has read it by now
    if not log.exists():
        raise AnalysisError(f"{log}: Darshan's library refused what it was given")
    permit(log)


def _put_head(handle: int, processes: Sequence[RawProcess]) -> object:
    """Job, command, mounts and names; returns what must stay in memory until closing."""
    lib = native.library()
    first = processes[0]
    start = min(process.start for process in processes)
    end = max(process.start + int(process.seconds * 1e9) for process in processes)
    # PyDarshan shows lib_ver as the runtime's version, so this names the recorder.
    metadata = f"lib_ver={first.recorder}\nrecorder={first.recorder}\n"
    metadata += "".join(f"lost={'; '.join(some)}\n" for some in [lost(processes)] if some)
    job = native.Job(
        first.uid,
        *divmod(start, 10**9),
        *divmod(end, 10**9),
        max(process.processes for process in processes),
        first.pid,
        metadata.encode(),
    )
    native.checked(lib.darshan_log_put_job(handle, ctypes.byref(job)), "writing the job")
    command = ctypes.create_string_buffer(first.command.encode(), native.EXE_ROOM)
    native.checked(lib.darshan_log_put_exe(handle, command), "writing the command")
    # Look up the mounts of folders, not of files: a folder may hold very many.
    folders = {record.path.rpartition("/")[0] for p in processes for record in p.records}
    mounts = _mounts(folders)
    native.checked(lib.darshan_log_put_mounts(handle, mounts, len(mounts)), "writing the mounts")
    names = {record.id: record.path.encode() for p in processes for record in p.records}
    names |= {heat.id: HEATMAP_NAMES[module] for module, heat in first.heat.items()}
    nodes, kept = _name_list(names)
    native.checked(lib.darshan_log_put_namehash(handle, nodes), "writing the names")
    return kept


def _mounts(paths: Iterable[str]) -> ctypes.Array[native.Mount]:
    """The mounts of the paths, longest first. At least one: else the log loses the command."""
    lines = [line.split()[:3] for line in Path("/proc/mounts").read_text().splitlines()]
    where = {mount: kind for _, mount, kind in lines}
    used = {
        max((m for m in where if PurePath(path).is_relative_to(m)), key=len, default="/")
        for path in paths
    }
    kept = [
        native.Mount(where.get(mount, "unknown").encode(), mount.encode())
        for mount in sorted(used or {"/"}, key=len, reverse=True)
    ]
    return (native.Mount * len(kept))(*kept)


def _name_list(names: dict[int, bytes]) -> tuple[ctypes.Array[native.NameNode], object]:
    records = [
        ctypes.create_string_buffer(identity.to_bytes(8, sys.byteorder) + name + b"\0")
        for identity, name in names.items()
    ]
    nodes = (native.NameNode * len(records))()
    for i, record in enumerate(records):
        nodes[i].record = ctypes.addressof(record)
        if i + 1 < len(records):
            nodes[i].next = ctypes.pointer(nodes[i + 1])
    return nodes, (nodes, records)


def _files(processes: Sequence[RawProcess]) -> Files:
    """For each module and file, the records of all ranks; a child's count as its parent's."""
    start = min(process.start for process in processes)
    found: Files = defaultdict(list)
    for process in processes:
        for raw in process.records:
            record = _record(raw, process.rank, (process.start - start) / 1e9)
            mine = found[raw.module, raw.id]
            if mine and mine[-1][0].rank == process.rank:
                mine[-1] = (mine[-1][0], reduce([mine[-1][1], record], rank=process.rank))
            else:
                mine.append((process, record))
    return found


@functools.cache
def short_names(module: str) -> tuple[str, ...]:
    """Counters then times, in the order of the log format, without the module's prefix."""
    prefix, _ = native.COUNTED[module]
    counters, times = native.counter_names(prefix)
    return tuple(name.removeprefix(f"{prefix.upper()}_") for name in (*counters, *times))


def _record(raw: RawRecord, rank: int, later: float) -> Record:
    """A record whose times begin at the start of the job, `later` seconds before the process."""
    names = short_names(raw.module)
    values = dict(zip(names, [*raw.counters, *raw.times], strict=True))
    for name, value in values.items():
        if name.endswith("_TIMESTAMP") and value:
            values[name] = value + later
    return Record(rank, values, raw.sizes, raw.strides)


def _put_counters(
    handle: int, module: str, files: Files, processes: int, reduce_shared: bool
) -> None:
    prefix, skip = native.COUNTED[module]
    kind = native.counted_type(prefix, skip)
    names = short_names(module)
    floats = sum(name.startswith("F_") for name in names)
    number, _, version, _ = MODULES[module]
    for (owner, identity), entries in files.items():
        if owner != module:
            continue
        records = [record for _, record in entries]
        if reduce_shared and processes > 1 and len(records) == processes:
            records = [reduce(records)]
        for record in records:
            column = [record.values[name] for name in names]
            counters = [int(value) for value in column[:-floats]]
            entry = kind(identity, record.rank, b"")
            entry.counters[:] = counters
            entry.times[:] = column[-floats:]
            _put(handle, number, bytes(entry), version)


def _put(handle: int, module: int, data: bytes, version: int) -> None:
    room = ctypes.create_string_buffer(data, len(data))
    result = native.library().darshan_log_put_mod(handle, module, room, len(data), version)
    native.checked(result, f"writing a record of module {module}")


def _put_segments(handle: int, module: str, processes: Sequence[RawProcess]) -> None:
    start = min(process.start for process in processes)
    _, number, _, version = MODULES[module]
    for process in processes:
        later = (process.start - start) / 1e9
        for record in process.records:
            reads, writes = record.segments
            if record.module != module or not (reads or writes):
                continue
            head = native.DxtHead(
                record.id,
                process.rank,
                0,
                process.host.encode()[:63],
                len(writes) // SEGMENT.size,
                len(reads) // SEGMENT.size,
            )
            _put(handle, number, bytes(head) + _later(writes + reads, later), version)


def _later(segments: bytes, seconds: float) -> bytes:
    if not seconds:
        return segments
    moved = bytearray(segments)
    for at in range(0, len(moved), SEGMENT.size):
        offset, length, start, end = SEGMENT.unpack_from(moved, at)
        SEGMENT.pack_into(moved, at, offset, length, start + seconds, end + seconds)
    return bytes(moved)


def _put_heat(handle: int, processes: Sequence[RawProcess]) -> None:
    """Write the heat maps: all with equally wide bins, from the start of the job."""
    start = min(process.start for process in processes)
    later = [(process.start - start) / 1e9 for process in processes]
    for module in MODULES:
        maps = [process.heat[module] for process in processes]
        if not any(any(bins) for heat in maps for bins in heat.bins):
            continue
        width = max(heat.bin_seconds for heat in maps)
        while not all(_fits(heat, width, by) for heat, by in zip(maps, later, strict=True)):
            width *= 2
        for process, heat, by in zip(processes, maps, later, strict=True):
            bins = [_moved(heat, d, width, by) for d in (WRITE, READ)]
            head = native.HeatmapHead(heat.id, process.rank, width, len(bins[0]))
            packed = b"".join(value.to_bytes(8, sys.byteorder) for one in bins for value in one)
            _put(handle, native.HEATMAP, bytes(head) + packed, HEATMAP_VERSION)


def _moved(heat: RawHeat, direction: int, width: float, later: float) -> list[int]:
    """A process's bins, rebinned to `width`; the first one is `later` seconds into the job."""
    old, factor = heat.bins[direction], 2 ** round(math.log2(width / heat.bin_seconds))
    bins = [sum(old[i : i + factor]) for i in range(0, len(old), factor)]
    empty = min(round(later / width), len(old))
    return [*[0] * empty, *bins, *[0] * len(old)][: len(old)]


def _fits(heat: RawHeat, width: float, later: float) -> bool:
    """Whether no byte is lost when a process's bins are moved."""
    return all(sum(_moved(heat, d, width, later)) == sum(heat.bins[d]) for d in (WRITE, READ))
