# SPDX-License-Identifier: BSD-3-Clause
"""Rows of bytes whose columns are written by one call each, for `iokernel extents`.

So programs write one member of their particles after the other, or variables that share records.
Between what a call writes stands what another one wrote: a library that writes back more than it
was given must leave that as it is.

    python -m tools.columns --rows 52428 --columns 3744,256 --processes 4 -o columns.extents
    mpiexec -n 4 iokernel extents --extents columns.extents --method mpiio --mode collective
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from analysis.replay import what_if
from analysis.replay.schedule import LENGTH
from iogauge.files import write_whole


def contents(rows: int, columns: Sequence[int], processes: int) -> bytes:
    """The file: each process has a block of the rows. `columns`: their bytes, in the file's order,
    which is the order of the calls.

    ValueError: a process would have no row, or a column no byte.
    """
    if not 0 < processes <= rows or not columns or min(columns) < 1:
        raise ValueError("right is at least a row for each process, and a byte for each column")
    header = {
        "format": what_if.FORMAT, "source": "columns", "recorder": "nobody", "processes": processes,
        "datasets": [{"name": "rows", "type": "byte", "dims": [rows, sum(columns)]}],
        "transfers": [{"dataset": 0, "parts": 1}] * len(columns),
    }  # fmt: skip
    first = [rows * process // processes for process in range(processes + 1)]
    numbers = [
        (first[process], sum(columns[:call]), first[process + 1] - first[process], columns[call])
        for call in range(len(columns))
        for process in range(processes)
    ]
    text = json.dumps(header).encode()
    body = np.array(numbers, "<u8").tobytes()
    return what_if.MAGIC + body + text + LENGTH.pack(len(text)) + what_if.END


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="tools.columns", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--rows", type=int, required=True, metavar="N")
    parser.add_argument("--columns", required=True, metavar="BYTES,BYTES...",
                        help="of each, in the file's order")  # fmt: skip
    parser.add_argument("--processes", type=int, required=True, metavar="N")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        columns = [int(word) for word in options.columns.split(",")]
        write_whole(options.out, contents(options.rows, columns, options.processes))
    except (ValueError, OSError) as error:
        print(f"tools.columns: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
