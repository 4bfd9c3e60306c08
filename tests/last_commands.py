# SPDX-License-Identifier: BSD-3-Clause
"""A failed test reports the last commands that it ran, with their status and what they printed.

A plugin of pytest, for failures that may not come again: a test that reads the file that a command
should have written fails without a word of why it is not there."""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Generator
from typing import Any

import pytest

COMMANDS = 3
LONGEST = 4000  # characters of each stream: its end says most

last: deque[str] = deque(maxlen=COMMANDS)
communicate = subprocess.Popen.communicate


def cut(printed: str | bytes | None) -> str:
    text = printed.decode(errors="replace") if isinstance(printed, bytes) else printed or ""
    return text if len(text) <= LONGEST else f"[...] {text[-LONGEST:]}"


def observed(process: subprocess.Popen[Any], *words: Any, **options: Any) -> Any:
    """`Popen.communicate`, which `subprocess.run` and the like call."""
    printed: tuple[Any, Any] = (None, None)
    try:
        printed = communicate(process, *words, **options)
    except subprocess.TimeoutExpired as expired:
        printed = (expired.stdout, expired.stderr)
        raise
    finally:
        ended = "still running" if process.returncode is None else f"status {process.returncode}"
        last.append(f"{process.args!r}: {ended}\n{cut(printed[0])}{cut(printed[1])}")
    return printed


def pytest_configure(config: pytest.Config) -> None:
    subprocess.Popen.communicate = observed  # type: ignore[assignment, method-assign]
    config.add_cleanup(restore)


def restore() -> None:
    subprocess.Popen.communicate = communicate  # type: ignore[method-assign]


def pytest_runtest_setup() -> None:
    last.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and last:
        report.sections.append(("Last commands", "\n".join(last)))
    return report
