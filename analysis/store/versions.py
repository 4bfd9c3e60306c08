# SPDX-License-Identifier: BSD-3-Clause
"""Versions of a stack as keys: `mpi`, and each library that a method may need.

The column `libraries` holds them as one text: `hdf5 1.10.8, mpi Open MPI v4.1.4`.
"""

import re

from iogauge.common import tables


def names() -> tuple[str, ...]:
    return ("mpi", *(row[0] for row in tables.rows("libraries.def", "IO_LIBRARY")))


def condition(key: str, wanted: list[str]) -> tuple[str, str]:
    """Runs with these versions, as SQL. `4.1` matches each 4.1.x, `Open MPI` every one."""
    one = "|".join(re.escape(word) for word in wanted)
    return (
        "regexp_matches(libraries, ?)",
        rf"(?i)(^|, ){re.escape(key)} ([^,]*[ v])?({one})($|[ .,])",
    )
