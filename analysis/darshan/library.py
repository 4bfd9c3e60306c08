# SPDX-License-Identifier: BSD-3-Clause
"""Darshan's own C library, through ctypes: the wheel's Python side takes a second to load. It
crashes or hangs on some damaged logs, so it is only used in a child process (child.py)."""

import ctypes
import functools
import importlib.util
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_int64, c_uint64, c_void_p
from pathlib import Path

from ..errors import AnalysisError

POSIX, MPIIO, DXT_POSIX, DXT_MPIIO, HEATMAP = 1, 2, 10, 11, 15

# Modules whose records are a base record, counters and times, with the prefix of the library's
# tables of their names; `skip`: bytes between the base record and the counters.
COUNTED = {
    "POSIX": ("posix", 0),
    "MPI-IO": ("mpiio", 0),
    "STDIO": ("stdio", 0),
    "H5F": ("h5f", 0),
    "H5D": ("h5d", 8),
    "PNETCDF_FILE": ("pnetcdf_file", 0),
    "PNETCDF_VAR": ("pnetcdf_var", 8),
    "DFS": ("dfs", 0),
    "DAOS": ("daos", 0),
}

EXE_ROOM = 4096
MOUNT_ROOM = 3015
METADATA_ROOM = 1024


class Job(ctypes.Structure):
    _fields_ = [
        ("uid", c_int64),
        ("start_seconds", c_int64),
        ("start_nanoseconds", c_int64),
        ("end_seconds", c_int64),
        ("end_nanoseconds", c_int64),
        ("processes", c_int64),
        ("jobid", c_int64),
        ("metadata", c_char * METADATA_ROOM),
    ]


class Mount(ctypes.Structure):
    _fields_ = [("type", c_char * MOUNT_ROOM), ("path", c_char * MOUNT_ROOM)]


class ModuleInfo(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("length", c_int),
        ("version", c_int),
        ("index", c_int),
        ("partial", c_int),
    ]


class NameInfo(ctypes.Structure):
    _fields_ = [("id", c_uint64), ("name", c_char_p)]


class NameNode(ctypes.Structure):
    """An entry of the library's hash table (uthash); only the list is used."""


NameNode._fields_ = [
    ("record", c_void_p),
    ("table", c_void_p),
    ("previous", c_void_p),
    ("next", POINTER(NameNode)),
    ("unused", c_void_p * 6),
]


def path() -> Path:
    """The library's file. `AnalysisError` if neither wheel brought it."""
    folders = [Path(__file__).parent]  # hatch_build.py puts it there
    found = importlib.util.find_spec("darshan")
    if found and found.origin:
        folders.append(Path(found.origin).parent.parent / "darshan.libs")
    for folder in folders:
        for library in sorted(folder.glob("libdarshan-util*.so*")):
            return library
    command = f"{sys.executable} -m pip install --no-deps darshan"
    raise AnalysisError(f"libdarshan-util is missing: {command}")


# Return and argument types of the functions used.
_SIGNATURES = {
    "darshan_log_open": (c_void_p, [c_char_p]),
    "darshan_log_create": (c_void_p, [c_char_p, c_int, c_int]),
    "darshan_log_close": (None, [c_void_p]),
    "darshan_log_get_job": (c_int, [c_void_p, POINTER(Job)]),
    "darshan_log_put_job": (c_int, [c_void_p, POINTER(Job)]),
    "darshan_log_get_exe": (c_int, [c_void_p, c_char_p]),
    "darshan_log_put_exe": (c_int, [c_void_p, c_char_p]),
    "darshan_log_put_mounts": (c_int, [c_void_p, POINTER(Mount), c_int]),
    "darshan_log_put_namehash": (c_int, [c_void_p, POINTER(NameNode)]),
    "darshan_log_put_mod": (c_int, [c_void_p, c_int, c_void_p, c_int, c_int]),
    "darshan_log_get_modules": (None, [c_void_p, POINTER(POINTER(ModuleInfo)), POINTER(c_int)]),
    "darshan_log_get_name_records": (None, [c_void_p, POINTER(POINTER(NameInfo)), POINTER(c_int)]),
    "darshan_log_get_record": (c_int, [c_void_p, c_int, POINTER(c_void_p)]),
    "darshan_log_get_lib_version": (c_char_p, []),
    "darshan_free": (None, [c_void_p]),
}


@functools.cache
def library() -> ctypes.CDLL:
    """The library, with the types of its functions."""
    loaded = ctypes.CDLL(str(path()))
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


@functools.cache
def counter_names(prefix: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of a module's counters and of its times, in the order of the log format."""
    return _names(f"{prefix}_counter_names"), _names(f"{prefix}_f_counter_names")


def _names(symbol: str) -> tuple[str, ...]:
    table = ctypes.cast(ctypes.addressof(c_char_p.in_dll(library(), symbol)), POINTER(c_char_p))
    names: list[str] = []
    while True:  # each table ends with the name of the count itself
        name = (table[len(names)] or b"").decode()
        if not name or name.endswith("NUM_INDICES"):
            return tuple(names)
        names.append(name)


def checked(result: int, what: str) -> None:
    """`AnalysisError` if a function of the library returned a failure."""
    if result < 0:
        raise AnalysisError(f"{what} failed ({result})")


def modules(log: int) -> list[ModuleInfo]:
    """The open log's content. The library's memory is not freed: the process ends soon."""
    entries, count = POINTER(ModuleInfo)(), c_int()
    library().darshan_log_get_modules(log, byref(entries), byref(count))
    return [entries[i] for i in range(count.value)]


def names(log: int) -> dict[int, str]:
    """Record id -> path."""
    entries, count = POINTER(NameInfo)(), c_int()
    library().darshan_log_get_name_records(log, byref(entries), byref(count))
    return {
        entries[i].id: (entries[i].name or b"").decode(errors="replace") for i in range(count.value)
    }


def counted_type(prefix: str, skip: int) -> type[ctypes.Structure]:
    """A counted module's record as a C type."""
    counters, times = counter_names(prefix)
    return type(
        f"Record_{prefix}",
        (ctypes.Structure,),
        {
            "_fields_": [
                ("id", c_uint64),
                ("rank", c_int64),
                ("skipped", c_char * skip),
                ("counters", c_int64 * len(counters)),
                ("times", c_double * len(times)),
            ]
        },
    )


class HeatmapHead(ctypes.Structure):
    """The write bins follow, then the read bins."""

    _fields_ = [
        ("id", c_uint64),
        ("rank", c_int64),
        ("bin_seconds", c_double),
        ("bins", c_int64),
        ("unused", c_void_p * 2),
    ]


COMPONENT = 72


class LustreRecord(ctypes.Structure):
    """The components follow, each of COMPONENT bytes, then all OSTs."""

    _fields_ = [
        ("id", c_uint64),
        ("rank", c_int64),
        ("components", c_int64),
        ("stripes", c_int64),
        ("unused", c_void_p * 2),
    ]


class DxtHead(ctypes.Structure):
    _fields_ = [
        ("id", c_uint64),
        ("rank", c_int64),
        ("shared", c_int64),
        ("host", c_char * 64),
        ("writes", c_int64),
        ("reads", c_int64),
    ]
