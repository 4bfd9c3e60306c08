# SPDX-License-Identifier: BSD-3-Clause
"""The bytes of a file view, for each kind of data type that a view can be made of."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from iokernel_stacks import Stack
from recorder_runs import launched, preload, traces_in
from test_recorder_mpi import kinds_of_count

from iogauge.analysis.darshan.raw import RawView

INT = 4
Pieces = tuple[tuple[int, int], ...]
# As mpi_views.c makes them: the extent, and each piece's offset and length in bytes. What adjoins
# is one piece.
VIEWS: dict[str, tuple[int, Pieces]] = {
    "vector": (40, ((0, 8), (16, 8), (32, 8))),
    "hvector": (16, ((0, 4), (12, 4))),
    "a copy of a type": (12, ((0, 4), (8, 4))),
    "some of a wider type": (64, ((0, 4), (8, 4), (32, 4), (40, 4))),
    "a type with another extent": (32, ((0, 4), (8, 4))),
    "no gap": (20, ((0, 20),)),
    "indexed": (28, ((0, 8), (20, 8))),
    "forty blocks, two of which adjoin": (312, tuple((16 * i, 8) for i in range(20))),
    "blocks of one length": (40, ((0, 8), (12, 8), (32, 8))),
    "blocks that begin later": (20, ((4, 4), (20, 4))),
    "struct": (28, ((0, 8), (16, 4), (24, 4))),
    "subarray": (96, ((32, 12), (56, 12))),
    "subarray, as in Fortran": (96, ((32, 12), (56, 12))),
    "subarray of three dimensions": (96, ((44, 4), (52, 4), (76, 4), (84, 4))),
    "every second element": (32, ((0, 4), (8, 4), (16, 4), (24, 4))),
    "the first two of four rows, the middle of three pairs": (96, ((8, 8), (32, 8))),
    "the last two of four columns, outer pairs": (96, ((48, 8), (64, 16), (88, 8))),
    "the right half of each row": (32, ((8, 8), (24, 8))),
    "every second element, the last place being another's": (20, ((4, 4), (12, 4))),
}


# ROMIO of MPICH 4.0 aborts when it is given a type made by a call with large counts.
NO_VIEW = """
#include <mpi.h>
int PMPI_File_set_view(MPI_File f, MPI_Offset at, MPI_Datatype element, MPI_Datatype type,
                       const char *form, MPI_Info info) { return MPI_SUCCESS; }
"""


@pytest.mark.parametrize("large", [False, True])
def test_the_pieces_of_each_kind_of_view(stack: Stack, tmp_path: Path, large: bool) -> None:
    if large and kinds_of_count(stack) < 2:
        pytest.skip(f"{stack.name} has no calls with large counts")
    program, library, data = (tmp_path / name for name in ("views", "library.so", "data"))
    data.mkdir()
    source = Path(__file__).with_name("mpi_views.c")
    compiler = [f"mpicc.{stack.name}", *(["-DLARGE"] if large else [])]
    subprocess.run([*compiler, str(source), "-o", str(program)], check=True)
    variables = preload(stack, tmp_path / "traces", data, dxt=True)
    if large:
        words = [*compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
        subprocess.run(words, input=NO_VIEW, text=True, check=True)
        variables["LD_PRELOAD"] += f":{library}"
    done = launched(stack, 1, [program], variables, folder=data)
    assert done.returncode == 0, done.stderr
    (process,) = traces_in(tmp_path / "traces")
    for (name, (extent, pieces)), view in zip(VIEWS.items(), process.views, strict=True):
        size = sum(length for _, length in pieces)
        assert view == RawView(100, extent, size, INT, pieces), name
