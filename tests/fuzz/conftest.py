# SPDX-License-Identifier: BSD-3-Clause
"""The end of a run says how many cases each target had."""

from __future__ import annotations

import pytest

from tests.fuzz.cases import CASES, RAN, SEED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if RAN:
        how = f"seed {SEED}" if CASES else "the same cases each time"
        terminalreporter.section(f"fuzzed, {how}")
        for target, count in sorted(RAN.items()):
            terminalreporter.line(f"{target:<30} {count:>7}")
        terminalreporter.line(f"{'all':<30} {RAN.total():>7}")
