# SPDX-License-Identifier: BSD-3-Clause
"""Programs and kernels under the embedded recorder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from iokernel_stacks import ROOT, SECONDS, Run, Stack
from trace_figures import check_traces

from iogauge.analysis.darshan.convert import short_names
from iogauge.analysis.darshan.raw import RawProcess, RawRecord, read_folder
from reframe_tests.framework.recorders import RECORDER
from tests.ctest import mpi_end

FOLDERS = ("IOGAUGE_TRACE_DIR", "IOGAUGE_TRACE_INCLUDE")


def preload(stack: Stack, traces: Path, include: Path, *, dxt: bool = False) -> dict[str, str]:
    """What makes a program leave its trace in `traces`, of files below `include`."""
    traces.mkdir(exist_ok=True)
    found = {
        "LD_PRELOAD": str(stack.build / RECORDER),
        **dict(zip(FOLDERS, map(str, (traces, include)), strict=True)),
    }
    return found | ({"IOGAUGE_TRACE_SEGMENTS": "0"} if dxt else {})


def traced(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A program without MPI. Only `command` is traced, not what starts it."""
    words = [f"{key}={value}" for key, value in environment.items()]
    return subprocess.run(
        ["env", *words, *command], capture_output=True, text=True, timeout=SECONDS, check=False
    )


def compiled(stack: Stack, source: Path, program: Path, *words: str) -> Path:
    """A program of MPI whose waiting processes sleep, as in the tests' iokernel: there may be
    more of them than cores. `words`: for its compiler."""
    sleeps = ROOT / "kernels" / "tests" / "sleep_while_waiting.c"
    compiler = [f"mpicc.{stack.name}", "-D_GNU_SOURCE"]
    subprocess.run([*compiler, str(source), str(sleeps), *words, "-o", str(program)], check=True)
    return program


def launched(
    stack: Stack, processes: int, command: Sequence[str | Path], variables: dict[str, str],
    *, folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """A program of MPI that is not iokernel, such as a test's own, in `folder`. `variables`: of its
    processes alone. A second run finds the folders that `preload` names as the first did."""
    start = ["env", *(["-C", str(folder)] if folder else [])]
    start += [f"{key}={value}" for key, value in variables.items()]
    words = [*stack.launch, "-n", str(processes), *start, *map(str, command)]
    folders = [Path(variables[name]) for name in FOLDERS if name in variables]

    def once() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, env=stack.environment(), capture_output=True, text=True, timeout=SECONDS,
            check=False,
        )  # fmt: skip

    with mpi_end.kept(*folders) as renew:
        return mpi_end.twice_at_most(once, mpi_end.may_be_of_mpi, renew)


def traces_in(folder: Path) -> list[RawProcess]:
    """All traces in a folder, by rank, each of which must agree with itself."""
    found = read_folder(folder)
    check_traces(found)
    return found


def python(stack: Stack, folder: Path, code: str, *, dxt: bool = False) -> list[RawProcess]:
    """The traces of a Python program, in which `here` is the traced folder."""
    data, traces = folder / "data", folder / "traces"
    data.mkdir()
    head = f"import os, sys\nhere = {str(data)!r}\n"
    done = traced([sys.executable, "-c", head + code], preload(stack, traces, data, dxt=dxt))
    assert done.returncode == 0, done.stderr
    assert "iogauge recorder" not in done.stderr, done.stderr
    return traces_in(traces)


def kernel(
    stack: Stack, folder: Path, *words: str, processes: int = 2, dxt: bool = False,
    environment: dict[str, str] | None = None, more: dict[str, str] | None = None,
) -> tuple[Run, list[RawProcess]]:  # fmt: skip
    """A run of iokernel in `folder`/data, and its traces. `more`: variables of its processes."""
    data, traces = folder / "data", folder / "traces"
    data.mkdir()
    variables = preload(stack, traces, data, dxt=dxt) | (more or {})
    prefix = [f"{key}={value}" for key, value in variables.items()]
    run = stack.run(
        *prefix, str(stack.iokernel), *words, "--dir", str(data),
        program=Path("/usr/bin/env"), processes=processes, document=folder / "result.json",
        environment=environment, anew=traces,
    )  # fmt: skip
    return run, traces_in(traces)


def counters(record: RawRecord) -> dict[str, int]:
    """By name, without the module's prefix; those that are not zero."""
    names = short_names(record.module)
    return {name: value for name, value in zip(names, record.counters, strict=False) if value}


def only(processes: list[RawProcess], name: str, module: str = "POSIX") -> dict[str, int]:
    """The counters of the file `name`, of which there must be one record."""
    found = [
        record
        for process in processes
        for record in process.records
        if record.module == module and Path(record.path).name == name
    ]
    assert len(found) == 1, [record.path for record in found]
    return counters(found[0])
