"""The embedded recorder against a real Darshan runtime, on the same run: both are preloaded, one
behind the other. Needs DARSHAN_PREFIX: folders of runtimes, colons between, one for each MPI."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from iokernel_stacks import MOVING, How, Stack
from recorder_runs import preload

from analysis.darshan_log import FileTrace, read_log
from reframe_tests import tracing
from reframe_tests.build import mpi_problem

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
        library = Path(prefix) / "lib" / tracing.RUNTIME
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


@pytest.mark.parametrize("how", MOVING, ids=str)
def test_every_counter_agrees(stack: Stack, tmp_path: Path, how: How) -> None:
    library = runtime(stack)
    data, traces, log = tmp_path / "data", tmp_path / "traces", tmp_path / "real"
    data.mkdir()
    config = tmp_path / "darshan.conf"
    config.write_text(
        f"NAME_EXCLUDE . *\nNAME_INCLUDE ^{data} *\nMODMEM 64\nDISABLE_SHARED_REDUCTION\n"
    )
    environment = preload(stack, traces, data)
    environment["LD_PRELOAD"] += f":{library}"
    environment |= {"DARSHAN_CONFIG_PATH": str(config), "DARSHAN_LOGFILE": str(log)}
    words = [f"{key}={value}" for key, value in environment.items()]
    stack.run(
        *words, str(stack.iokernel), "s3d", "--grid", "12x10x8", *how.options(), "--dir", str(data),
        program=Path("/usr/bin/env"), document=tmp_path / "result.json",
    ).good()  # fmt: skip
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
    assert compared >= (1 if how.method in ("posix", "posix-shared", "master") else 2)
