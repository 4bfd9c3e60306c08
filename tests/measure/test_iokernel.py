# SPDX-License-Identifier: BSD-3-Clause
"""How a program that the kernels' runner starts is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from iogauge.common import processes
from iogauge.common.paths import ROOT
from iogauge.measure import iokernel


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
