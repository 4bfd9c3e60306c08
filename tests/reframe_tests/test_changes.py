# SPDX-License-Identifier: BSD-3-Clause
"""Where a series drops (synthetic data), and control groups with little memory."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reframe_tests.framework.changes import find_drop
from reframe_tests.machine import memory_group

MIB = 2**20
SIZES = [24 * MIB * 2**k for k in range(7)]


def test_the_drop_of_the_document() -> None:
    """72 MB/s, and 55 past 1.35 GB of 2 GB: the two sizes around it."""
    sizes = [int(size * 1e9) for size in (0.15, 0.3, 0.6, 1.2, 1.5, 1.8)]
    drop = find_drop(sizes, [72.0, 73.0, 71.0, 72.0, 55.0, 54.0])
    assert drop is not None
    assert (drop.last, drop.first) == (1_200_000_000, 1_500_000_000)
    assert drop.before == pytest.approx(72, rel=0.01)
    assert drop.after == pytest.approx(54.5, rel=0.01)


@given(
    st.integers(min_value=2, max_value=5),
    st.floats(min_value=0.05, max_value=0.6),
    st.integers(min_value=0, max_value=10**6),
)
def test_a_drop_is_found_through_noise(cut: int, level: float, seed: int) -> None:
    noise = random.Random(seed)
    speeds = [
        1000.0 * (1 if i < cut else level) * noise.uniform(0.95, 1.05) for i in range(len(SIZES))
    ]
    drop = find_drop(SIZES, speeds)
    assert drop is not None
    assert (drop.last, drop.first) == (SIZES[cut - 1], SIZES[cut])


@pytest.mark.parametrize(
    "speeds",
    [
        [1000.0] * 7,
        [1000.0, 1020, 990, 1010, 980, 1000, 995],  # noise
        [500.0, 500, 500, 500, 1000, 1000, 1000],  # a rise
        [1000.0, 1000, 1000, 1000, 950, 950, 950],  # 5 %
        [1000.0, 300, 1100, 280, 900, 310, 950],  # jumps that are no levels
        [1500.0, 1000, 1000, 1000, 1000, 1000, 1000],  # one alone
    ],
)
def test_what_is_no_drop(speeds: list[float]) -> None:
    assert find_drop(SIZES, speeds) is None


def test_three_sizes_are_too_few() -> None:
    assert find_drop(SIZES[:3], [1000.0, 1000, 100]) is None


@pytest.mark.parametrize(
    ("sizes", "speeds", "words"),
    [
        ([1, 2, 3, 4], [1.0, 1, 1], "4 sizes and 3 speeds"),
        ([1, 2, 2, 4], [1.0, 1, 1, 1], "do not rise"),
        ([1, 2, 3, 4], [1.0, 1, 0, 1], "not above 0"),
    ],
)
def test_series_that_do_not_fit(sizes: list[int], speeds: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        find_drop(sizes, speeds)


def test_groups_that_are_not_there_give_a_reason(tmp_path: Path) -> None:
    assert "memory controller" in str(memory_group.find_groups("proc /proc proc rw 0 0\n"))
    mounts = f"cgroup2 {tmp_path} cgroup2 rw 0 0\n"  # hands on no controller
    assert "memory controller" in str(memory_group.find_groups(mounts))
    mounts = f"cgroup {tmp_path} cgroup rw,memory 0 0\n"  # has no cgroup.procs
    assert f"{tmp_path} cannot be made" in str(memory_group.find_groups(mounts))


def test_groups_of_both_versions(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").touch()
    found = memory_group.find_groups(f"cgroup {tmp_path} cgroup rw,memory 0 0\n")
    assert found == memory_group.Groups(tmp_path, "memory.limit_in_bytes")
    (tmp_path / "cgroup.subtree_control").write_text("cpu memory\n")
    found = memory_group.find_groups(f"cgroup2 {tmp_path} cgroup2 rw 0 0\n")
    assert found == memory_group.Groups(tmp_path, "memory.max")


@pytest.mark.parametrize("end", ["false", "kill -TERM $$; sleep 60", "kill -KILL $$"])
def test_a_real_group_goes_though_a_process_lives_on(tmp_path: Path, end: str) -> None:
    """Where a script was killed, when that process has ended, with the next script."""
    groups = memory_group.find_groups()
    if isinstance(groups, str):
        pytest.skip(groups)
    lines = [
        "set -e -o pipefail",
        'finish() { status=$?; trap - EXIT; exit "$status"; }',
        "trap finish EXIT",
        "trap 'exit 143' TERM",
        *memory_group.enter(groups, 2**26),
        "exec > /dev/null",
        "sleep 1000 & echo $! $$ > processes",
    ]
    subprocess.run(["bash", "-c", "\n".join([*lines, end])], cwd=tmp_path, check=False)
    lives_on, script = map(int, (tmp_path / "processes").read_text().split())
    group = groups.folder / f"iogauge.{script}"
    left = group.exists()
    os.kill(lives_on, signal.SIGKILL)
    assert left == ("KILL" in end)
    while group.exists() and (group / "cgroup.procs").read_text():
        pass
    if "KILL" in end:
        subprocess.run(["bash", "-c", "\n".join([*lines[:-1], "true"])], check=True)
    assert not group.exists()


@pytest.mark.parametrize("end", ["exit 7", "false", "true"])
def test_a_script_leaves_its_group_however_it_ends(tmp_path: Path, end: str) -> None:
    """With folders in place of control groups: joined, left, status kept, finish called."""
    groups = memory_group.Groups(tmp_path, "memory.max")
    lines = [
        "set -e -o pipefail",
        'finish() { status=$?; trap - EXIT; echo "$status" > exit_status; exit "$status"; }',
        "trap finish EXIT",
        *memory_group.enter(groups, 4096),
        f"cat {tmp_path}/iogauge.$$/memory.max > limit; rm -r {tmp_path}/iogauge.$$/*",
        end,
    ]
    done = subprocess.run(["bash", "-c", "\n".join(lines)], cwd=tmp_path, check=False)
    assert done.returncode == {"exit 7": 7, "false": 1, "true": 0}[end]
    assert (tmp_path / "exit_status").read_text() == f"{done.returncode}\n"
    assert (tmp_path / "limit").read_text() == "4096\n"
    assert not list(tmp_path.glob("iogauge.*"))
