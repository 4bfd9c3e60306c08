# SPDX-License-Identifier: BSD-3-Clause
"""How a program that the kernels' runner starts is ended."""

from __future__ import annotations

import os
import signal

import pytest

from iogauge.measure import iokernel


def test_what_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGKILL ends no process that waits in the operating system, as for a dead file system."""
    monkeypatch.setattr(iokernel, "send", lambda number, alive: None)
    monkeypatch.setattr(iokernel, "POLITE", 0.1)
    leaders: list[int] = []
    ended = iokernel.execute(["sleep", "1000"], {}, seconds=0.1, late=leaders.append)
    os.kill(leaders[0], signal.SIGKILL)
    assert ended.kind == "late" and "survived SIGKILL: 1" in ended.why
