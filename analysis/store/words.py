# SPDX-License-Identifier: BSD-3-Clause
"""Keys of --where and --by whose values say more than a column holds, as SQL with its values."""

import re
from collections.abc import Callable
from datetime import date
from typing import Any

from iogauge.common import tables

from ..errors import UsageError, reraised

CALL = "concat(method, CASE WHEN mode = '' THEN '' ELSE ':' END, mode)"


def _date(word: str) -> tuple[str, list[Any]]:
    """A day, or `FIRST..LAST`, both included, in UTC."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?:\.\.(\d{4}-\d\d-\d\d))?", word)
    if not match:
        raise UsageError(f"{word}: expected a date as 2026-11-20, or 2026-11-01..2026-11-20")
    for text in filter(None, match.groups()):
        with reraised(ValueError, UsageError, f"{word}: expected a date: "):
            date.fromisoformat(text)
    day = "CAST(started AS DATE)"
    return f"{day} BETWEEN CAST(? AS DATE) AND CAST(? AS DATE)", [match[1], match[2] or match[1]]


def _method(word: str) -> tuple[str, list[Any]]:
    """`mpiio:collective`, or `mpiio` in any mode."""
    return (f"{CALL} = ?" if ":" in word else "method = ?"), [word]


def _hints(word: str) -> tuple[str, list[Any]]:
    """`none`, or `K=V K=V` in any order."""
    words = [] if word == "none" else word.split()
    return "hints = ?", [" ".join(sorted(words))]


CONDITIONS: dict[str, Callable[[str], tuple[str, list[Any]]]] = {
    "date": _date,
    "method": _method,
    "hints": _hints,
}


def libraries() -> tuple[str, ...]:
    """Versions as keys. The column `libraries` has them as `hdf5 1.10.8, mpi Open MPI v4.1.4`."""
    return ("mpi", *(row[0] for row in tables.rows("libraries.def", "IO_LIBRARY")))


def version(key: str, wanted: list[str]) -> tuple[str, str]:
    """Runs with these versions. `4.1` matches each 4.1.x, `Open MPI` every one."""
    one = "|".join(re.escape(word) for word in wanted)
    of_library = rf"(?i)(^|, ){re.escape(key)} ([^,]*[ v])?({one})($|[ .,])"
    return "regexp_matches(libraries, ?)", of_library
