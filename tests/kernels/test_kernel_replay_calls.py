# SPDX-License-Identifier: BSD-3-Clause
"""A replay makes the program's own MPI-IO calls: nonblocking and split ones end where they ended,
and a file is opened for what the program opened it for."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from iokernel_stacks import Stack
from recorder_runs import compiled, kernel, launched, preload, traces_in
from test_kernel_replay import BOTH, CLOSED, MET, Act, write

from iogauge.analysis.darshan.raw import EVENT, OPEN, WAIT, RawProcess
from iogauge.analysis.darshan.views import MARK
from iogauge.analysis.replay import check, plan, schedule, trace
from tests.selftest.injector import Plan as Faults
from tests.selftest.injector import preload as preload_faults

SOURCE = Path(__file__).with_name("mpi_ways.c")
ACCESS_MODES = 14  # MPI_MODE_RDONLY, WRONLY, RDWR


@pytest.fixture(scope="module")
def program(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(stack, SOURCE, tmp_path_factory.mktemp(stack.name) / "ways")


def ran(stack: Stack, program: Path, data: Path, words: str, traces: Path | None = None) -> None:
    variables = preload(stack, traces, data, dxt=True) if traces else {}
    done = launched(stack, 2, [program, data, *words.split()], variables)
    assert done.returncode == 0, done.stderr


def calls(processes: list[RawProcess]) -> list[list[str]]:
    """The MPI-IO calls of each process that move data, in order; at explicit offsets, whichever
    pointer they used."""
    found = []
    for process in processes:
        made = []
        for record in process.records:
            if record.module == "MPI-IO":
                for marks in record.marks:
                    for mark in np.frombuffer(marks, MARK):
                        made.append((mark["sequence"], process.calls[mark["call"]]))
        names = [name.removeprefix("MPI_File_") for _, name in sorted(made)]
        found.append([re.sub("(read|write)_all", r"\1_at_all", name) for name in names])
    return found


def events(processes: list[RawProcess], kind: int) -> list[list[tuple[int, int]]]:
    return [
        [(row[1], row[2]) for row in EVENT.iter_unpack(process.events) if row[6] == kind]
        for process in processes
    ]


def replayed(stack: Stack, traces: Path, folder: Path) -> tuple[plan.Plan, Any, list[RawProcess]]:
    """Verified, and exactly what the trace has."""
    made = plan.make(trace.load(traces), folder / "s")
    again = folder / "again"
    again.mkdir()
    run, processes = kernel(stack, again, "replay", "--schedule", str(folder / "s"), dxt=True)
    document = run.good()
    assert document["verification"]["verdict"] == "verified"
    gap = float(schedule.read_header(folder / "s")["gap"])
    found = check.compare(*check.load(folder / "s", traces, again / "traces"), gap)
    assert found.wrong == [] and found.exact == 2 and found.notes == []
    return made, document, processes


@pytest.mark.parametrize(
    "words",
    [
        "records later 20 2 write", "records later 20 2 middle", "plane split 40 2 write",
        "plane later_all 40 2 read", "records ordered 20 2 write", "records ordered 20 2 middle",
        "records at 20 2 middle", "plane view_all 40 2 read",
    ],
)  # fmt: skip
def test_the_same_calls_again(stack: Stack, program: Path, tmp_path: Path, words: str) -> None:
    data, traces = tmp_path / "program", tmp_path / "traces"
    data.mkdir()
    if words.endswith("read"):
        ran(stack, program, data, words.removesuffix("read") + "write")
    ran(stack, program, data, words, traces)
    log = traces_in(traces)
    made, document, own = replayed(stack, traces, tmp_path)
    assert [one.own for one in made.trace.files] == [True] * 2
    assert not any("inferred" in line and "made" in line for line in made.notes), made.notes
    assert calls(own) == calls(log)
    ends = [len(some) for some in events(log, WAIT)]
    assert [len(some) for some in events(own, WAIT)] == ends
    assert (min(ends) > 0) == ("later" in words or "split" in words)
    modes = [[mode & ACCESS_MODES for mode, _ in some] for some in events(log, OPEN)]
    assert [[mode & ACCESS_MODES for mode, _ in some] for some in events(own, OPEN)] == modes
    for side, phase in (("read", "open"), ("write", "create")):
        if sample := document["samples"][0][side]:
            assert sample["phases"][phase]["max"] > 0, "a file is opened for one direction"


def test_one_wait_for_many_is_one_call(stack: Stack, program: Path, tmp_path: Path) -> None:
    data, traces = tmp_path / "program", tmp_path / "traces"
    data.mkdir()
    ran(stack, program, data, "records later 20 1 write", traces)
    found = trace.load(traces)
    file = tmp_path / "s"
    plan.make(found, file)
    acts = np.frombuffer(
        file.read_bytes()[8:], schedule.ACT, schedule.read_header(file)["each"][0][0]
    )
    waits = acts[acts["kind"] == schedule.WAIT]
    assert [(int(one["offset"]), int(one["count"])) for one in waits] == [(0, 20)]


@pytest.mark.parametrize(("way", "again"), [("shared", "write_at"), ("shared_later", "iwrite_at")])
def test_a_shared_pointer_is_at_the_places_of_its_bytes(
    stack: Stack, program: Path, tmp_path: Path, way: str, again: str
) -> None:
    """Nobody can repeat which process comes first: the calls have the offsets that were seen."""
    data, traces = tmp_path / "program", tmp_path / "traces"
    data.mkdir()
    ran(stack, program, data, f"records {way} 20 2 write", traces)
    made, _, own = replayed(stack, traces, tmp_path)
    assert {name for some in calls(own) for name in some} == {again}
    assert any("at a shared pointer are made at the places" in line for line in made.notes)
    assert all(one.own for one in made.trace.files)
    places = np.concatenate([made.trace.pieces(rank)[0]["offset"] for rank in range(2)])
    assert sorted(places.tolist()) == sorted([4096 * i for i in range(40)] * 2)


@pytest.mark.parametrize("what", ["unended", "unknown", "twice", "early"])
def test_ends_that_do_not_fit_are_refused(stack: Stack, tmp_path: Path, what: str) -> None:
    later, wait = schedule.MOVES[trace.own.LATER][1], schedule.WAIT
    begun: Act = (later, 0, 0, 8, 0, 1)
    ended: Act = (wait, 0, 0, 0, 0, 1)
    acts = {
        "unended": [begun],
        "unknown": [begun, ended, (wait, 0, 1, 0, 0, 1)],
        "twice": [begun, (later, 0, 8, 8, 0, 1), ended, ended],
        "early": [begun, (wait, 0, 0, 0, 0, 2), (later, 0, 8, 8, 0, 1)],
    }[what]
    file = write(tmp_path / "s", [[BOTH, *acts, CLOSED], []], 64, "mpiio-alone")
    data = tmp_path / "data"
    data.mkdir()
    run = stack.run("replay", "--schedule", str(file), "--dir", str(data))
    says = "calls that nothing waits for" if what == "unended" else "a call that is not in progress"
    assert run.status in (1, 2) and says in run.errors()[0], json.dumps(run.errors())
    assert list(data.iterdir()) == []


@pytest.mark.parametrize("way", ["read", "write"])
def test_processes_wait_in_different_orders(stack: Stack, tmp_path: Path, way: str) -> None:
    """ROMIO's collective calls advance only in waits that they are part of, and mix up their bytes
    if several advance in turns. They are waited for one by one, or several at once."""
    kind = schedule.MOVES[trace.own.ALL_LATER][way == "write"]
    orders = [[(0, 1), (1, 1), (2, 2), (4, 1)], [(4, 1), (2, 2), (1, 1), (0, 1)]]
    length, count = 2**16, 5
    acts = [
        [
            BOTH, (kind, 0, rank * length, length, 2 * length, count),
            *((schedule.WAIT, 0, first, 0, 0, n) for first, n in order), CLOSED,
        ]
        for rank, order in enumerate(orders)
    ]  # fmt: skip
    size = 2 * count * length
    before = [(0, 0, size)] if way == "read" else []
    file = write(
        tmp_path / "s", acts, size, "mpiio-together", before, collective=True,
        files=[{"name": "a.bin", "level": "mpiio-together", "extent": size,
                "read": way == "read", "written": way == "write"}],
    )  # fmt: skip
    data = tmp_path / "data"
    data.mkdir()
    run = stack.run(
        "replay", "--schedule", str(file), "--dir", str(data), "--hint", f"romio_cb_{way}=enable",
        "--unknown-hints", "pass", document=tmp_path / "r",
    )  # fmt: skip
    assert run.good()["verification"]["verdict"] == "verified"


FAILS = """
#include <mpi.h>
int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[]) {
    PMPI_Waitall(n, requests, statuses);
    for (int i = 0; i < n; i++) statuses[i].MPI_ERROR = MPI_SUCCESS;
    statuses[0].MPI_ERROR = MPI_ERR_PENDING;
    statuses[1].MPI_ERROR = MPI_ERR_NO_SPACE;
    return MPI_ERR_IN_STATUS;
}
"""


def test_why_a_nonblocking_call_failed_is_said(stack: Stack, tmp_path: Path) -> None:
    """Not only that one of those that a wait was for did. The libraries' own failures are no test:
    of a write beyond a limit MPICH 4.0.2 never returns, and Open MPI 4.1.4 crashes."""
    library, source = tmp_path / "fails.so", tmp_path / "fails.c"
    source.write_text(FAILS)
    subprocess.run([f"mpicc.{stack.name}", "-shared", "-fPIC", source, "-o", library], check=True)
    later = schedule.MOVES[trace.own.LATER][1]
    acts = [(later, 0, 0, 8, 8, 3), (schedule.WAIT, 0, 0, 0, 0, 3)]
    file = write(tmp_path / "s", [[BOTH, *acts, CLOSED], []], 24, "mpiio-alone")
    data = tmp_path / "data"
    data.mkdir()
    failing = replace(stack, launch=["env", f"LD_PRELOAD={library}", *stack.launch])
    line = failing.run("replay", "--schedule", str(file), "--dir", str(data)).error(1)
    why = line.partition("MPI_Waitall: ")[2].partition(str(data))[0]
    assert "SPACE" in why.upper(), line


def test_a_file_is_there_for_who_opens_it_when_it_appears(stack: Stack, tmp_path: Path) -> None:
    """The message that tells a process to open it is not in the schedule."""
    other: Act = (schedule.OPEN, 1, 0, 0, 0, 0)
    acts: list[list[Act]] = [
        [
            other, (schedule.WRITE, 1, 0, 2**20, 2**20, 32), (schedule.CLOSE, 1, 0, 0, 0, 0),
            (schedule.OPEN, 0, 0, 2, 0, 0), (schedule.WRITE, 0, 0, 64, 0, 1), CLOSED, MET,
        ],
        [(schedule.OPEN, 0, 0, 1, 0, 0), MET, (schedule.READ, 0, 0, 64, 0, 1), CLOSED],
    ]  # fmt: skip
    files = [
        {"name": name, "level": "mpiio-alone", "extent": size, "read": name == "a", "written": True}
        for name, size in (("a", 64), ("b", 2**25))
    ]
    file = write(tmp_path / "s", acts, files=files)
    data = tmp_path / "data"
    data.mkdir()
    run = stack.run("replay", "--schedule", str(file), "--dir", str(data), document=tmp_path / "r")
    assert run.good()["verification"]["verdict"] == "verified"


@pytest.mark.parametrize("level", ["posix", "mpiio-together"])
@pytest.mark.parametrize("way", ["write", "read"])
def test_calls_of_a_shared_file_begin_together(
    stack: Stack, injector: Path, tmp_path: Path, level: str, way: str
) -> None:
    """With one buffer. Of two processes one is slow in each call, by turns: all calls take that
    long, though each process is slow in half of its calls."""
    calls, seconds = 10, 0.02
    kind = {"write": schedule.WRITE, "read": schedule.READ}[way]
    acts = [[BOTH, (kind, 0, rank * 4096, 4096, 8192, calls), CLOSED] for rank in range(2)]
    size = 8192 * calls
    before = [(0, 0, size)] if way == "read" else []
    file = write(tmp_path / "s", acts, size, level, before)
    (tmp_path / "data").mkdir()
    faults = Faults(way, "slow", every=2, times=None, stagger=1, milliseconds=int(seconds * 1000))
    words = ["replay", "--schedule", str(file), "--dir", str(tmp_path / "data")]
    document = stack.run(
        *words, "--buffer", "reused", document=tmp_path / "r",
        environment=preload_faults(injector, faults, tmp_path / "data"),
    ).good()  # fmt: skip
    assert document["verification"]["verdict"] == "verified"
    assert document["samples"][0][way]["in_calls"] >= calls * seconds


@pytest.mark.parametrize("other", ["its own file", "a flush"])
def test_no_time_counts_twice(stack: Stack, injector: Path, tmp_path: Path, other: str) -> None:
    """Beside calls to a shared file one process has slow calls that others do not wait for: the
    times of the phases together fit into the run."""
    data = tmp_path / "data"
    data.mkdir()
    shared = [[BOTH, (schedule.WRITE, 0, 4096 * rank, 4096, 8192, 3)] for rank in range(2)]
    own: list[Act] = [(schedule.OPEN, 1, 0, 0, 0, 0), (schedule.WRITE, 1, 0, 4096, 4096, 3)]
    slow = Faults("fsync", "slow", times=None, milliseconds=1500)
    shared[1] += [*own, (schedule.CLOSE, 1, 0, 0, 0, 0)] if other == "its own file" else []
    shared[0] += [] if other == "its own file" else [(schedule.SYNC, 0, 0, 0, 0, 0)]
    if other == "its own file":
        slow = Faults("write", "slow", times=None, milliseconds=500)
    files = [
        {"name": "a", "level": "posix", "extent": 24576, "read": False, "written": True},
        {"name": "b", "level": "posix", "extent": 12288, "read": False, "written": True},
    ]
    acts = [[*some, CLOSED] for some in shared]
    file = write(tmp_path / "s", acts, files=files[: 1 + (other == "its own file")])
    words = ["replay", "--schedule", str(file), "--dir", str(data), "--buffer", "reused"]
    sample = stack.run(
        *words, document=tmp_path / "r", environment=preload_faults(injector, slow, data)
    ).good()["samples"][0]["write"]
    began, ended = (
        f(one[end] for one in sample["spans"]) for f, end in ((min, "begin"), (max, "end"))
    )
    # Of what would count twice two thirds at most: phases are side by side, the more so at load.
    most = ended - began + 1
    assert sample["seconds"] <= most and sample["in_calls"] <= most


@pytest.mark.parametrize("buffer", ["reused", "whole"])
def test_processes_with_unlike_calls_are_in_step(stack: Stack, tmp_path: Path, buffer: str) -> None:
    """One has many independent calls before a collective one, the other has them behind it, a third
    none: no one waits for ever, whatever a batch holds."""
    own: Act = (schedule.WRITE, 0, 0, 2**20, 2**20, 80)
    last: Act = (schedule.WRITE_ALL, 0, 160 * 2**20, 64, 0, 2)
    acts: list[list[Act]] = [
        [BOTH, own, last, CLOSED],
        [
            BOTH,
            (*last[:2], last[2] + 64, *last[3:]),
            (schedule.WRITE, 0, 80 * 2**20, *own[3:]),
            CLOSED,
        ],
        [BOTH, (*last[:2], last[2] + 128, *last[3:]), CLOSED],
    ]
    size = last[2] + 192
    file = write(tmp_path / "s", acts, size, "mpiio-together", collective=True)
    (tmp_path / "data").mkdir()
    words = ["replay", "--schedule", str(file), "--dir", str(tmp_path / "data")]
    document = stack.run(*words, "--buffer", buffer, processes=3, document=tmp_path / "r").good()
    assert document["verification"]["verdict"] == "verified"
