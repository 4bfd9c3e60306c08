# SPDX-License-Identifier: BSD-3-Clause
"""What the recorder leaves beside a trace: the hints that MPI was given, and what came from
storage."""

from __future__ import annotations

from pathlib import Path

import pytest
from iokernel_stacks import Stack, lacking
from recorder_runs import kernel, preload, traced

from iogauge.analysis.checks.beside_trace import against_the_recorder

S3D = ("s3d", "--grid", "16x12x10", "--procs-grid", "2x1x1", "--steps", "2", "--repeat", "2")
MESH = ("cgns-structured", "--zone", "9x7x5", "--repeat", "2")
HINTS = ("--hint", "cb_buffer_size=1048576", "--hint", "read:cb_nodes=1")
RUNS = {
    "mpiio": ("mpiio", "collective"),
    "hdf5": ("hdf5", "collective"),
    "pnetcdf": ("pnetcdf", "collective", "--hint", "nc_var_align_size=64"),
    "pnetcdf, independent": ("pnetcdf", "independent", "--hint", "nc_var_align_size=64"),
    "netcdf4": ("netcdf4", "collective"),
    "cgns": ("cgns", "collective-metadata"),
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_hints_reach_mpi(
    mpi: str, name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    stack: Stack = request.getfixturevalue(mpi)
    method, mode, *more = RUNS[name]
    if method in lacking(stack.iokernel):
        pytest.skip(f"{mpi} has no {method}")
    words = (*(MESH if method == "cgns" else S3D), "--method", method, "--mode", mode)
    plant = {"IOGAUGE_TRACE_PLANT": "7"}
    run, _ = kernel(stack, tmp_path, *words, *HINTS, *more, more=plant)
    assert run.status == 0, run
    document, traces = run.result(), tmp_path / "traces"
    assert document["asked"]["hints"]["cb_buffer_size"] == "1048576"
    assert not list(against_the_recorder(document, traces))
    document["used"]["hints"]["cb_block_size"] = "77"
    assert len(list(against_the_recorder(document, traces))) == 1
    document["asked"]["hints"] |= {"cb_block_size": "77"}
    assert len(list(against_the_recorder(document, traces))) == 3


def test_the_ceilings_count_apart(openmpi: Stack, tmp_path: Path) -> None:
    """A program that reads more of the one or the other from storage; no page is in memory."""
    data, traces = tmp_path / "data", tmp_path / "traces"
    data.mkdir()
    names = {
        "warm.bin": 2,
        "field.bin": 3,
        "iogauge-ceiling-fpp.bin": 1,
        "iogauge-ceiling-shared.bin": 4,
    }
    for name, size in names.items():
        (data / name).write_bytes(bytes(size << 20))
    code = (
        "import os, sys\n"
        "for path in sys.argv[1:]:\n"
        "    fd = os.open(path, os.O_RDONLY)\n"
        "    os.fsync(fd)\n"
        "    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n"
        "    if 'warm' in path: os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_WILLNEED)\n"
        "    while os.read(fd, 65536): pass\n"
        "    os.close(fd)\n"
        "print(open('/proc/self/io').read())\n"
    )
    command = ["/usr/bin/env", "python3", "-c", code, *(str(data / name) for name in names)]
    done = traced(command, preload(openmpi, traces, data))
    assert done.returncode == 0, done.stderr
    (counts,) = [path.read_text().split() for path in traces.glob("storage-*")]
    own, ceilings, messages, peak, _ = map(int, counts)
    assert not messages and peak > 2**20
    all_read = int(done.stdout.split("read_bytes: ")[1].split()[0])
    if not all_read:
        pytest.skip("this file system's reads are not counted")
    assert own >= 3 << 20 and ceilings >= 5 << 20
    # What was read into the page cache before does not count.
    assert own + ceilings <= all_read - (1 << 20)
