# SPDX-License-Identifier: BSD-3-Clause
"""How a program that the kernels' runner starts is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from iogauge.common import processes
from iogauge.common.paths import ROOT
from iogauge.measure import iokernel, kernels


def test_what_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGKILL ends no process that waits in the operating system, as for a dead file system."""
    monkeypatch.setattr(iokernel, "send", lambda number, alive: None)
    monkeypatch.setattr(iokernel, "POLITE", 0.1)
    leaders: list[int] = []
    ended = iokernel.execute(["sleep", "1000"], {}, seconds=0.1, late=leaders.append)
    os.kill(leaders[0], signal.SIGKILL)
    assert ended.kind == "late" and "survived SIGKILL: 1" in ended.why


def test_a_run_ends_if_its_parent_is_killed_once_it_has_started() -> None:
    """Nobody but the run itself can have told the guard of it."""
    maker = (
        "import os, signal, subprocess\n"
        "from iogauge.measure import iokernel\n"
        "guard, start = iokernel.guard(), subprocess.Popen\n"
        "def started(*words, **more):\n"
        "    print(start(*words, **more).pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "subprocess.Popen = started\n"
        "iokernel.execute(['sleep', '1000'], {}, guard=guard)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", maker], cwd=ROOT, capture_output=True, text=True, check=False
    )
    job = int(done.stdout)
    end = time.monotonic() + 60
    while (left := processes.of_session(job)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left


def test_a_look_at_jobs_ends_with_the_first_of_them() -> None:
    with subprocess.Popen(["sleep", "60"]) as long, subprocess.Popen(["true"]) as short:
        processes.wait_for_any([long.pid, short.pid], seconds=60)
        assert short.poll() == 0 and long.poll() is None
        processes.wait_for_any([long.pid], seconds=0.01)
        assert long.poll() is None
        long.kill()
    processes.wait_for_any([], seconds=60)
    processes.wait_for_any([short.pid], seconds=60)


def test_after_an_end_all_processes_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a node with thousands each look takes a good part of a second."""
    looks: list[int] = []
    alive = iokernel._alive

    def counted(leader: int, mark: str) -> set[int]:
        looks.append(leader)
        return alive(leader, mark)

    monkeypatch.setattr(iokernel, "_alive", counted)
    monkeypatch.setattr(iokernel, "LINGER", 0.1)
    ended = iokernel.execute(["sh", "-c", "exit 3"], {})
    assert (ended.status, ended.outlived, len(looks)) == (3, 0, 1)
    left = iokernel.execute(["sh", "-c", "sleep 1000 & exit 3"], {})
    assert (left.status, left.outlived) == (3, 1) and not processes.of_session(looks[-1])


TOOLS = ("mpicc.openmpi", "mpiexec.openmpi", "cmake", "make")


@pytest.mark.parametrize("lacks", [None, *TOOLS])
def test_a_stack_lacks_what_is_not_on_the_path(
    lacks: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests of kernels skip where a stack is missing: where it is there, none may."""
    for tool in set(TOOLS) - {lacks}:
        (tmp_path / tool).write_text("#!/bin/sh\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = kernels.lacking("openmpi")
    assert said.startswith(f"stack openmpi: {lacks} is missing") if lacks else not said
