# SPDX-License-Identifier: BSD-3-Clause
"""Whose pages `--drop-caches` drops: the run's own, and the node's only where those stay.

In a mount name space, a plain file stands for /proc/sys/vm/drop_caches, and shows what was asked
of it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from iokernel_stacks import Stack, missing, prepared, stacks

ASKED = "/proc/sys/vm/drop_caches"
SPACE = ["unshare", "--mount", "bash", "-c", f'mount --bind "$1" {ASKED} && exec "${{@:2}}"', "-"]
S3D = ["s3d", "--grid", "16x16x16", "--procs-grid", "2x1x1", "--ceilings", "--fsync"]


@pytest.fixture(scope="module")
def any_stack() -> Stack:
    return next(prepared(name) for name, stack in stacks().items() if not missing(stack))


def run(stack: Stack, words: list[str], place: Path, data: Path) -> tuple[str, str]:
    """What was asked of the kernel, and what the document says."""
    asked = place / "asked"
    asked.touch()
    before = (*SPACE, str(asked))
    if os.geteuid() or subprocess.run([*before, "true"], check=False).returncode:
        pytest.skip("unshare, mount: only root has a mount name space here")
    words = [*words, "--drop-caches", "--dir", str(data)]
    document = stack.run(*words, before=before, document=place / "r.json").good()
    return asked.read_text(), document["used"]["caches"]


@pytest.mark.parametrize("method", ["posix", "posix-shared"])
def test_only_the_runs_own_pages_are_dropped(any_stack: Stack, method: str, tmp_path: Path) -> None:
    asked, caches = run(any_stack, [*S3D, "--method", method], tmp_path, tmp_path)
    assert caches != "cached"
    assert asked == ""


def test_of_a_series_nobody_may_look_at_all_files(any_stack: Stack, tmp_path: Path) -> None:
    words = ["metadata", "--files", "4", "--method", "posix"]
    asked, caches = run(any_stack, words, tmp_path, tmp_path)
    assert asked == "3" or caches == "memory"


def test_files_in_memory_stay_and_so_does_the_rest(any_stack: Stack, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as shm:
        asked, caches = run(any_stack, [*S3D, "--method", "posix"], tmp_path, Path(shm))
    assert (asked, caches) == ("", "memory")
