# SPDX-License-Identifier: BSD-3-Clause
"""Kernels that lie, run through ReFrame: each test fails, by name."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from iogauge.measure.kernels import build_for_tests
from tests.reframe_session import ROOT, reframe
from tests.tell_a_lie import LIES

pytestmark = pytest.mark.skipif(
    not shutil.which("mpicc.mpich"),
    reason="mpicc.mpich is missing: environments/debian/setup.sh installs it",
)

# Lie -> the call of the run, and what the reason of the failure must say. Of S3d, or of TEST.
TEST = {"readdir": "Metadata"}
REFUSED = {
    "one_repeat": ("posix", "bytes were verified (2 repeats of"),
    "faster": ("mpiio:collective", "contradicted by the trace"),
    "bandwidth": ("posix", "repeat 0, write: the bandwidth is"),
    "cold": ("posix", "caches are said to be 'dropped'"),
    "ceilings": ("posix", "the ceilings (and direct writing) would have taken"),
    "earlier": ("posix", "system.time 2026-01-01T00:00:00Z is not within the time of the job"),
    "readdir": ("posix", "readdir: took at least"),
    "no_trace": ("null", "no verdict from the trace"),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("lie", LIES)
def test_a_kernel_that_lies_fails_by_name(lie: str, tmp_path: Path) -> None:
    call, reason = REFUSED[lie]
    program = f"{sys.executable} {ROOT / 'tests' / 'tell_a_lie.py'} {lie}"
    test = TEST.get(lie, "S3d")
    one = ("-t", "smoke", "-t", "ram", "-n", f"{test}.*call={call}%", "-p", "mpich")
    more = ("-S", "repeats=2", "-S", f"{test}.postrun_cmds={program}")
    kernel = f"kernel_path={build_for_tests('mpich') / 'iokernel'}"
    session = reframe(tmp_path, "-r", *one, *more, "-S", kernel, tests=f"{test.lower()}.py")
    assert session.status == 1 and session.cases
    for case in session.cases:
        assert case["result"] == "fail"
        assert reason in case["fail_reason"], case["fail_reason"]
