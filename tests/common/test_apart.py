# SPDX-License-Identifier: BSD-3-Clause
"""Work in a process of its own: what it returns, raises, and keeps to itself."""

import os
import signal

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
    assert apart(add, 2, 3) == 5
    assert HERE == []


def test_its_error_is_raised_here_with_its_place() -> None:
    with pytest.raises(LookupError, match="no such run") as caught:
        apart(fail, "no such run")
    assert "in fail" in str(caught.value.__cause__)


def test_a_killed_one_is_said() -> None:
    with pytest.raises(OSError, match="killed") as caught:
        apart(die)
    assert caught.value.filename == "die"
