# SPDX-License-Identifier: BSD-3-Clause
"""ext4, xfs, btrfs and tmpfs, mounted for these tests alone: each byte is right on each of them, by
the stack with the most calls. `make test-fs` runs all stacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.common.paths import ROOT
from tests.reframe_session import BRIEFLY


@pytest.mark.first
@pytest.mark.slow
def test_each_byte_is_right_on_local_file_systems(tmp_path: Path) -> None:
    words = ["--local", "--tests", "quick", "--", "-p", "openmpi", *BRIEFLY]
    done = subprocess.run(
        [sys.executable, "-m", "tests.mounted_fs", *words],
        cwd=ROOT, env={**os.environ, "IOGAUGE_OUTPUT": str(tmp_path)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    lacks = [line for line in done.stdout.splitlines() if line.startswith("not mounted: ")]
    if lacks:  # the others are right
        pytest.skip("; ".join(lacks))
