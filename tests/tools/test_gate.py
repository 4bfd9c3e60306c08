# SPDX-License-Identifier: BSD-3-Clause
"""The gate: two tests at once, in mount namespaces where their folders have the same name."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.selftest.gate import Gate


def test_a_gate_lets_go_only_processes_of_its_own_run(tmp_path: Path) -> None:
    mine, other = (Gate(tmp_path / "injector.so", tmp_path) for _ in range(2))
    settings = {**os.environ, **mine.variables, "LD_PRELOAD": ""}
    with subprocess.Popen(["sh", "-c", "kill -STOP $$"], env=settings) as run:
        os.waitid(os.P_PID, run.pid, os.WSTOPPED)
        try:
            assert mine.stopped() == {run.pid} and other.processes() == []
            other.open()
            assert mine.stopped() == {run.pid}
        finally:
            mine.open()
    assert run.returncode == 0
