# SPDX-License-Identifier: BSD-3-Clause
"""A recorded program through ReFrame: as it was, and what if it had written in another way."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.common.paths import ROOT
from iogauge.measure.kernels import build_for_tests, lacking
from tests.reframe_session import reframe

LOG = ROOT / "tests" / "data" / "darshan" / "darshan-mpich-hdf5-dxt" / "trace.darshan"
CALLS = r"call=(posix-shared|hdf5:collective)(%|$)"


@pytest.mark.slow
@pytest.mark.skipif(bool(lacking("openmpi")), reason=str(lacking("openmpi")))
@pytest.mark.parametrize(
    ("tests", "name", "cases"),
    [("replay.py", "Replay.*fs=ram", 1), ("what_if.py", f"WhatIf.*fs=ram.*{CALLS}", 2)],
)
def test_a_log_runs_and_is_verified(tests: str, name: str, cases: int, tmp_path: Path) -> None:
    program = build_for_tests("openmpi") / "iokernel"
    session = reframe(
        tmp_path, "-r", "--system", "local", "-p", "openmpi", "-n", name,
        "-S", f"kernel_path={program}", "-S", f"{name.split('.')[0]}.log={LOG}", tests=tests,
    )  # fmt: skip
    assert session.status == 0, session.text
    assert [case["result"] for case in session.cases] == ["pass"] * cases
