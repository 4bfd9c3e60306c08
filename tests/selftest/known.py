# SPDX-License-Identifier: BSD-3-Clause
"""What passes, or stays, though it should not: each with its reason, which stands in the table."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.selftest.judge import CAUGHT, MENDED, MISSED, SILENT


@dataclass(frozen=True)
class Known:
    """`where`: found in `STACK-PATTERN-METHOD-MODE CALL:FAULT`; `verdicts`: which may be; `left`:
    which files may stay."""

    where: str
    verdicts: tuple[str, ...]
    left: str | None
    reason: str


ALL = r".*"
HELPERS = r"\.(locktest|shfp)\.[\d.]+$|\.sm$|\.lock(ed)?file"
KNOWN: tuple[Known, ...] = (
    Known(
        r"^openmpi-.* close:",
        (MISSED,),
        None,
        "OMPIO drops the error of close",
    ),
    Known(
        r"^openmpi-.*-(hdf5|cgns)-collective-metadata write:E",
        (MISSED,),
        None,
        "OMPIO drops the error of the last collective write of metadata; the data is right",
    ),
    Known(
        r"-cgns-serial write:E(IO|NOSPC|DQUOT)$",
        (MISSED,),
        None,
        "CGNS drops the error of writing HDF5's version into its file; the data is right",
    ),
    Known(
        r"-ior-twophase read:flip$",
        (MISSED,),
        None,
        "an aggregator reads what stands between the pieces too, and nobody uses that",
    ),
    Known(
        r" unlink:EIO$",
        (MISSED, MENDED),
        HELPERS,
        "OMPIO does not look whether it could remove its own helper file",
    ),
    Known(
        r" unlink:EIO$",
        (CAUGHT,),
        ALL,
        "the file cannot be removed, and the run says so",
    ),
    Known(
        r":kill$",
        (CAUGHT,),
        ALL,
        "the launcher ends all others by SIGKILL: the harness removes what they made",
    ),
    Known(
        r"-ioserver-.*:stop$",
        (CAUGHT,),
        ALL,
        "the only client is stopped, and an I/O process does not know the run's files",
    ),
    Known(
        r":(crash|stop)$",
        (CAUGHT,),
        HELPERS,
        "a helper file of the MPI library, with a name that only the library knows",
    ),
    Known(
        r"^mpich-.*-mpiio-ordered ",
        (CAUGHT,),
        HELPERS,
        "the file of ROMIO's shared pointer, whose name only ROMIO knows, stays",
    ),
    Known(
        r"^mpich-.*-mpiio-ordered (open:|read:|write:|close:|place:)",
        (SILENT,),
        ALL,
        "ROMIO ends the job itself when it cannot reach the file of its shared pointer",
    ),
    Known(
        r"^openmpi-.*-mpiio-nonblocking place:full$",
        (SILENT, CAUGHT),
        ALL,
        "Open MPI 4.1 crashes where a request has failed, also in a thread without a handler",
    ),
)


def reason(name: str, verdict: str, left: list[str]) -> str:
    """Why this is let pass; empty where it is not."""
    # A folder stays for what is in it.
    left = [name for name in left if not any(other.startswith(f"{name}/") for other in left)]
    for one in KNOWN:
        if verdict in one.verdicts and re.search(one.where, name):
            stay = [file for file in left if one.left is None or not re.search(one.left, file)]
            if not stay and (left or verdict != CAUGHT):
                return one.reason
    return ""
