# SPDX-License-Identifier: BSD-3-Clause
"""Versions of the modules of a Darshan log: the newest that is read, and what older ones lack. A
value that a version lacks is absent; it is never 0. (darshan-util's *-logutils.c)"""

# DXT is read by this program, all others by the library of the darshan wheel.
KNOWN = {
    "POSIX": 4,
    "MPI-IO": 3,
    "STDIO": 2,
    "H5F": 3,
    "H5D": 2,
    "PNETCDF_FILE": 3,
    "PNETCDF_VAR": 1,
    "HEATMAP": 1,
    "DFS": 1,
    "DAOS": 1,
    "DXT_POSIX": 2,
    "DXT_MPIIO": 3,
    "LUSTRE": 2,
}
RENAMING = ("RENAME_SOURCES", "RENAME_TARGETS", "RENAMED_FROM")
_BOTH = ("F_CLOSE_START_TIMESTAMP", "F_OPEN_END_TIMESTAMP")
# The first version that has these fields, by module.
_SINCE: dict[str, dict[int, tuple[str, ...]]] = {
    "POSIX": {3: _BOTH, 4: ("FILENOS", "DUPS", *RENAMING)},
    "MPI-IO": {3: _BOTH},
    "STDIO": {2: ("FDOPENS",)},
    "H5F": {2: _BOTH, 3: ("FLUSHES", "USE_MPIIO", "F_META_TIME")},
    "H5D": {2: ("FILE_REC_ID",)},
    "PNETCDF_FILE": {
        2: _BOTH,
        3: (
            "CREATES",
            "REDEFS",
            "INDEP_WAITS",
            "COLL_WAITS",
            "SYNCS",
            "BYTES_READ",
            "BYTES_WRITTEN",
            "WAIT_FAILURES",
            "F_WAIT_START_TIMESTAMP",
            "F_WAIT_END_TIMESTAMP",
            "F_META_TIME",
            "F_WAIT_TIME",
        ),
    },
    "DXT_POSIX": {2: ("thread",)},
    "DXT_MPIIO": {2: ("offset",), 3: ("thread",)},
}


def absent(module: str, version: int) -> set[str]:
    since = _SINCE.get(module, {})
    return {name for first, names in since.items() if version < first for name in names}
