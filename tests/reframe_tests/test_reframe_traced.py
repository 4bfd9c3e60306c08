# SPDX-License-Identifier: BSD-3-Clause
"""A recorded program through ReFrame: as it was, and what if it had written in another way."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from iogauge.common.paths import ROOT
from iogauge.measure.kernels import build_for_tests, lacking
from tests.reframe_session import Session, reframe

LOG = ROOT / "tests" / "data" / "darshan" / "darshan-mpich-hdf5-dxt" / "trace.darshan"
CALLS = r"call=(posix-shared|hdf5:collective)(%|$)"


pytestmark = pytest.mark.skipif(bool(lacking("openmpi")), reason=str(lacking("openmpi")))


def run_log(folder: Path, tests: str, name: str, *more: str) -> Session:
    return reframe(
        folder, "-r", "--system", "local", "-p", "openmpi", "-n", name,
        "-S", f"kernel_path={build_for_tests('openmpi') / 'iokernel'}",
        "-S", f"{name.split('.')[0]}.log={LOG}", *more, tests=tests,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tests", "name", "cases"),
    [("replay.py", "Replay.*fs=ram", 1), ("what_if.py", f"WhatIf.*fs=ram.*{CALLS}", 2)],
)
def test_a_log_runs_and_is_verified(tests: str, name: str, cases: int, tmp_path: Path) -> None:
    session = run_log(tmp_path, tests, name)
    assert session.status == 0, session.text
    assert [case["result"] for case in session.cases] == ["pass"] * cases


def test_a_replay_of_which_half_was_verified_fails(tmp_path: Path) -> None:
    lie = f"{sys.executable} {ROOT / 'tests' / 'tell_a_lie.py'} one_repeat"
    more = ("-S", "repeats=2", "-S", f"Replay.postrun_cmds={lie}")
    (case,) = run_log(tmp_path, "replay.py", "Replay.*fs=ram", *more).cases
    assert case["result"] == "fail" and "bytes were verified" in case["fail_reason"]
