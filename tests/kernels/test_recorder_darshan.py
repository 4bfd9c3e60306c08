# SPDX-License-Identifier: BSD-3-Clause
"""The embedded recorder against a real Darshan runtime, on the same run: both are preloaded, one
behind the other. Needs DARSHAN_PREFIX: folders of runtimes, colons between, one for each MPI."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from iokernel_stacks import MOVING, How, Stack
from recorder_runs import preload

from iogauge.analysis.darshan.log import FileTrace, Log, read_log
from iogauge.analysis.ledger.ledger import make_ledger
from iogauge.analysis.ledger.verdict import judge
from reframe_tests.framework import recorders
from reframe_tests.framework.build import mpi_problem

# What may differ, each with the reason.
RESIDUALS = {
    # Its runtime does not see stat() and mmap() of newer C libraries; -1 stands for that.
    "POSIX": {"STATS", "MMAPS"},
    "MPI-IO": set(),
}


def runtime(stack: Stack) -> Path:
    """The library of a runtime for the stack's MPI."""
    given = os.environ.get("DARSHAN_PREFIX", "")
    for prefix in filter(None, given.split(":")):
        library = Path(prefix) / "lib" / recorders.RUNTIME
        if library.is_file():
            done = subprocess.run(["ldd", str(library)], capture_output=True, text=True)
            if mpi_problem(done.stdout, stack.mpi) is None:
                return library
    pytest.skip(f"no Darshan runtime for {stack.mpi}: DARSHAN_PREFIX={given or '(not set)'}")


def counts(file: FileTrace) -> dict[str, float]:
    """Without times, and what follows from them (which access or process was slowest): the two have
    different clocks."""
    leave = RESIDUALS[file.module]
    timed = ("F_", "FASTEST_", "SLOWEST_", "MAX_READ_TIME", "MAX_WRITE_TIME")
    return {k: v for k, v in file.values.items() if not k.startswith(timed) and k not in leave}


def both(stack: Stack, folder: Path, *words: str) -> tuple[dict[str, Any], Path, Path]:
    """The document of a run below both recorders, with each access kept; the traces and the log."""
    library = runtime(stack)
    data, traces, log = folder / "data", folder / "traces", folder / "real"
    data.mkdir()
    config = folder / "darshan.conf"
    config.write_text(
        f"NAME_EXCLUDE . *\nNAME_INCLUDE ^{data} *\nMODMEM 64\nMAX_RECORDS 1024 *\n"
        "DISABLE_SHARED_REDUCTION\nMOD_ENABLE DXT_POSIX,DXT_MPIIO\n"
    )
    environment = preload(stack, traces, data, dxt=True)
    environment["LD_PRELOAD"] += f":{library}"
    environment |= {"DARSHAN_CONFIG_PATH": str(config), "DARSHAN_LOGFILE": str(log)}
    variables = [f"{key}={value}" for key, value in environment.items()]
    run = stack.run(
        *variables, str(stack.iokernel), *words, "--dir", str(data),
        program=Path("/usr/bin/env"), document=folder / "result.json",
    )  # fmt: skip
    return run.good(), traces, log


@pytest.mark.parametrize("how", MOVING, ids=str)
def test_every_counter_agrees(stack: Stack, tmp_path: Path, how: How) -> None:
    _, traces, log = both(stack, tmp_path, "s3d", "--grid", "12x10x8", *how.options())
    ours = read_log(tmp_path / "ours", convert=traces)
    theirs = read_log(log)
    mine = {(f.module, f.path): f for f in ours.files}
    compared = 0
    for file in theirs.files:
        if file.module not in RESIDUALS or ".locktest." in file.path:
            continue
        found = mine[file.module, file.path]
        assert counts(found) == counts(file), (file.module, file.path)
        assert [w.rank for w in found.ranks] == [w.rank for w in file.ranks]
        compared += 1
    assert compared >= (1 if how.method in ("posix", "posix-shared", "master", "twophase") else 2)


def accesses(log: Log) -> dict[tuple[str, str, int], tuple[list[tuple[int, int]], ...]]:
    """Offset and size of all writes and reads of a process to a file, in order."""
    return {
        (one.module, one.path, one.rank): tuple(
            [(offset, size) for offset, size, _, _ in rows] for rows in (one.writes, one.reads)
        )
        for one in log.segments
        if one.writes or one.reads
    }


# Method -> the module that has its bytes at the API, its runs.
APIS = {
    "hdf5": ("H5D", ["s3d", "--grid", "12x10x8"]),
    "pnetcdf": ("PNETCDF_VAR", ["ramses-hydro", "--size", "8"]),
    "cgns": ("H5D", ["cgns-structured", "--zone", "9x8x7"]),
}


@pytest.mark.parametrize("method", APIS)
def test_a_runtime_with_the_formats_modules_has_their_bytes(
    stack: Stack, tmp_path: Path, method: str
) -> None:
    """The same ledger from both logs; from the runtime's with one layer more, if it was built with
    it (--with-hdf5, --with-pnetcdf). The same accesses, of a newer DXT."""
    module, words = APIS[method]
    document, traces, log = both(
        stack, tmp_path, *words, "--method", method, "--mode", "collective", "--repeat", "2"
    )
    ours = read_log(tmp_path / "ours", convert=traces, segments=True)
    theirs = read_log(log, segments=True)
    assert not theirs.partial
    if module not in theirs.modules:
        pytest.skip(
            f"this Darshan runtime was built without {module}: {os.environ['DARSHAN_PREFIX']}"
        )
    mine, real = make_ledger(document, ours), make_ledger(document, theirs)
    assert judge(real) == judge(mine)
    assert judge(real).verdict in ("balanced", "explained")
    for one, other in zip(real.sides, mine.sides, strict=True):
        layer = one.layer(module)
        assert layer is not None and layer.bytes >= one.payload and layer.calls
        assert (one.mpiio, one.posix) == (other.mpiio, other.posix)
    assert accesses(theirs) == {
        key: rows for key, rows in accesses(ours).items() if ".locktest." not in key[1]
    }
