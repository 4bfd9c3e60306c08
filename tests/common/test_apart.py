# SPDX-License-Identifier: BSD-3-Clause
"""Work in a separate process: what it returns, raises, and keeps to itself."""

import os
import signal
import time

import pytest

from iogauge.common.apart import apart

HERE: list[int] = []


def add(a: int, b: int) -> int:
    HERE.append(a)
    return a + b


def fail(text: str) -> None:
    raise LookupError(text)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_its_answer_comes_back_and_its_memory_does_not() -> None:
    assert apart("sum", add, 2, 3) == 5
    assert HERE == []


def test_its_error_is_raised_here_with_its_place() -> None:
    with pytest.raises(LookupError, match="no such run") as caught:
        apart("look", fail, "no such run")
    assert "in fail" in str(caught.value.__cause__)


def test_a_killed_one_is_said() -> None:
    with pytest.raises(OSError, match="chart: its process was killed, perhaps for lack of memory"):
        apart("chart", die)
    with pytest.raises(OSError, match="chart: its process ended with status 7"):
        apart("chart", os._exit, 7)


def wait(seconds: float) -> bytes:
    time.sleep(seconds)
    return bytes(2**20)


def test_a_long_answer_comes_whole() -> None:
    assert len(apart("sum", wait, 0)) == 2**20


def interrupt(parent: int) -> bytes:
    """Python ignores what a signal raises while it forks: not at once, and more than once."""
    for pause in (1, *[60] * 10):
        time.sleep(pause)
        os.kill(parent, signal.SIGALRM)
    return bytes(2**20)


def test_an_interrupt_of_this_process_alone_ends_both() -> None:
    """Nobody reads the other's answer then, which may be longer than a pipe holds."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            apart("sum", interrupt, os.getpid())
    finally:
        signal.signal(signal.SIGALRM, before)
